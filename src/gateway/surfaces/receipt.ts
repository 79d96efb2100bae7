import type { GatewayModel } from '../options.ts'

/**
 * What was compared before the first token of this answer could exist, and the outcome, which is always `ok`: anything else is an
 * error instead of an answer. On the own engine both legs check the ticket against the ids they hold (R3), and decode compares
 * pages, rows, layers and tags with the contract (R4, R5) and, unless switched off, every seal (R8).
 */
export const receipt = (model: GatewayModel, promptTokens: number): string =>
  `prompt_tokens=${promptTokens}; ticket=ok; contract=ok; tags=ok; seals=${model.integrity === 'full' ? 'ok' : 'off'}`
