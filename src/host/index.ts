export type { Clock, Random, Timers } from './types.ts'
