const EVERY_MS = 1_000

/**
 * Every connection of a stranger can cause a violation, so each reason is told at once, and then once a second with how many there
 * were: all are counted, and nobody can fill the log.
 */
export const createViolations = (
  tell: (reason: string, count: number) => void,
  everyMs = EVERY_MS,
): ((reason: string) => void) => {
  /** Reasons told within the last while, with how many came since. */
  const since = new Map<string, number>()
  const report = (reason: string, count: number): void => {
    tell(reason, count)
    since.set(reason, 0)
    setTimeout(() => settle(reason), everyMs).unref()
  }
  const settle = (reason: string): void => {
    const count = since.get(reason) ?? 0
    since.delete(reason)
    if (count > 0) report(reason, count)
  }
  return (reason) => {
    const count = since.get(reason)
    if (count === undefined) report(reason, 1)
    else since.set(reason, count + 1)
  }
}
