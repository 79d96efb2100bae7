/** Starts the engine over the transport named first, and stops it in the middle of its passes, so often as named second. */
import { createSecrets } from '../../dist/host/node/index.js'
import { inspectModel } from '../../dist/model/index.js'
import { startEngine } from '../../dist/runtime/index.js'

const [transport, rounds] = process.argv.slice(2)
const weights = new URL('../../models/tiny.gguf', import.meta.url).pathname
const { digest, shape } = await inspectModel(weights)
const model = { id: 'tiny', weights, digest, shape, prefillPool: 8192, decodePool: 16384, pageSize: 16, transport }
const sampling = { temperature: 0, topP: 1, topK: 0, seed: 1, topLogprobs: null }
const contract = { promptTokens: 700, maxOutput: 300, n: 1, prefillPages: 44, decodePages: 63 }
for (let round = 0; round < Number(rounds); round += 1) {
  const secrets = createSecrets(new Uint8Array(32))
  const engine = await startEngine({ models: [model], secrets, telemetry: () => undefined })
  let drawn = 0
  for (let request = 0; request < 10; request += 1) {
    const ids = Int32Array.from({ length: 700 }, (_, at) => 10 + ((at * 7 + request) % 900))
    const requestId = `req_${request}`
    engine.submit({ requestId, tenant: 'a', model: 'tiny', ids, contract, sampling, endIds: [] }, ({ kind }) => {
      if (kind === 'token') drawn += 1
    })
  }
  // Both workers are in their passes by then: some prompts are computed, others are answered.
  while (drawn < 5 + 20 * round) await new Promise((resolve) => setTimeout(resolve, 1))
  await engine.stop(0)
}
