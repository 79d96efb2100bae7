/** `npm run leak`: install, build, show the fault and its end. Arguments go to `bulkhead lab leak`. */
import { prepare } from './prepare.js'

prepare('run')
process.argv.splice(2, 0, 'lab', 'leak')
await import('../bin/bulkhead.js')
