import type { Command } from './command.ts'
import { serve } from './commands/serve.ts'

/** Every command, in the order of the overview. */
export const COMMANDS: readonly Command[] = [serve]
