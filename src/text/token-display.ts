import type { Tokenizer } from './types.ts'

/** A token as OpenAI's `logprobs` objects show it. */
export interface DisplayedToken {
  /** Its bytes as text; bytes that are no text of their own as `bytes:\xf0\x9f`, as OpenAI writes them. */
  readonly token: string
  readonly bytes: readonly number[]
}

/** Text and bytes of a token on its own. Control tokens have neither: their names are no part of an answer. */
export function displayToken(tokenizer: Tokenizer, id: number): DisplayedToken {
  const bytes = tokenizer.tokenBytes(id)
  return { token: textOf(bytes), bytes: [...bytes] }
}

function textOf(bytes: Uint8Array): string {
  const text = new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes)
  // a replacement character stands for a broken sequence unless the bytes spell it
  if (!text.includes('\ufffd') || sameBytes(new TextEncoder().encode(text), bytes)) return text
  return `bytes:${[...bytes].map((byte) => `\\x${byte.toString(16).padStart(2, '0')}`).join('')}`
}

function sameBytes(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((byte, i) => byte === b[i])
}
