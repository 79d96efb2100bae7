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
export { type FenceRule, fenceRules, fencesWithout } from './partial-fences.ts'
export {
  type CoverageReport,
  readSchedule,
  replay,
  runSeeds,
  type Schedule,
  type SeedsReport,
  scheduleOf,
  shrink,
  unseen,
} from './sim/index.ts'
