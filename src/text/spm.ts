import type { IdSink } from './id-sink.ts'
import { type MergeRules, MergeScratch, mergeAll } from './merge.ts'
import { unitsAt, utf8 } from './unicode.ts'

/** SentencePiece writes a space so. */
export const ESCAPED_SPACE = '\u2581'

/**
 * SentencePiece-style tokens by score, with the ids of llama.cpp's `llm_tokenizer_spm_session`: neighbours whose joint
 * text is a token join, best score first, leftmost among equals; characters that are no token fall back to bytes.
 */
export class SpmModel {
  readonly #idOf: ReadonlyMap<string, number>
  /** By id: place of the token's score, best first; equal scores share a place. */
  readonly #place: Int32Array
  readonly #byteIds: Int32Array
  /** Neighbouring characters that occur inside some token, as first × 2^21 + second. */
  readonly #inside = new Set<number>()
  readonly #longest: number
  readonly #scratch = new MergeScratch()
  readonly #rules: MergeRules
  #text = ''
  /** First and last unit of each character, then of each symbol that starts there. */
  #starts = new Int32Array(64)
  #ends = new Int32Array(64)

  /** @param byteIds the token for each byte, `<0x00>` … `<0xFF>` */
  constructor(idOf: ReadonlyMap<string, number>, scores: Float32Array | null, size: number, byteIds: Int32Array) {
    this.#idOf = idOf
    this.#byteIds = byteIds
    this.#place = new Int32Array(size)
    const distinct = [...new Set(scores?.subarray(0, size) ?? [0])].sort((a, b) => b - a)
    const placeOf = new Map(distinct.map((score, place) => [score, place]))
    for (let id = 0; id < size; id++) this.#place[id] = placeOf.get(scores?.[id] ?? 0) ?? distinct.length
    let longest = 0
    for (const text of idOf.keys()) {
      longest = Math.max(longest, text.length)
      let before = -1
      for (const char of text) {
        const code = char.codePointAt(0)!
        if (before >= 0) this.#inside.add(before * 0x200000 + code)
        before = code
      }
    }
    this.#longest = longest
    this.#rules = {
      priority: (left, right) => {
        const start = this.#starts[left]!
        const end = this.#ends[right]!
        if (end - start > this.#longest) return -1
        const id = this.#idOf.get(this.#text.slice(start, end))
        return id === undefined ? -1 : this.#place[id]!
      },
      join: (left, right) => {
        this.#ends[left] = this.#ends[right]!
      },
    }
  }

  /** Ids of a well-formed text whose spaces are escaped already; stops early when the sink says so. */
  encode(text: string, sink: IdSink): void {
    let from = 0
    for (let at = 0; at < text.length; ) {
      const to = at + unitsAt(text, at)
      // no token spans these two characters, so nothing ever joins across: exact, and it keeps the pieces short
      if (to === text.length || !this.#inside.has(text.codePointAt(at)! * 0x200000 + text.codePointAt(to)!)) {
        if (sink.stops()) return
        this.#encodePiece(text, from, to, sink)
        from = to
      }
      at = to
    }
  }

  #encodePiece(text: string, from: number, to: number, sink: IdSink): void {
    this.#reserve(to - from)
    let count = 0
    for (let at = from; at < to; count++) {
      this.#starts[count] = at
      at += unitsAt(text, at)
      this.#ends[count] = at
    }
    this.#text = text
    mergeAll(count, this.#rules, this.#scratch)
    for (let i = 0; i < count; i = this.#scratch.next[i]!) {
      const piece = text.slice(this.#starts[i]!, this.#ends[i]!)
      const id = this.#idOf.get(piece)
      if (id !== undefined) sink.push(id)
      else for (const byte of utf8(piece)) sink.push(this.#byteIds[byte]!)
    }
    this.#text = ''
  }

  #reserve(count: number): void {
    if (count <= this.#starts.length && this.#starts.length <= 8 * (count + 8192)) return
    this.#starts = new Int32Array(Math.max(64, count))
    this.#ends = new Int32Array(Math.max(64, count))
  }
}
