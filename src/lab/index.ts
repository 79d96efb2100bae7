export type { FaultName, SeedResult, SeedsReport, SimOptions } from './sim/index.ts'
export { runSeed, runSeeds } from './sim/index.ts'
