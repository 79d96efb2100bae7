/**
 * A gateway process of its own, to be killed: starts the engine over the transport it is given, with the worker module it is
 * given, if any, and with an answer under way prints its workers' process ids.
 */
import { createSecrets } from '../../dist/host/node/index.js'
import { inspectModel } from '../../dist/model/index.js'
import { startEngine } from '../../dist/runtime/index.js'

const weights = new URL('../../models/tiny.gguf', import.meta.url).pathname
const { digest, shape } = await inspectModel(weights)
const [transport, worker] = process.argv.slice(2)
const engine = await startEngine({
  models: [{ id: 'tiny', weights, digest, shape, prefillPool: 1024, decodePool: 1024, pageSize: 16, transport }],
  secrets: createSecrets(new Uint8Array(32)),
  telemetry: () => undefined,
  ...(worker && { workerModule: new URL(worker, import.meta.url) }),
})
const ids = Int32Array.from({ length: 16 }, (_, at) => 10 + at)
const maxOutput = 1000
const contract = { promptTokens: ids.length, maxOutput, n: 1, prefillPages: 1, decodePages: 64 }
const sampling = { temperature: 0, topP: 1, topK: 0, seed: 1, topLogprobs: null }
let said = false
engine.submit({ requestId: 'req_1', tenant: 'a', model: 'tiny', ids, contract, sampling, endIds: [] }, ({ kind }) => {
  if (kind === 'failed') throw new Error('the answer failed')
  if (kind !== 'token' || said) return
  said = true
  console.log(JSON.stringify(Object.values(engine.pids('tiny'))))
})
setInterval(() => undefined, 1000)
