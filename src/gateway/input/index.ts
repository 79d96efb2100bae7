export { readBody } from './body.ts'
export { modelNotFoundMessage, prepare } from './prepare.ts'
export { prepareTask, prepareTasks } from './tasks.ts'
export type { GenerationRequest, Prepared, PrepareJob, PromptModel, Surface } from './types.ts'
