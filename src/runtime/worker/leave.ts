import type { ForwardHost } from './forward-host.ts'

export const EXIT_CRASHED = 70
/** For a pass's layer to end, and for last words to be written. */
const LEAVE_MS = 2_000

let leaving = false

/**
 * Ends this process once its forward threads have ended, and in any case soon: `process.exit` while one is inside ONNX Runtime
 * aborts with a message nobody can act on, so where one does not end in time the process is killed without a word.
 */
export const leaveProcess = async (
  code: number,
  forwards: readonly ForwardHost[],
  tidy: () => void = () => undefined,
): Promise<void> => {
  if (leaving) return
  leaving = true
  const ended = await Promise.all(forwards.map((forward) => forward.end(LEAVE_MS)))
  tidy()
  if (ended.every(Boolean)) process.exit(code)
  process.kill(process.pid, 'SIGKILL')
}
