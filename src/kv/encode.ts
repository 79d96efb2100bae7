/**
 * Texts, each behind its length in bytes, then the number of words and the words; all little-endian, whatever the machine.
 * Strings enter as UTF-8. No two inputs share an encoding as long as each caller puts a domain of its own first.
 */
export const encode = (texts: readonly (string | Uint8Array)[], words: ArrayLike<number>): Uint8Array => {
  const parts = texts.map((text) => (typeof text === 'string' ? utf8Of(text) : text))
  let size = 4 + words.length * 4
  for (const part of parts) size += 4 + part.length
  const out = new Uint8Array(size)
  let at = 0
  for (const part of parts) {
    at = putWord(out, at, part.length)
    // Texts are short: a call of `set` costs more than they do.
    for (let i = 0; i < part.length; i++) out[at + i] = part[i]!
    at += part.length
  }
  at = putWord(out, at, words.length)
  for (let i = 0; i < words.length; i++) at = putWord(out, at, words[i]!)
  return out
}

const utf8 = new TextEncoder()

/** Names are ASCII as a rule and short, where the encoder's call costs more than its work. */
const utf8Of = (text: string): Uint8Array => {
  const bytes = new Uint8Array(text.length)
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i)
    if (unit > 127) return utf8.encode(text)
    bytes[i] = unit
  }
  return bytes
}

const putWord = (out: Uint8Array, at: number, word: number): number => {
  out[at] = word
  out[at + 1] = word >>> 8
  out[at + 2] = word >>> 16
  out[at + 3] = word >>> 24
  return at + 4
}
