import type { WorkerRole } from '../worker/ipc.ts'

export interface DrillSchedule {
  stop(): void
}

/**
 * Decode and prefill in turn, each once in `everyMs`, half an interval apart. `offset`, from 0 to 1, moves the first turn, so
 * that the workers of several models on one machine don't drill at the same moment.
 */
export const createDrillSchedule = (
  { everyMs, offset }: { readonly everyMs: number; readonly offset: number },
  drill: (role: WorkerRole) => void,
): DrillSchedule => {
  const half = everyMs / 2
  let next: WorkerRole = 'decode'
  let timer: NodeJS.Timeout
  const wait = (milliseconds: number): void => {
    timer = setTimeout(turn, milliseconds)
    // Drills alone keep no process alive.
    timer.unref()
  }
  const turn = (): void => {
    const role = next
    next = role === 'decode' ? 'prefill' : 'decode'
    wait(half)
    drill(role)
  }
  wait(half * (1 + offset))
  return { stop: () => clearTimeout(timer) }
}
