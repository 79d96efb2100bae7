export {
  type Act,
  createTheatre,
  isAsClaimed,
  type LeakReport,
  renderLeak,
  type StageHost,
  type StageModel,
  showLeak,
  type Theatre,
} from './leak/index.ts'
export { runSeeds, type SeedsReport } from './sim/index.ts'
