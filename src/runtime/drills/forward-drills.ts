import type { PoolKernels } from '../../kernels/index.ts'
import type { DrillResult, ForwardPass, ForwardPlan, SequencePlan } from '../../model/index.ts'
import { type Detector, type DrillFinding, findingOf } from './detectors.ts'
import { madeUpRows } from './pages.ts'

export interface ForwardDrillOptions {
  /** The pass that serves requests, and the kernels it runs on. */
  readonly pass: ForwardPass
  readonly kernels: PoolKernels
  /** The first of three pages that are the drill's. */
  readonly firstPage: number
}

const OWNER = 1
/** Rows that stand in each page; the smallest page has four. */
const STANDING = 2
const HONEST = 'honest'

interface Planted {
  readonly detector: Detector
  readonly name: string
  readonly table: SequencePlan['table']
  readonly start: number
  readonly write: SequencePlan['write']
}

/**
 * One pass over made-up rows: an honest sequence, and beside it one for each thing that the attention kernel must refuse.
 * Costs a decode step of one sequence and the first layer of six more: whoever is refused leaves the batch there. `turn`
 * numbers the drills; it keeps what an earlier one left behind from passing for this one's.
 */
export const drillForward = async (
  { pass, kernels, firstPage }: ForwardDrillOptions,
  turn: number,
): Promise<readonly DrillFinding[]> => {
  const generation = turn + 1
  const [good, shifted, poisoned] = [firstPage, firstPage + 1, firstPage + 2]
  const claim = (page: number, ordinal: number, rows: (layer: number) => Uint8Array): void => {
    kernels.claim(Uint32Array.of(page), Uint32Array.of(OWNER), Uint32Array.of(generation), Uint32Array.of(ordinal))
    for (let layer = 0; layer < pass.shape.layers; layer++) {
      kernels.writeRows(page, layer, STANDING, rows(layer))
      kernels.markFilled(page, layer, STANDING)
    }
  }
  const bytes = kernels.rowBytes(STANDING)
  const notNumbers = new Uint8Array(bytes).fill(0xff)
  claim(good, 0, (layer) => madeUpRows(bytes, layer))
  claim(shifted, 1, (layer) => madeUpRows(bytes, layer))
  claim(poisoned, 0, () => notNumbers)

  const table = (page: number, owner = OWNER, held = generation): SequencePlan['table'] => ({
    pages: Uint32Array.of(page),
    owners: Uint32Array.of(owner),
    generations: Uint32Array.of(held),
  })
  const read = { start: STANDING - 1, write: 'recompute' } as const
  const planted: readonly Planted[] = [
    { detector: 'page_tag', name: "another owner's page", table: table(good, OWNER + 1), ...read },
    { detector: 'page_tag', name: 'an earlier generation', table: table(good, OWNER, generation - 1), ...read },
    { detector: 'guard_row', name: 'a page in another place', table: table(shifted), ...read },
    { detector: 'unfilled_row', name: 'a row never written', table: table(good), start: STANDING, write: 'recompute' },
    { detector: 'write_order', name: 'a row written twice', table: table(good), start: STANDING - 1, write: 'append' },
    { detector: 'not_finite', name: 'rows that are no numbers', table: table(poisoned), ...read },
  ]
  const plan: ForwardPlan = {
    id: -generation,
    sequences: [{ name: HONEST, table: table(good), ...read }, ...planted].map(
      ({ name, table: pages, start, write }) => ({
        requestId: name,
        attempt: 1,
        tokens: Int32Array.of(0),
        start,
        write,
        table: pages,
        sample: null,
      }),
    ),
  }
  const { results } = await pass.run(plan, () => undefined)
  kernels.retire(Uint32Array.of(good, shifted, poisoned), 'zero')
  const seen = new Map(results.map(({ requestId, fault }) => [requestId, fault?.kind ?? 'silent']))
  const honest = { name: 'an honest sequence', expected: 'silent', seen: seen.get(HONEST) ?? 'nothing' }
  return [...new Set(planted.map(({ detector }) => detector))].map((detector) =>
    findingOf(detector, [
      honest,
      ...planted
        .filter((one) => one.detector === detector)
        .map(({ name }) => ({ name, expected: detector, seen: seen.get(name) ?? 'nothing' })),
    ]),
  )
}

/** The arithmetic's own drill as a finding. */
export const invarianceFinding = (result: DrillResult): DrillFinding =>
  findingOf('batch_invariance', [
    {
      name: 'rows of a batch and the same rows in another',
      expected: 'the same bits',
      seen: result.kind === 'invariant' ? 'the same bits' : `others in stage ${result.stage} at ${result.batch} rows`,
    },
  ])
