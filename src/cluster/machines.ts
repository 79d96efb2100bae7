import type { LedgerFault, PoolCounts } from '../kv/index.ts'
import type { DecodeEffect, PrefillEffect, RouterEffect } from './effects.ts'
import type { DecodeEvent, PrefillEvent, RouterEvent } from './events.ts'
import type { PoolUse } from './port.ts'

/** A state machine without I/O: events in, effects out, nothing else. `step` never throws on input. */
export interface Machine<Event, Effect> {
  step(event: Event): Effect[]
}

interface WithPool {
  /** Counts and cells, for the operator's page; O(pages). */
  poolUse(): PoolUse
  poolCounts(): PoolCounts
  /** R7 in full, O(pages); null when every page is accounted for. */
  audit(): LedgerFault | null
}

/** `new PrefillMachine(options: PrefillOptions)` */
export interface Prefiller extends Machine<PrefillEvent, PrefillEffect>, WithPool {}

/** `new DecodeMachine(options: DecodeOptions)` */
export interface Decoder extends Machine<DecodeEvent, DecodeEffect>, WithPool {}

/** `new RouterMachine(options: RouterOptions)`: one per served model. */
export interface Router extends Machine<RouterEvent, RouterEffect> {
  /** Requests waiting in the queue and requests on the workers; for metrics and `ServedModel`. */
  load(): { readonly waiting: number; readonly running: number }
}
