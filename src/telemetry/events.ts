/**
 * What happened, as values. No prompt, no answer, no key: only names, counts and codes. Of what a worker says of its pages and its
 * link, `model` is added by whoever started it.
 */
export type TelemetryEvent =
  | { readonly kind: 'request_admitted'; readonly model: string; readonly promptTokens: number; readonly pages: number }
  | { readonly kind: 'request_refused'; readonly model: string; readonly code: string }
  | {
      readonly kind: 'request_finished'
      readonly model: string
      readonly reason: string
      readonly outputTokens: number
    }
  /** `at`: of a fault of ours, the place in our sources. */
  | { readonly kind: 'request_failed'; readonly model: string; readonly code: string; readonly at?: string | null }
  | { readonly kind: 'request_aborted'; readonly model: string }
  | {
      readonly kind: 'integrity_fault'
      readonly role: Role
      readonly rule: string
      readonly fault: string
      readonly page: number
      readonly owner: number
      readonly requestId: string
      readonly model?: string
    }
  /** `count`: how many of them this tells of; 1 unless it says so. */
  | { readonly kind: 'transfer_violation'; readonly reason: string; readonly count?: number; readonly model?: string }
  | {
      readonly kind: 'page_quarantined'
      readonly role: Role
      readonly page: number
      readonly owner: number
      readonly reason: string
      readonly model?: string
    }
  | { readonly kind: 'page_returned'; readonly role: Role; readonly page: number; readonly model?: string }
  /** Transport `shared`: pages of an ended request are quarantined, since prefill may still store into them (R6). */
  | { readonly kind: 'lease_fenced'; readonly lease: number; readonly pages: number; readonly model?: string }
  /** Those pages come home: the writer said that it is done with them, or is known ended. */
  | {
      readonly kind: 'lease_released'
      readonly lease: number
      readonly pages: number
      readonly by: 'acknowledged' | 'writer_ended'
      readonly model?: string
    }
  | { readonly kind: 'worker_up'; readonly role: Role; readonly model: string; readonly epoch: number }
  | {
      readonly kind: 'worker_down'
      readonly role: Role
      readonly model: string
      readonly epoch: number
      readonly reason: string
    }
  /** A detector's drill found it in another state than before (R14). */
  | {
      readonly kind: 'detector'
      readonly model: string
      readonly role: Role
      readonly detector: string
      readonly rule: string
      readonly state: 'armed' | 'stale' | 'failed' | 'unknown'
    }
  | {
      readonly kind: 'step'
      readonly role: Role
      readonly model: string
      readonly sequences: number
      readonly rows: number
      readonly seconds: number
    }
  /** A prompt was looked up in the prefix cache; `cachedTokens` of it need no computing. */
  | {
      readonly kind: 'prefix_lookup'
      readonly model: string
      readonly promptTokens: number
      readonly cachedTokens: number
    }
  | { readonly kind: 'prefix_published'; readonly model: string; readonly pages: number }
  | {
      readonly kind: 'prefix_evicted'
      readonly model: string
      readonly pages: number
      readonly reason: 'pressure' | 'quota' | 'flush' | 'fault'
    }
  /** One answered HTTP request; `route` is the pattern, never the raw path. */
  | {
      readonly kind: 'http_request'
      readonly requestId: string
      readonly tenant: string | null
      readonly method: string
      readonly route: string
      readonly status: number
      readonly seconds: number
    }
  /** Something about a connection that no request of the gateway accounts for: refused before it, cut, left by its client. */
  | { readonly kind: 'connection'; readonly what: string; readonly code: string }
  /** From the request's arrival to its first verified token. */
  | { readonly kind: 'first_token'; readonly model: string; readonly seconds: number }
  /** Between two tokens of one sequence. */
  | { readonly kind: 'token_gap'; readonly model: string; readonly seconds: number }

export type Role = 'prefill' | 'decode'
