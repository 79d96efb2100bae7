// Two threads on one job. The owner opens a job, the helper may join; both take items until none is left. One word says where
// they stand, so a helper that comes late, or never, costs nothing: the owner closes a job that nobody joined.
import { Job, work } from './job'

const IDLE: i32 = 0
const OPEN: i32 = 1
const JOINED: i32 = 2
const DONE: i32 = 3
const STOP: i32 = 4
/** Looks before a thread goes to sleep: some ten microseconds, less than a wake-up costs. */
const LOOKS: i32 = 10_000
const PATIENCE: i64 = 30_000_000_000

/**
 * Works on the job together with the helper that serves this state word, if it comes. Traps if a helper that joined is not
 * done 30 seconds after the owner: it died, and its item with it.
 */
export function share(state: usize, job: Job): void {
  // Not idle: the helper has been told to stop.
  const opened = atomic.cmpxchg<i32>(state, IDLE, OPEN) == IDLE
  if (opened) atomic.notify(state, 1)
  work(job)
  if (!opened || atomic.cmpxchg<i32>(state, OPEN, IDLE) == OPEN) return
  for (let looks = LOOKS; looks > 0 && atomic.load<i32>(state) == JOINED; looks--) {}
  while (atomic.load<i32>(state) == JOINED) {
    if (atomic.wait<i32>(state, JOINED, PATIENCE) == 2) unreachable()
  }
  atomic.cmpxchg<i32>(state, DONE, IDLE)
}

/** The helper's life: joins jobs until the state word says stop. */
export function serve(state: usize, job: Job): void {
  for (;;) {
    let seen = atomic.load<i32>(state)
    for (let looks = LOOKS; looks > 0 && seen != OPEN && seen != STOP; looks--) seen = atomic.load<i32>(state)
    if (seen == STOP) return
    if (seen != OPEN) {
      atomic.wait<i32>(state, seen, -1)
      continue
    }
    if (atomic.cmpxchg<i32>(state, OPEN, JOINED) != OPEN) continue
    work(job)
    atomic.store<i32>(state, DONE)
    atomic.notify(state, 1)
  }
}
