import type { Detokenizer, Tokenizer } from './types.ts'

/**
 * Turns the tokens of one answer into text as they come. A character spread over several tokens leaves with its last
 * byte; bytes that can never become a character leave as U+FFFD. All pieces joined are the text of all bytes.
 */
export function createDetokenizer(tokenizer: Tokenizer): Detokenizer {
  // the platform's streaming decoder does exactly this; a byte-order mark is text here
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true })
  return {
    push: (id) => decoder.decode(tokenizer.tokenBytes(id), { stream: true }),
    flush: () => decoder.decode(),
  }
}
