import { fileURLToPath } from 'node:url'
import { createPromptModel } from '../../../gateway/index.ts'
import { nodeClock, nodeDigests, nodeRandom, nodeTimers } from '../../../host/node/index.ts'
import { inspectModel } from '../../../model/index.ts'
import { createTokenizer } from '../../../text/index.ts'
import { openWorkshop, type Workshop } from '../bench.ts'

/** The built-in `recall` model, loaded once for a whole file of tests. */
export async function recallWorkshop(): Promise<Workshop> {
  const weights = fileURLToPath(new URL('../../../../models/recall.gguf', import.meta.url))
  const inspection = await inspectModel(weights)
  if (inspection.kind !== 'ok') throw new Error(inspection.message)
  const tokenizer = createTokenizer(inspection.tokenizer)
  const model = {
    file: { weights, digest: inspection.digest, shape: inspection.shape },
    kvBytesPerToken: inspection.kvBytesPerToken,
    prompt: createPromptModel('recall', tokenizer, null, inspection.shape.contextLength),
    tokenizer,
  }
  const host = { clock: nodeClock, random: nodeRandom, sha256: nodeDigests.sha256, timers: nodeTimers }
  return openWorkshop(model, host)
}
