/** What the adapter knows of a connection and `Request` cannot say. */
export interface HttpInfo {
  readonly remoteAddress: string
  /**
   * The handler holds nothing of the body any more. Without a word the body counts among those in flight until the handler has
   * answered, which for an answer that takes minutes keeps other bodies out for minutes.
   */
  releaseBody(): void
}

/**
 * The gateway. Its Response is sent as it is; a body stream that errors ends in a reset, never in a clean end (R12). A stream
 * that wants its last frame seen must error in a later `pull`, since `controller.error` drops what is still queued.
 */
export type HttpHandler = (request: Request, info: HttpInfo) => Promise<Response>

export interface HttpLimits {
  /** Bytes of one body; 413 above. */
  readonly bodyBytes: number
  /** Bytes of bodies that handlers still hold, all connections together; 503 above. */
  readonly bodyBytesInFlight: number
  /** No byte of a body for so long while the handler waits for one: 408. */
  readonly bodyStallMs: number
  /** A whole body, from the end of its headers: 408. */
  readonly bodyTotalMs: number
  /** Headers, from the first byte (or from the connection): 408. */
  readonly headersMs: number
  readonly headerBytes: number
  /** After an early answer, how long a client that still writes is listened to before the connection closes. */
  readonly lingerMs: number
  readonly lingerBytes: number
  /** A client that takes no byte of its response for so long is cut off. */
  readonly writeStallMs: number
  readonly keepAliveMs: number
  readonly connections: number
  /** Requests that wait behind another on one connection. */
  readonly pipelined: number
}

export const DEFAULT_LIMITS: HttpLimits = {
  bodyBytes: 32 * 2 ** 20,
  bodyBytesInFlight: 512 * 2 ** 20,
  bodyStallMs: 10_000,
  bodyTotalMs: 300_000,
  headersMs: 15_000,
  headerBytes: 16 * 2 ** 10,
  lingerMs: 5_000,
  lingerBytes: 128 * 2 ** 20,
  writeStallMs: 60_000,
  keepAliveMs: 65_000,
  connections: 10_000,
  pipelined: 32,
}

/** Refusals the adapter makes itself, for the operator's counters. */
export interface HttpEvent {
  readonly kind: 'http_refused' | 'http_reset' | 'http_disconnect' | 'http_handler_error'
  readonly code: string
}
