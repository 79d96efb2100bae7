/** A gateway process of its own, to be killed: starts the engine and prints its workers' process ids. */
import { createSecrets } from '../../dist/host/node/index.js'
import { inspectModel } from '../../dist/model/index.js'
import { startEngine } from '../../dist/runtime/index.js'

const weights = new URL('../../models/tiny.gguf', import.meta.url).pathname
const { digest, shape } = await inspectModel(weights)
const engine = await startEngine({
  models: [{ id: 'tiny', weights, digest, shape, prefillPool: 1024, decodePool: 1024, pageSize: 16 }],
  secrets: createSecrets(new Uint8Array(32)),
  telemetry: () => undefined,
})
console.log(JSON.stringify(Object.values(engine.pids('tiny'))))
setInterval(() => undefined, 1000)
