import type { Ticket } from '../../admission/index.ts'
import type { Identity } from '../messages.ts'
import type { EngineRequest } from '../port.ts'

/** `reserving`: decode was asked. `prefilling`: decode has reserved, prefill was asked. `running`: decode samples. */
export type EntryPhase = 'queued' | 'reserving' | 'prefilling' | 'running'

/** One submitted request until its one ending. */
export interface Entry {
  readonly request: EngineRequest
  readonly tenant: string
  readonly sequences: readonly { drawn: number; finished: boolean }[]
  phase: EntryPhase
  /** Lives on the workers so far; also the number of the present one. */
  attempt: number
  waitingSince: number
  /** Of the present attempt; null while queued. */
  ticket: Ticket | null
  /** Prefill has sent everything: losing it does no harm any more. */
  prefilled: boolean
  /** Every sequence has ended; `done` waits for prefill's last word, which says what of the prompt was cached. */
  concluding: boolean
}

export const newEntry = (request: EngineRequest, now: number): Entry => ({
  request,
  tenant: request.tenant,
  sequences: Array.from({ length: request.contract.n }, () => ({ drawn: 0, finished: false })),
  phase: 'queued',
  attempt: 0,
  waitingSince: now,
  ticket: null,
  prefilled: false,
  concluding: false,
})

export const entryIdentity = (entry: Entry): Identity => ({
  requestId: entry.request.requestId,
  attempt: entry.attempt,
})

/**
 * What a drawn token is: the next of its sequence, one that was under way when a stop string was found, or one that
 * contradicts what came before (R10).
 */
export const takeToken = (
  entry: Entry,
  token: { readonly sequence: number; readonly index: number },
): 'next' | 'late' | 'broken' => {
  const sequence = entry.sequences[token.sequence]
  if (sequence?.finished) return 'late'
  if (entry.phase !== 'running' || sequence === undefined || token.index !== sequence.drawn) return 'broken'
  sequence.drawn++
  return 'next'
}

/** False if there is no such sequence, or it had ended. */
export const finishSequence = (entry: Entry, index: number): boolean => {
  const sequence = entry.sequences[index]
  if (sequence === undefined || sequence.finished) return false
  sequence.finished = true
  return true
}

export const allFinished = (entry: Entry): boolean => entry.sequences.every((sequence) => sequence.finished)
