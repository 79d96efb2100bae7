export type { FaultName, FaultProfile } from './faults.ts'
export { faultNames } from './faults.ts'
export type { SeedResult, SeedsReport, SimOptions } from './run.ts'
export { runSeed, runSeeds } from './run.ts'
