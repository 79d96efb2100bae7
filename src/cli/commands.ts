import type { Command } from './command.ts'
import { benchEngineCommand } from './commands/bench-engine.ts'
import { benchIntegrityCommand } from './commands/bench-integrity.ts'
import { labLeak } from './commands/lab-leak.ts'
import { labList } from './commands/lab-list.ts'
import { labRun } from './commands/lab-run.ts'
import { labSim } from './commands/lab-sim.ts'
import { modelsCheck } from './commands/models-check.ts'
import { serve } from './commands/serve.ts'

/** Every command, in the order of the overview. */
export const COMMANDS: readonly Command[] = [
  serve,
  modelsCheck,
  labLeak,
  labList,
  labRun,
  labSim,
  benchEngineCommand,
  benchIntegrityCommand,
]
