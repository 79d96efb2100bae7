/** What a model file says of its tokenizer and template; `model` reads it. */
export interface TokenizerMetadata {
  /** tokenizer.ggml.model: `gpt2` (byte-level BPE) or `llama` (SentencePiece-style). */
  readonly model: string
  readonly pre: string | null
  readonly tokens: readonly string[]
  readonly scores: Float32Array | null
  readonly types: Int32Array | null
  readonly merges: readonly string[] | null
  readonly bosId: number | null
  readonly eosId: number | null
  readonly eotId: number | null
  readonly unknownId: number | null
  readonly addBos: boolean
  readonly addEos: boolean
  readonly addSpacePrefix: boolean
  readonly chatTemplate: string | null
}

export interface EncodeOptions {
  /** Put BOS (and EOS, if the file says so) around the text. */
  readonly addSpecial: boolean
  /** Read control tokens written out in the text as such (template output); false for raw user text. */
  readonly parseSpecial: boolean
  /** Stop soon after this many ids: counting a hopeless prompt must not cost more than refusing it. */
  readonly limit?: number
}

export interface Encoded {
  readonly ids: Int32Array
  /**
   * False when `limit` cut the count short; then `ids.length` is a floor, above `limit`, and `ids` is a count and no
   * prompt: entries that were never computed are -1.
   */
  readonly complete: boolean
}

export interface Tokenizer {
  readonly vocabSize: number
  /** Ids that end a turn: EOS, EOT. */
  readonly endIds: readonly number[]
  encode(text: string, options: EncodeOptions): Encoded
  /** The bytes a token adds to a text; empty for control tokens. */
  tokenBytes(id: number): Uint8Array
}

export interface ChatMessage {
  readonly role: 'system' | 'developer' | 'user' | 'assistant' | 'tool'
  readonly content: string
  readonly name?: string
}

export interface ChatTemplate {
  /** The prompt text, ending where the assistant's answer begins. Throws TextError `template_failed`. */
  render(messages: readonly ChatMessage[]): string
}

/** Bytes to text, never splitting a character: holds back an unfinished UTF-8 sequence. */
export interface Detokenizer {
  push(id: number): string
  /** What is still held back, invalid bytes as U+FFFD. */
  flush(): string
}

/** Withholds text that may be the beginning of a stop string. Text at and after a stop never leaves. */
export interface StopScanner {
  push(text: string): { readonly text: string; readonly stopped: boolean }
  flush(): string
}
