/** Bulkhead's engine, every check on, in a process of its own. One JSON line: `{decode, prefill, peakBytes, …}`. */

import { benchEngine } from '../../dist/model/index.js'
import { readJob } from './job.js'

const { model, threads, batches, contexts, prefills, steps } = readJob()
const result = await benchEngine({
  path: model,
  threads,
  batches,
  contexts,
  prefills,
  steps,
  now: () => performance.now(),
  peakMemory: () => process.resourceUsage().maxRSS * 1024,
})
if (result.kind !== 'ok') throw new Error(result.message)
console.log(JSON.stringify(result))
process.exit(0)
