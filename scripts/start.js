/** `npm start`: install, build, serve. Arguments go to `bulkhead serve`. */
import { prepare } from './prepare.js'

prepare('run')
process.argv.splice(2, 0, 'serve')
await import('../bin/bulkhead.js')
