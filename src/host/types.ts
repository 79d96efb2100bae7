/** What the outside offers, as interfaces; Node's versions stand beside and are imported by `runtime` and `cli` alone. */
export interface Clock {
  /** Milliseconds, monotonic. */
  now(): number
  /** Milliseconds since 1970, for people and for OpenAI's `created`. */
  wall(): number
}

export interface Timers {
  after(milliseconds: number, callback: () => void): { cancel(): void }
}

export interface Random {
  bytes(count: number): Uint8Array
  uint32(): number
}
