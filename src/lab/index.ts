export {
  type Act,
  createTheatre,
  isAsClaimed,
  type LeakReport,
  renderLeak,
  type StageHost,
  type StageModel,
  showLeak,
} from './leak/index.ts'
export { runSeeds, type SeedsReport } from './sim/index.ts'
