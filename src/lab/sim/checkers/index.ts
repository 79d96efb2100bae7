import { boundPrompts } from './admission.ts'
import type { Checker } from './checker.ts'
import { conservation } from './conservation.ts'
import { endings } from './endings.ts'
import { pagesHome } from './home.ts'
import { nonInterference } from './interference.ts'
import { ownerUniqueness } from './owners.ts'
import { ownReads } from './reads.ts'
import { fencedReuse } from './reuse.ts'

export type { Checker, Life, SimCounts } from './checker.ts'

/** A fresh set for one seed. */
export const allCheckers = (layers: number): readonly Checker[] => [
  ownerUniqueness(),
  conservation(),
  fencedReuse(),
  ownReads(),
  boundPrompts(),
  endings(),
  pagesHome(),
  nonInterference(layers),
]
