import type { PromptModel } from '../../gateway/index.ts'
import { nodeClock } from '../../host/node/index.ts'
import { inspectModel } from '../../model/index.ts'
import { createTextSide } from './prompt-model.ts'

/** A served model as the gateway's side thread is told of it. */
export interface OffloadModel {
  readonly id: string
  /** Path of the GGUF file. */
  readonly weights: string
  /** SHA-256 of the file that is served, hex. */
  readonly digest: string
  readonly encodeLimit: number
}

/**
 * Tokenizers and templates of these models, as the main thread has them. The thread starts with the first large body, long
 * after the models were judged: a file that was replaced meanwhile would count and encode prompts for a model nobody serves.
 * Throws where a file is another one now, or cannot be used.
 */
export function loadPromptModels(models: readonly OffloadModel[]): Promise<readonly PromptModel[]> {
  return Promise.all(
    models.map(async ({ id, weights, digest, encodeLimit }) => {
      const inspection = await inspectModel(weights)
      if (inspection.kind !== 'ok') throw new Error(inspection.message)
      if (inspection.digest !== digest) throw new Error(`${weights} has changed since the server started`)
      const side = createTextSide(id, inspection, encodeLimit, nodeClock)
      if (side.kind !== 'ok') throw new Error(side.message)
      return side.text.prompt
    }),
  )
}
