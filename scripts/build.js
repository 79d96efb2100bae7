/** `npm run build`: install what building needs and compile into dist/. */
import { prepare } from './prepare.js'

prepare('run')
