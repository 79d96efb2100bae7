export type { Bound, Contract, Demand, ModelLimits, Ticket, TicketCheck, TicketClaims, TicketCrypto, TicketLeg, Verdict } from './types.ts'
