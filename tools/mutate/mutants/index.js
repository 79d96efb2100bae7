import { admission } from './admission.js'
import { cluster } from './cluster.js'
import { gateway } from './gateway.js'
import { kernels } from './kernels.js'
import { pages } from './pages.js'
import { prefixes } from './prefixes.js'
import { shared } from './shared.js'
import { wire } from './wire.js'

/**
 * @typedef {object} Mutant
 * @property {string} id      Rule, then what is missing.
 * @property {string} rule    R1 to R12, as in docs/rules.md.
 * @property {string} file
 * @property {string} find    Stands in the file exactly once.
 * @property {string} replace What stands there instead: the fence, check or fill is gone.
 * @property {string} why     What the server would do without it.
 * @property {readonly string[]} [tests] Asked first; else the seeds and the tests beside the file are.
 */

/** @type {readonly Mutant[]} */
export const mutants = [...admission, ...pages, ...prefixes, ...cluster, ...gateway, ...kernels, ...shared, ...wire]
