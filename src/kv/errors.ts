/** Why the ledger refused. Codes are stable, messages are not. */
export type LedgerFaultCode =
  /** The pool has fewer free pages than asked for. */
  | 'no_room'
  /** The handle's page has another owner or generation by now (R5). */
  | 'stale_handle'
  /** Rows asked for do not stand in the page (R5). */
  | 'unfilled'
  /** Rows would leave a gap, overwrite others, or leave the page (R5). */
  | 'write_order'
  /** The operation does not exist in the page's state. */
  | 'wrong_state'
  /** A holder was released that was never taken. */
  | 'not_held'
  /** The page may not be reused yet (R6). */
  | 'still_held'
  /** The counts no longer add up to the pool; the ledger grants nothing any more (R7). */
  | 'conservation'

export interface LedgerFault {
  readonly code: LedgerFaultCode
  readonly message: string
  readonly details: { readonly page: number | null; readonly owner: number | null }
}

export type LedgerResult<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly fault: LedgerFault }

export const ledgerFault = (
  code: LedgerFaultCode,
  message: string,
  page: number | null = null,
  owner: number | null = null,
): LedgerFault => ({ code, message, details: { page, owner } })
