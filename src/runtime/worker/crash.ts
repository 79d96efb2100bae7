import type { FromWorker } from './ipc.ts'

/** A worker's last words. What is thrown need not be an error, nor anything at all. */
export const crashReport = (error: unknown): Extract<FromWorker, { kind: 'refused' }> => {
  const reason = error instanceof Error ? error.message : 'unknown'
  const code = (error as { code?: unknown } | null | undefined)?.code
  return { kind: 'refused', code: typeof code === 'string' ? code : 'crashed', reason }
}
