export { type LabHost, openWorkshop, type Workshop } from './bench.ts'
export type { Fault, FaultClass, Harm } from './fault.ts'
export { faults } from './registry.ts'
export {
  renderFault,
  renderList,
  renderReport,
  renderSet,
  renderSummary,
  reportHead,
  setHead,
} from './render.ts'
export { parseGuards, type Rule, rules } from './rules.ts'
export { type FaultReport, isAsClaimed, runFault, runWith, type SetReport, setIsAsClaimed } from './run.ts'
