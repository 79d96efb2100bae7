/**
 * Texts, each behind its length, then the number of words and the words; all little-endian, whatever the machine. No two
 * inputs share an encoding as long as each caller puts a domain of its own first.
 */
export const encode = (texts: readonly Uint8Array[], words: ArrayLike<number>): Uint8Array => {
  let size = 4 + words.length * 4
  for (const text of texts) size += 4 + text.length
  const out = new Uint8Array(size)
  const view = new DataView(out.buffer)
  let at = 0
  for (const text of texts) {
    view.setUint32(at, text.length, true)
    at += 4
    // Texts are short: a call of `set` costs more than they do.
    for (let i = 0; i < text.length; i++) out[at + i] = text[i]!
    at += text.length
  }
  view.setUint32(at, words.length, true)
  for (let i = 0; i < words.length; i++) view.setUint32(at + 4 + i * 4, words[i]!, true)
  return out
}
