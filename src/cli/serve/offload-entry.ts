/**
 * Loaded in the gateway's side thread: builds the same tokenizers and templates as the main thread and exports the tasks that
 * decode, parse and count large bodies. Which models: a JSON list in this module's own address.
 */

import { prepareTasks } from '../../gateway/index.ts'
import { loadPromptModels, type OffloadModel } from './offload-models.ts'

/** The address of this module for these models. */
export function offloadModule(models: readonly OffloadModel[]): URL {
  const url = new URL(import.meta.url)
  url.search = new URLSearchParams({ models: JSON.stringify(models) }).toString()
  return url
}

const listed = new URL(import.meta.url).searchParams.get('models')

export const tasks = prepareTasks(await loadPromptModels(listed === null ? [] : JSON.parse(listed)))
