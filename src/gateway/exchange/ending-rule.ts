import type { Contract } from '../../admission/index.ts'
import type { FinishReason } from './types.ts'

/** R12: is this how a sequence of so many tokens under this contract can end? */
export type EndingRule = (reason: FinishReason, tokens: number, contract: Contract) => boolean

/** `length` is said of the whole length alone: an answer that was cut short is no success, whatever it is called. */
export const wholeLength: EndingRule = (reason, tokens, { maxOutput }) => reason !== 'length' || tokens === maxOutput
