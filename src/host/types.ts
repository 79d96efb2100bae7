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

/** HMAC-SHA-256 under one fixed key, and plain SHA-256; both synchronous. The same shape as admission's `TicketCrypto`. */
export interface KeyedDigest {
  mac(data: Uint8Array): Uint8Array
  sha256(data: Uint8Array): Uint8Array
}

/** What each sub-key of the one secret is for. A label is never reused for a second purpose. */
export type KeyLabel = 'ticket' | 'link' | 'channel' | 'seal' | 'receipt' | 'page'

export interface Secrets {
  /** 32 bytes by HKDF-SHA-256 from the secret, one independent key per label. */
  derive(label: KeyLabel): Uint8Array
}

export interface DigestTools {
  sha256(data: Uint8Array): Uint8Array
  /** HMAC-SHA-256. */
  mac(key: Uint8Array, data: Uint8Array): Uint8Array
  keyed(key: Uint8Array): KeyedDigest
  /** In time that depends on the lengths alone. */
  equal(a: Uint8Array, b: Uint8Array): boolean
}

/** Small private files: keys, secrets, state. Directories are 0700, files 0600, a write is seen whole or not at all. */
export interface PrivateFiles {
  /** Null when there is no such file; throws HostError `not_private` when others may read or write it. */
  read(path: string): Uint8Array | null
  write(path: string, bytes: Uint8Array): void
  makeDirectory(path: string): void
}

/** Work that would hold the event loop for too long (parsing and tokenising large bodies) done on another thread. */
export interface Offload {
  /**
   * Runs the task of that name with a structured-cloned payload. Rejects with HostError `offload_failed` (the task threw; its
   * message is in `details`), `offload_timeout` or `offload_stopped`; a thread that died is replaced for the next call.
   * `signal` cancels a call that still waits; one that runs is left to end.
   */
  call(task: string, payload: unknown, transfer?: readonly ArrayBuffer[], signal?: AbortSignal): Promise<unknown>
}

/** What the module behind an Offload exports as `tasks`. Plain functions of a structured-cloneable payload. */
export type OffloadTasks = Readonly<Record<string, (payload: never) => unknown>>
