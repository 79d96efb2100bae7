import { BYTE_TO_CHAR, decodeAlphabet, encodeAlphabet } from './byte-alphabet.ts'
import { TextError } from './errors.ts'
import type { IdSink } from './id-sink.ts'
import { type MergeRules, MergeScratch, mergeAll } from './merge.ts'
import { PairTable } from './pair-table.ts'
import { LONGEST_TOKEN } from './vocabulary.ts'

/**
 * Byte-level BPE over one pre-token at a time, with the ids of llama.cpp's `llm_tokenizer_bpe_session`.
 * Symbols are numbered strings (bytes, merge halves, merge results), so a merge is an array look-up.
 * No cache of words: what one tenant sent would show in another's timing.
 */
export class BpeModel {
  readonly #pairs: PairTable
  /** By merge rank. */
  readonly #result: Int32Array
  readonly #byteSymbol = new Int32Array(256)
  /** By symbol: the vocabulary's id, or -1. */
  readonly #id: Int32Array
  readonly #texts: readonly string[]
  /** [last byte of a left half × 256 + first byte of a right half]: may a merge cross this border at all? */
  readonly #joins = new Uint8Array(65536)
  readonly #whole: ReadonlyMap<string, number> | null
  readonly #idOf: ReadonlyMap<string, number>
  readonly #scratch = new MergeScratch()
  #symbols = new Int32Array(64)
  readonly #rules: MergeRules
  /** True if every string a merge can form is a token: then no byte that has a token is ever dropped. */
  readonly faithful: boolean

  /** @param wholeWords llama.cpp's `ignore_merges`: a pre-token that is a token stays whole. */
  constructor(idOf: ReadonlyMap<string, number>, merges: readonly string[], wholeWords: boolean) {
    this.#idOf = idOf
    this.#whole = wholeWords ? idOf : null
    const symbolOf = new Map<string, number>()
    const texts: string[] = []
    const symbol = (text: string): number => {
      let index = symbolOf.get(text)
      if (index === undefined) {
        index = texts.length
        symbolOf.set(text, index)
        texts.push(text)
      }
      return index
    }
    BYTE_TO_CHAR.forEach((char, byte) => {
      this.#byteSymbol[byte] = symbol(char)
    })
    this.#pairs = new PairTable(merges.length)
    this.#result = new Int32Array(merges.length)
    merges.forEach((merge, rank) => {
      const space = merge.indexOf(' ', 1)
      const first = space < 0 ? '' : merge.slice(0, space)
      const second = space < 0 ? '' : merge.slice(space + 1)
      if (merge.length > LONGEST_TOKEN) throw tooLong(rank)
      const left = decodeAlphabet(first)
      const right = decodeAlphabet(second)
      // halves outside the byte alphabet can never come up
      if (!left || !right || left.length === 0 || right.length === 0) return
      this.#pairs.add(symbol(first), symbol(second), rank)
      this.#result[rank] = symbol(first + second)
      this.#joins[left[left.length - 1]! * 256 + right[0]!] = 1
    })
    this.#texts = texts
    this.#id = Int32Array.from(texts, (text) => idOf.get(text) ?? -1)
    this.faithful = !merges.some((_, rank) => this.#result[rank] !== 0 && this.#id[this.#result[rank]!] === -1)
    this.#rules = {
      priority: (left, right) => this.#pairs.get(this.#symbols[left]!, this.#symbols[right]!),
      join: (left, _right, rank) => {
        this.#symbols[left] = this.#result[rank]!
      },
    }
  }

  /** Ids of the pre-token in `bytes[start … end - 1]`; stops early when the sink says so. */
  encode(bytes: Uint8Array, start: number, end: number, sink: IdSink): void {
    if (sink.stops()) return
    if (this.#whole !== null && end - start <= LONGEST_TOKEN) {
      const id = this.#whole.get(encodeAlphabet(bytes, start, end))
      if (id !== undefined) {
        sink.push(id)
        return
      }
    }
    let from = start
    for (let at = start + 1; at <= end; at++) {
      // nothing merges across a border that no merge has: exact, and it keeps the pieces short
      if (at < end && this.#joins[bytes[at - 1]! * 256 + bytes[at]!] === 1) continue
      if (sink.stops()) return
      this.#encodePiece(bytes, from, at, sink)
      from = at
    }
  }

  #encodePiece(bytes: Uint8Array, start: number, end: number, sink: IdSink): void {
    const count = end - start
    if (this.#symbols.length < count || this.#symbols.length > 8 * (count + 8192)) {
      this.#symbols = new Int32Array(Math.max(64, count))
    }
    for (let i = 0; i < count; i++) this.#symbols[i] = this.#byteSymbol[bytes[start + i]!]!
    if (count > 1) mergeAll(count, this.#rules, this.#scratch)
    for (let i = 0; i < count; i = count > 1 ? this.#scratch.next[i]! : count) {
      const symbol = this.#symbols[i]!
      if (this.#id[symbol]! >= 0) sink.push(this.#id[symbol]!)
      else this.#pushCharacters(this.#texts[symbol]!, sink)
    }
  }

  /** llama.cpp looks such a string up byte by byte of its *written* form, so only ASCII characters are found. */
  #pushCharacters(text: string, sink: IdSink): void {
    for (const char of text) {
      const id = char.charCodeAt(0) < 0x80 ? this.#idOf.get(char) : undefined
      if (id !== undefined) sink.push(id)
    }
  }
}

function tooLong(rank: number): TextError {
  return new TextError({
    code: 'bad_vocabulary',
    message: `tokenizer.ggml.merges[${rank}] is longer than ${LONGEST_TOKEN} characters`,
    details: { rank },
  })
}
