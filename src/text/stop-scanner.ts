import type { StopScanner } from './types.ts'

/**
 * Ends a text at the first place where a stop string is complete; of several complete at that place, the one that began
 * earliest cuts. Nothing at or after the cut leaves. Text that may yet be the beginning of a stop string is withheld,
 * and never more than that: at most the longest stop less one.
 *
 * So a stop that is found is found however the text was cut into pieces: the answer is that of the whole text, read
 * character by character. Knuth, Morris and Pratt's automaton per stop; empty stops are ignored.
 */
export function createStopScanner(stops: readonly string[]): StopScanner {
  const automata = stops.filter((stop) => stop.length > 0).map((stop) => new Automaton(stop))
  let held = ''
  let stopped = false

  const push = (text: string): { readonly text: string; readonly stopped: boolean } => {
    if (stopped) return { text: '', stopped }
    const pending = held + text
    for (let at = held.length; at < pending.length; at++) {
      let cut = -1
      for (const automaton of automata) {
        if (automaton.step(pending.charCodeAt(at))) cut = cutOf(cut, at + 1 - automaton.stop.length)
      }
      if (cut < 0) continue
      stopped = true
      held = ''
      return { text: pending.slice(0, cut), stopped }
    }
    const matched = automata.reduce((most, automaton) => Math.max(most, automaton.matched), 0)
    let safe = pending.length - matched
    // a surrogate pair leaves whole, even where a stop string begins with its second half
    if (safe > 0 && isHigh(pending.charCodeAt(safe - 1))) safe--
    held = pending.slice(safe)
    return { text: pending.slice(0, safe), stopped }
  }

  const flush = (): string => {
    const rest = held
    held = ''
    return rest
  }

  return { push, flush }
}

function cutOf(best: number, start: number): number {
  return best < 0 ? start : Math.min(best, start)
}

function isHigh(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdbff
}

/** How much of a stop string the text read so far ends with. */
class Automaton {
  readonly stop: string
  readonly #fallback: Int32Array
  matched = 0

  constructor(stop: string) {
    this.stop = stop
    this.#fallback = new Int32Array(stop.length)
    for (let i = 1, length = 0; i < stop.length; i++) {
      while (length > 0 && stop[i] !== stop[length]) length = this.#fallback[length - 1]!
      if (stop[i] === stop[length]) length++
      this.#fallback[i] = length
    }
  }

  /** Reads one unit; true when the stop is complete. */
  step(unit: number): boolean {
    while (this.matched > 0 && this.stop.charCodeAt(this.matched) !== unit) {
      this.matched = this.#fallback[this.matched - 1]!
    }
    if (this.stop.charCodeAt(this.matched) === unit) this.matched++
    if (this.matched < this.stop.length) return false
    this.matched = this.#fallback[this.matched - 1]!
    return true
  }
}
