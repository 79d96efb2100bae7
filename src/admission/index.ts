export { AdmissionError, type AdmissionErrorCode } from './errors.ts'
export { DEFAULT_MAX_TOKENS, decodePages, judge } from './judge.ts'
export { completionWindow, effectiveWindow } from './limits.ts'
export { type OnShortPool, type PoolVerdict, poolVerdict, type ShortPool } from './pool-verdict.ts'
export { refusalMessage } from './refusal-message.ts'
export { checkTicket, constantTimeEqual, issueTicket, type TicketFacts, tokenDigest } from './ticket.ts'
export { TicketBook } from './ticket-book.ts'
export type {
  Bound,
  Contract,
  Demand,
  ModelLimits,
  Ticket,
  TicketCheck,
  TicketClaims,
  TicketCrypto,
  TicketFault,
  TicketLeg,
  Verdict,
} from './types.ts'
