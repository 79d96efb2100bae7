import type { Checker } from './checker.ts'

/** R6, R7: the ledger refuses what a correct machine never asks for, whatever reached that machine; here it never has to. */
export const noRefusals = (): Checker => ({
  name: 'no_refusals',
  told: (life, event) =>
    event.kind === 'integrity_fault' && (event.rule === 'R6' || event.rule === 'R7')
      ? `the ledger of ${life.role} refused: ${event.fault} on page ${event.page} of ${event.requestId || 'nobody'}`
      : null,
})
