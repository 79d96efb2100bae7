export type { Act, LeakReport } from './acts.ts'
export { showLeak } from './show.ts'
export type { StageHost, StageModel } from './stage.ts'
export { isAsClaimed, renderLeak } from './terminal.ts'
