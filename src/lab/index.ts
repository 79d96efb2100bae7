export {
  type Fault,
  type FaultReport,
  faults,
  isAsClaimed as faultIsAsClaimed,
  openWorkshop,
  parseGuards,
  type Rule,
  renderFault,
  renderList,
  renderReport,
  renderSet,
  renderSummary,
  reportHead,
  rules,
  runFault,
  runWith,
  type SetReport,
  setHead,
  setIsAsClaimed,
  type Workshop,
} from './faults/index.ts'
export {
  type Act,
  createTheatre,
  isAsClaimed,
  type LeakReport,
  renderLeak,
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
export type { StageHost, StageModel } from './two-tenants.ts'
