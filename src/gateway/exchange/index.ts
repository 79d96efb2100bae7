export { type EndingRule, wholeLength } from './ending-rule.ts'
export { createExchange } from './exchange.ts'
export type {
  Ending,
  Exchange,
  ExchangeEffect,
  ExchangeEvent,
  ExchangeFailure,
  ExchangeOptions,
  ExchangeState,
  FinishReason,
  ReleasedToken,
  Usage,
} from './types.ts'
