import type { OffloadTasks } from '../../host/index.ts'
import { prepare } from './prepare.ts'
import type { Prepared, PrepareJob, PromptModel } from './types.ts'

/** The task's name in an Offload. */
export const prepareTask = 'prepare'

/** What the module behind the gateway's Offload exports; it builds the same models as the gateway's own thread. */
export const prepareTasks = (models: readonly PromptModel[]): OffloadTasks => {
  const byId = new Map(models.map((model) => [model.id, model]))
  return { [prepareTask]: (job: PrepareJob): Prepared => prepare(job, byId) }
}
