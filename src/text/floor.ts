import { utf8 } from './unicode.ts'

/** Weights are in units of 2^-20 tokens, so that sums are exact integers. */
const ONE = 1 << 20
const CHUNK = 1 << 16

/**
 * A lower bound on how many tokens a text becomes, without tokenizing it. A token of L bytes covers at most L bytes, so
 * a byte costs at least 1/L for the longest token L that contains it; the sum over a text's bytes cannot exceed its
 * token count. Ten million letters are refused by one pass over them.
 */
export class TokenFloor {
  readonly #weights = new Float64Array(256)
  readonly #escape: (text: string) => string

  /**
   * @param dropped bytes that may vanish without a token: they cost nothing
   * @param written how the vocabulary writes a text, character by character
   */
  constructor(tokens: Iterable<Uint8Array>, dropped: (byte: number) => boolean, written: (text: string) => string) {
    this.#escape = written
    const longest = new Int32Array(256)
    for (const bytes of tokens) {
      for (const byte of bytes) if (longest[byte]! < bytes.length) longest[byte] = bytes.length
    }
    for (let byte = 0; byte < 256; byte++) {
      this.#weights[byte] = dropped(byte) ? 0 : Math.floor(ONE / Math.max(1, longest[byte]!))
    }
  }

  /** A floor of the text's token count; stops adding up once it is above `limit`. */
  of(text: string, limit: number): number {
    let sum = 0
    for (let at = 0; at < text.length; at += CHUNK) {
      // a surrogate pair cut in two would be counted as six bytes instead of four: keep it whole
      const cut = at + CHUNK
      const end = cut < text.length && isHigh(text.charCodeAt(cut - 1)) ? cut - 1 : cut
      for (const byte of utf8(this.#escape(text.slice(at, end)))) sum += this.#weights[byte]!
      at += end - cut
      if (sum > limit * ONE) break
    }
    return Math.ceil(sum / ONE)
  }
}

function isHigh(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdbff
}
