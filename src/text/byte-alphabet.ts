/**
 * GPT-2's byte alphabet: every byte as one printable character, in which byte-level vocabularies are written.
 * Source: `bytes_to_unicode` of OpenAI's gpt-2 encoder.
 */
export const BYTE_TO_CHAR: readonly string[] = (() => {
  const printable = (byte: number): boolean =>
    (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xac) || (byte >= 0xae && byte <= 0xff)
  let next = 256
  return Array.from({ length: 256 }, (_, byte) => String.fromCharCode(printable(byte) ? byte : next++))
})()

const CHAR_TO_BYTE: ReadonlyMap<string, number> = new Map(BYTE_TO_CHAR.map((char, byte) => [char, byte]))

/** Bytes spelled by a token of a byte-level vocabulary; null if a character is not of the alphabet. */
export function decodeAlphabet(text: string): Uint8Array | null {
  const bytes = new Uint8Array(text.length)
  for (let i = 0; i < text.length; i++) {
    const byte = CHAR_TO_BYTE.get(text[i]!)
    if (byte === undefined) return null
    bytes[i] = byte
  }
  return bytes
}

/** Bytes `start … end - 1` written in the alphabet. */
export function encodeAlphabet(bytes: Uint8Array, start: number, end: number): string {
  let text = ''
  for (let i = start; i < end; i++) text += BYTE_TO_CHAR[bytes[i]!]
  return text
}
