import type { SampledToken } from '../../model/index.ts'
import type { Detokenizer, StopScanner } from '../../text/index.ts'
import type { ReleasedToken } from './types.ts'

export interface Release {
  readonly text: string
  readonly tokens: readonly ReleasedToken[]
  /** A stop string was found: nothing after this release belongs to the answer. */
  readonly stopped: boolean
}

/** One of a request's n answers: ids in, text out that never splits a character and never shows a stop string. */
export interface Sequence {
  /** Tokens taken in so far; the next token's index. */
  readonly count: () => number
  readonly open: () => boolean
  push(sampled: SampledToken): Release
  /** The engine ended the sequence: what was held back comes out. */
  finish(): Release
  close(): void
}

export const createSequence = (
  detokenizer: Detokenizer,
  scanner: StopScanner,
  endIds: ReadonlySet<number>,
  keepTokens: boolean,
): Sequence => {
  let count = 0
  let open = true
  /** UTF-16 units that left the detokenizer, and of those, units that left the scanner. */
  let decoded = 0
  let released = 0
  let pending: ReleasedToken[] = []

  // A token is reported with the first of its text that leaves; tokens cut off by a stop string are never reported.
  const release = (text: string, stopped: boolean, all: boolean): Release => {
    released += text.length
    const cut = all && !stopped ? pending.length : pending.findIndex(({ offset }) => offset >= released)
    const tokens = cut < 0 ? pending : pending.slice(0, cut)
    pending = stopped || cut < 0 ? [] : pending.slice(cut)
    return { text, tokens, stopped }
  }

  return {
    count: () => count,
    open: () => open,
    push(sampled): Release {
      count += 1
      if (keepTokens && !endIds.has(sampled.token)) pending.push({ sampled, offset: decoded })
      const text = detokenizer.push(sampled.token)
      decoded += text.length
      const scanned = scanner.push(text)
      return release(scanned.text, scanned.stopped, false)
    },
    finish(): Release {
      const rest = detokenizer.flush()
      const scanned = scanner.push(rest)
      if (scanned.stopped) return release(scanned.text, true, true)
      return release(scanned.text + scanner.flush(), false, true)
    },
    close(): void {
      open = false
    },
  }
}
