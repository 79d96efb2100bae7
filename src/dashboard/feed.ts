/**
 * What the operator's page shows, as one value. Each message of the feed is a whole snapshot, so a page that missed some is right
 * again with the next. Anyone may feed the page: `serve` does, and so does the leak demonstration.
 */
export interface FeedSnapshot {
  /** Milliseconds since 1970. */
  readonly at: number
  /** The feed promises news at least this often, in milliseconds, and the page says when they fail to come; absent: no promise. */
  readonly beat?: number
  readonly title: string
  /** What is happening now, in a sentence; null when nothing needs telling. */
  readonly caption: string | null
  /** The acts of a demonstration, in order; empty in normal service. */
  readonly steps: readonly FeedStep[]
  /** One per model, or one per engine of a comparison, from left to right. */
  readonly panes: readonly FeedPane[]
  /** Newest first. */
  readonly events: readonly FeedEvent[]
}

export type FeedTone = 'good' | 'warn' | 'bad' | 'idle'

export interface FeedStep {
  readonly text: string
  readonly state: 'done' | 'now' | 'later'
}

export interface FeedPane {
  /** Unique in the snapshot, the same from one to the next. */
  readonly id: string
  readonly title: string
  readonly subtitle: string | null
  readonly status: { readonly label: string; readonly tone: FeedTone }
  readonly figures: readonly { readonly label: string; readonly value: string }[]
  readonly pools: readonly FeedPool[]
  readonly outcome: FeedOutcome | null
}

export interface FeedPool {
  readonly name: string
  /** One character a page, in page order, of `cellStates`. */
  readonly cells: string
  /** One character a page to write into its cell (a tenant's letter), a space for none; null for no marks at all. */
  readonly marks: string | null
}

/** How a request ended, for demonstrations. */
export interface FeedOutcome {
  readonly heading: string
  readonly text: string
  /** The part of `text` to point at: the stranger's words. */
  readonly highlight: string | null
  readonly tone: FeedTone
}

export interface FeedEvent {
  readonly at: number
  readonly tone: FeedTone
  readonly text: string
}

/** The states of a page as the feed spells them; `!` exists only on an unguarded engine. */
export const cellStates = {
  '.': 'free',
  r: 'reserved',
  f: 'filling',
  s: 'sealed',
  d: 'draining',
  q: 'quarantined',
  '!': "a stranger's",
} as const

export type CellCode = keyof typeof cellStates
