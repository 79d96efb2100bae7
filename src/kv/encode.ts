/**
 * Texts, each behind its length in bytes, then the number of words and the words; all little-endian, whatever the machine.
 * Strings enter as UTF-8. No two inputs of well-formed strings share an encoding as long as each caller puts a domain of its own first.
 * The result is good until the next call: it is there to be hashed at once, and its own memory would cost more than that.
 */
export const encode = (texts: readonly (string | Uint8Array)[], words: ArrayLike<number>): Uint8Array => {
  const out = scratchOf(texts, words)
  let at = 0
  for (const text of texts) {
    const end = putText(out, at + 4, text)
    putWord(out, at, end - at - 4)
    at = end
  }
  at = putWord(out, at, words.length)
  for (let i = 0; i < words.length; i++) at = putWord(out, at, words[i]!)
  return out.subarray(0, at)
}

let scratch = new Uint8Array(512)

const scratchOf = (texts: readonly (string | Uint8Array)[], words: ArrayLike<number>): Uint8Array => {
  let size = 4 + words.length * 4
  // No UTF-16 unit takes more than three bytes of UTF-8.
  for (const text of texts) size += 4 + text.length * 3
  if (size > scratch.length) scratch = new Uint8Array(2 * size)
  return scratch
}

const utf8 = new TextEncoder()

/** Returns where the text ends. Names are ASCII as a rule and short, where a call of `set` or the encoder costs more than its work. */
const putText = (out: Uint8Array, at: number, text: string | Uint8Array): number => {
  if (typeof text !== 'string') {
    for (let i = 0; i < text.length; i++) out[at + i] = text[i]!
    return at + text.length
  }
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i)
    if (unit > 127) return at + utf8.encodeInto(text, out.subarray(at)).written
    out[at + i] = unit
  }
  return at + text.length
}

const putWord = (out: Uint8Array, at: number, word: number): number => {
  out[at] = word
  out[at + 1] = word >>> 8
  out[at + 2] = word >>> 16
  out[at + 3] = word >>> 24
  return at + 4
}
