import type { FaultProfile } from '../faults.ts'
import { boundPrompts } from './admission.ts'
import { clientAnswers } from './answers.ts'
import type { Checker } from './checker.ts'
import { publishedAfterCommit } from './commits.ts'
import { conservation } from './conservation.ts'
import { endings } from './endings.ts'
import { pagesHome } from './home.ts'
import { nonInterference } from './interference.ts'
import { ownerUniqueness } from './owners.ts'
import { ownReads } from './reads.ts'
import { noRefusals } from './refusals.ts'
import { fencedReuse } from './reuse.ts'
import { calmService } from './service.ts'
import { ownStores } from './stores.ts'

export type { Checker, Life, SimCounts } from './checker.ts'

interface Surroundings {
  readonly layers: number
  readonly faults: FaultProfile
  /** What any tenant may read of any other. */
  readonly publicPrefixes: readonly Int32Array[]
}

const checkers = {
  owner_uniqueness: ownerUniqueness,
  conservation,
  fenced_reuse: fencedReuse,
  no_refusals: noRefusals,
  own_stores: ownStores,
  own_reads: ({ publicPrefixes }: Surroundings) => ownReads(publicPrefixes),
  published_after_commit: publishedAfterCommit,
  bound_prompts: boundPrompts,
  endings,
  pages_home: pagesHome,
  non_interference: ({ layers }: Surroundings) => nonInterference(layers),
  client_answers: ({ layers }: Surroundings) => clientAnswers(layers),
  calm_service: ({ faults }: Surroundings) => calmService(faults),
} as const

export type CheckerName = keyof typeof checkers
export const checkerNames = Object.keys(checkers) as readonly CheckerName[]

/** A fresh set for one seed. */
export const checkersFor = (
  surroundings: Surroundings,
  names: readonly CheckerName[] = checkerNames,
): readonly Checker[] => names.map((name) => checkers[name](surroundings))
