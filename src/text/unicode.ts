/** Character classes of the pre-tokenizers, and the one way strings become code points and bytes here. */
export const LETTER = 1
export const NUMBER = 2
export const SPACE = 4
export const MARK = 8
export const PUNCTUATION = 16
export const SYMBOL = 32
export const OTHER = 64

const PAGE = 256
const pages: (Uint8Array | undefined)[] = []

function classify(codePoint: number): number {
  if (codePoint >= 0xd800 && codePoint <= 0xdfff) return SYMBOL // a lone surrogate counts as U+FFFD, category So
  const char = String.fromCodePoint(codePoint)
  // Unicode's White_Space, which is not JavaScript's \s: U+0085 is in, U+FEFF is out
  if (/\p{White_Space}/u.test(char)) return SPACE
  if (/\p{L}/u.test(char)) return LETTER
  if (/\p{N}/u.test(char)) return NUMBER
  if (/\p{M}/u.test(char)) return MARK
  if (/\p{P}/u.test(char)) return PUNCTUATION
  return /\p{S}/u.test(char) ? SYMBOL : OTHER
}

/** Class of a code point, exactly one of the constants above. Tables are made a page at a time, when first asked for. */
export function classOf(codePoint: number): number {
  const index = codePoint >>> 8
  let page = pages[index]
  if (page === undefined) {
    page = new Uint8Array(PAGE)
    for (let i = 0; i < PAGE; i++) page[i] = classify(index * PAGE + i)
    pages[index] = page
  }
  return page[codePoint & 0xff]!
}

/** Replaces lone surrogates by U+FFFD, so that UTF-16 and UTF-8 views of a text agree. Linear. */
export function wellFormed(text: string): string {
  // in every supported Node.js, but not in the ES2023 declarations
  return (text as string & { toWellFormed(): string }).toWellFormed()
}

/** Length in UTF-16 units of the character at `at` of a well-formed text. */
export function unitsAt(text: string, at: number): 1 | 2 {
  const unit = text.charCodeAt(at)
  return unit >= 0xd800 && unit <= 0xdbff ? 2 : 1
}

const encoder = new TextEncoder()

/** UTF-8 bytes of a text. */
export function utf8(text: string): Uint8Array {
  return encoder.encode(text)
}
