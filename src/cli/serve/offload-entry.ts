/**
 * Loaded in the gateway's side thread: builds the same tokenizers and templates as the main thread and exports the tasks that
 * decode, parse and count large bodies. Which models: a JSON list in this module's own address.
 */

import { type PromptModel, prepareTasks } from '../../gateway/index.ts'
import { nodeClock } from '../../host/node/index.ts'
import { inspectModel } from '../../model/index.ts'
import { createTextSide } from './prompt-model.ts'

interface OffloadModel {
  readonly id: string
  readonly weights: string
  readonly encodeLimit: number
}

/** The address of this module for these models. */
export function offloadModule(models: readonly OffloadModel[]): URL {
  const url = new URL(import.meta.url)
  url.search = new URLSearchParams({ models: JSON.stringify(models) }).toString()
  return url
}

export const tasks = prepareTasks(await promptModels(new URL(import.meta.url).searchParams.get('models')))

async function promptModels(list: string | null): Promise<readonly PromptModel[]> {
  if (list === null) return []
  const models = JSON.parse(list) as readonly OffloadModel[]
  return Promise.all(
    models.map(async ({ id, weights, encodeLimit }) => {
      const inspection = await inspectModel(weights)
      if (inspection.kind !== 'ok') throw new Error(inspection.message)
      const side = createTextSide(id, inspection, encodeLimit, nodeClock)
      if (side.kind !== 'ok') throw new Error(side.message)
      return side.text.prompt
    }),
  )
}
