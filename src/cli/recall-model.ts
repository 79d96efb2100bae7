import { nodeClock } from '../host/node/index.ts'
import type { StageModel } from '../lab/index.ts'
import { inspectModel } from '../model/index.ts'
import { builtInModel } from './built-in.ts'
import { createTextSide } from './serve/prompt-model.ts'

/** The built-in `recall` model as the laboratory needs it. Throws where its file cannot be used. */
export async function recallModel(): Promise<StageModel> {
  const weights = builtInModel('recall')
  const inspection = await inspectModel(weights)
  if (inspection.kind !== 'ok') throw new Error(inspection.message)
  const side = createTextSide('recall', inspection, inspection.shape.contextLength, nodeClock)
  if (side.kind !== 'ok') throw new Error(side.message)
  return {
    file: { weights, digest: inspection.digest, shape: inspection.shape },
    kvBytesPerToken: inspection.kvBytesPerToken,
    prompt: side.text.prompt,
    tokenizer: side.text.tokenizer,
  }
}
