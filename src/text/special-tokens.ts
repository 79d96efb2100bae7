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

interface Leaf {
  readonly id: number
  readonly control: boolean
}

/** Tokens by their characters: a look-up costs what the text and some token have in common, not the number of tokens. */
interface Trie {
  readonly next: Map<number, Trie>
  leaf: Leaf | null
}

interface Match extends Leaf {
  readonly start: number
  readonly end: number
}

/**
 * Finds tokens written out in a text, as llama.cpp's `tokenizer_st_partition` does: longest token first, leftmost first,
 * never over one already taken. User-defined tokens are always read; control and unknown ones where `control` allows.
 */
export class SpecialTokens {
  readonly #root: Trie = { next: new Map(), leaf: null }
  readonly #anyUserDefined: boolean

  constructor(vocabulary: Vocabulary) {
    let userDefined = false
    vocabulary.types.forEach((type, id) => {
      const control = type === TokenType.control || type === TokenType.unknown
      if (!control && type !== TokenType.userDefined) return
      userDefined ||= !control
      this.#add(vocabulary.texts[id]!, { id, control })
    })
    this.#anyUserDefined = userDefined
  }

  /** Fragments in order, covering the text. */
  partition(text: string, control: ControlRule | null): Fragment[] {
    const found = control === null && !this.#anyUserDefined ? [] : this.#find(text, control)
    const fragments: Fragment[] = []
    let at = 0
    for (const { start, end, id } of found) {
      if (start > at) fragments.push({ start: at, end: start, id: null })
      fragments.push({ start, end, id })
      at = end
    }
    if (at < text.length) fragments.push({ start: at, end: text.length, id: null })
    return fragments
  }

  /** Where control or unknown tokens stand in the text, in order, overlaps included. */
  controlsIn(text: string): { readonly start: number; readonly end: number }[] {
    return this.#matches(text, () => true).filter(({ control }) => control)
  }

  #add(text: string, leaf: Leaf): void {
    let node = this.#root
    for (let i = 0; i < text.length; i++) {
      const unit = text.charCodeAt(i)
      let child = node.next.get(unit)
      if (child === undefined) {
        child = { next: new Map(), leaf: null }
        node.next.set(unit, child)
      }
      node = child
    }
    node.leaf = leaf
  }

  #find(text: string, control: ControlRule | null): Match[] {
    const matches = this.#matches(text, control)
    if (!matches.some((match, i) => i > 0 && match.start < matches[i - 1]!.end)) return matches
    const taken = new Uint8Array(text.length)
    const kept: Match[] = []
    // longer ones are taken already when a shorter one comes, so looking at its two ends is enough
    for (const match of matches.sort((a, b) => b.end - b.start - (a.end - a.start) || a.start - b.start)) {
      if (taken[match.start] === 1 || taken[match.end - 1] === 1) continue
      taken.fill(1, match.start, match.end)
      kept.push(match)
    }
    return kept.sort((a, b) => a.start - b.start)
  }

  #matches(text: string, control: ControlRule | null): Match[] {
    const matches: Match[] = []
    const first = this.#root.next
    for (let start = 0; start < text.length; start++) {
      let node = first.get(text.charCodeAt(start))
      for (let end = start + 1; node !== undefined; end++) {
        const leaf = node.leaf
        if (leaf !== null && (!leaf.control || control?.(start, end) === true)) matches.push({ start, end, ...leaf })
        node = end < text.length ? node.next.get(text.charCodeAt(end)) : undefined
      }
    }
    return matches
  }
}
