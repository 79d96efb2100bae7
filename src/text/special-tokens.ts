import { TokenType, type Vocabulary } from './vocabulary.ts'

/** A stretch of text, or a token that was found written out in it. */
export interface Fragment {
  readonly start: number
  readonly end: number
  /** Null: plain text. */
  readonly id: number | null
}

/** May a control token be read at `start … end - 1`? */
export type ControlRule = (start: number, end: number) => boolean

interface Candidate {
  readonly text: string
  readonly id: number
  readonly control: boolean
}

/**
 * Finds tokens written out in a text, as llama.cpp's `tokenizer_st_partition` does: longest token first, leftmost first,
 * never over one already taken. User-defined tokens are always read; control and unknown ones where `control` allows.
 */
export class SpecialTokens {
  /** By first UTF-16 unit, longest first. */
  readonly #byFirst = new Map<number, Candidate[]>()
  readonly #anyUserDefined: boolean

  constructor(vocabulary: Vocabulary) {
    let userDefined = false
    vocabulary.types.forEach((type, id) => {
      const control = type === TokenType.control || type === TokenType.unknown
      if (!control && type !== TokenType.userDefined) return
      userDefined ||= !control
      const text = vocabulary.texts[id]!
      const list = this.#byFirst.get(text.charCodeAt(0)) ?? []
      list.push({ text, id, control })
      this.#byFirst.set(text.charCodeAt(0), list)
    })
    for (const list of this.#byFirst.values()) list.sort((a, b) => b.text.length - a.text.length)
    this.#anyUserDefined = userDefined
  }

  /** Fragments in order, covering the text. */
  partition(text: string, control: ControlRule | null): Fragment[] {
    const found = control === null && !this.#anyUserDefined ? [] : this.#find(text, control)
    const fragments: Fragment[] = []
    let at = 0
    for (const match of found) {
      if (match.start > at) fragments.push({ start: at, end: match.start, id: null })
      fragments.push(match)
      at = match.end
    }
    if (at < text.length) fragments.push({ start: at, end: text.length, id: null })
    return fragments
  }

  /** Where control or unknown tokens stand in the text, overlaps included. */
  controlsIn(text: string): { readonly start: number; readonly end: number }[] {
    return this.#matches(text, () => true).filter(({ control }) => control)
  }

  #find(text: string, control: ControlRule | null): Fragment[] {
    const matches = this.#matches(text, control)
    if (!matches.some((match, i) => i > 0 && match.start < matches[i - 1]!.end)) return matches
    const taken = new Uint8Array(text.length)
    const kept: Fragment[] = []
    // longer ones are taken already when a shorter one comes, so looking at its two ends is enough
    for (const match of matches.sort((a, b) => b.end - b.start - (a.end - a.start) || a.start - b.start)) {
      if (taken[match.start] === 1 || taken[match.end - 1] === 1) continue
      taken.fill(1, match.start, match.end)
      kept.push(match)
    }
    return kept.sort((a, b) => a.start - b.start)
  }

  #matches(
    text: string,
    control: ControlRule | null,
  ): (Fragment & { readonly id: number; readonly control: boolean })[] {
    const matches: (Fragment & { readonly id: number; readonly control: boolean })[] = []
    if (this.#byFirst.size === 0) return matches
    for (let start = 0; start < text.length; start++) {
      const list = this.#byFirst.get(text.charCodeAt(start))
      if (list === undefined) continue
      for (const candidate of list) {
        const end = start + candidate.text.length
        if (candidate.control && (control === null || !control(start, end))) continue
        if (text.startsWith(candidate.text, start)) {
          matches.push({ start, end, id: candidate.id, control: candidate.control })
        }
      }
    }
    return matches
  }
}
