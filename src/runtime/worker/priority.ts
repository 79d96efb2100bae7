import { readdirSync, readlinkSync } from 'node:fs'
import { setPriority } from 'node:os'
import { basename } from 'node:path'

/** A little behind whatever else wants the same core. */
const PREFILL_NICENESS = 3

/**
 * Where cores are short, answers that stream go before prompts that wait. Called once a prefill worker is up, so that coming
 * back after a crash is not slowed. Priorities belong to threads on Linux and to the process elsewhere.
 */
export const yieldToDecode = (): void => {
  if (process.platform !== 'linux') {
    setPriority(PREFILL_NICENESS)
    return
  }
  for (const thread of readdirSync('/proc/self/task')) setPriority(Number(thread), PREFILL_NICENESS)
}

/** The same for one thread of a process in which decode has others; elsewhere than on Linux there is no such thing. */
export const yieldThisThread = (): void => {
  if (process.platform !== 'linux') return
  setPriority(Number(basename(readlinkSync('/proc/thread-self'))), PREFILL_NICENESS)
}
