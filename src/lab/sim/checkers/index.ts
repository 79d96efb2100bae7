import { boundPrompts } from './admission.ts'
import { clientAnswers } from './answers.ts'
import type { Checker } from './checker.ts'
import { conservation } from './conservation.ts'
import { endings } from './endings.ts'
import { pagesHome } from './home.ts'
import { nonInterference } from './interference.ts'
import { ownerUniqueness } from './owners.ts'
import { ownReads } from './reads.ts'
import { fencedReuse } from './reuse.ts'

export type { Checker, Life, SimCounts } from './checker.ts'

const checkers = {
  owner_uniqueness: ownerUniqueness,
  conservation,
  fenced_reuse: fencedReuse,
  own_reads: ownReads,
  bound_prompts: boundPrompts,
  endings,
  pages_home: pagesHome,
  non_interference: nonInterference,
  client_answers: clientAnswers,
} as const

export type CheckerName = keyof typeof checkers
export const checkerNames = Object.keys(checkers) as readonly CheckerName[]

/** A fresh set for one seed. */
export const checkersFor = (layers: number, names: readonly CheckerName[] = checkerNames): readonly Checker[] =>
  names.map((name) => checkers[name](layers))
