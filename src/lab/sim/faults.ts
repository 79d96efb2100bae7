import type { Oracle } from './oracle.ts'

/** How often things go wrong in one seed. Rates are per occasion: per frame, per pass, per request, or per step of a machine. */
export interface FaultProfile {
  /** Per step of any machine: some client goes away. */
  readonly disconnect: number
  /** Per request: it has stop strings, which the gateway finds in the text. */
  readonly stopString: number
  /** Per request: its tenant's rates hold it back. */
  readonly heldBack: number
  /** Per step of any machine. */
  readonly crashPrefill: number
  readonly crashDecode: number
  /** Takes its workers with it; whoever waited is cut off. */
  readonly crashGateway: number
  readonly cutChannel: number
  /** Something writes over a page's guard row. */
  readonly guardHit: number
  /** Per restart of a worker: its pool is smaller than before. */
  readonly shrunkenPool: number
  /** Per frame on the transfer channel. */
  readonly duplicateFrame: number
  readonly lateFrame: number
  readonly lostFrame: number
  readonly overtakingFrame: number
  readonly corruptFrame: number
  /** Per store into decode's memory: a part of it lands at once, the whole at its end. */
  readonly tornStore: number
  readonly shortFrame: number
  /** It names a page, layer or row that does not exist. */
  readonly wildFrame: number
  /** Per page: its layers change places. */
  readonly shiftedLayers: number
  readonly misroutedFrame: number
  readonly misnamedFrame: number
  /** Per manifest: it says something else than was sent. */
  readonly wrongManifest: number
  /** Per forward pass. */
  readonly swappedRows: number
  readonly corruptTable: number
  readonly skewedPlan: number
  /** Per request: both workers get another request's ids; prefill gets one token instead of the prompt. */
  readonly mixedUpIds: number
  readonly placeholder: number
  /** Per placing, send or copy: it takes long. */
  readonly slowCopy: number
  /** Per cached page that is taken up again: a bit of it is no longer what it was. */
  readonly rottenPage: number
  /** Per message between router and workers: it comes again, later; a worker's word is heard twice; it is held up. */
  readonly replayedMessage: number
  readonly echoedMessage: number
  readonly lateMessage: number
  /** Per message with a ticket: its ticket, or what it says, is not what was signed; or it is out of date. */
  readonly forgedTicket: number
  readonly expiredTicket: number
}

/** What a seed may draw at most for each rate. */
const HIGHEST: FaultProfile = {
  disconnect: 0.02,
  stopString: 0.5,
  heldBack: 0.2,
  crashPrefill: 0.002,
  crashDecode: 0.002,
  crashGateway: 0.001,
  cutChannel: 0.003,
  guardHit: 0.02,
  shrunkenPool: 0.7,
  duplicateFrame: 0.1,
  lateFrame: 0.1,
  lostFrame: 0.02,
  overtakingFrame: 0.05,
  corruptFrame: 0.02,
  tornStore: 0.5,
  shortFrame: 0.01,
  wildFrame: 0.01,
  shiftedLayers: 0.02,
  misroutedFrame: 0.02,
  misnamedFrame: 0.02,
  wrongManifest: 0.04,
  swappedRows: 0.03,
  corruptTable: 0.03,
  skewedPlan: 0.03,
  mixedUpIds: 0.05,
  placeholder: 0.05,
  slowCopy: 0.2,
  rottenPage: 0.1,
  replayedMessage: 0.03,
  echoedMessage: 0.02,
  lateMessage: 0.03,
  forgedTicket: 0.05,
  expiredTicket: 0.05,
}

export type FaultName = keyof FaultProfile
export const faultNames = Object.keys(HIGHEST) as readonly FaultName[]

/** What clients and gateways do all day; none of it may cost another request anything. */
export const benignFaults: readonly FaultName[] = [
  'disconnect',
  'stopString',
  'heldBack',
  'slowCopy',
  'duplicateFrame',
  'tornStore',
  'lateMessage',
]

/**
 * A seed's own mix: each kind of fault is left out of about half the seeds, so that faults are met alone as well as together
 * (swarm testing: Groce et al., ISSTA 2012), and one seed in eight is calm. `only`: no others are drawn.
 */
export const drawProfile = (oracle: Oracle, only: readonly FaultName[] = faultNames): FaultProfile => {
  const calm = oracle.choose('calm', 8) === 0
  const draw = (name: FaultName): number => {
    const level = oracle.choose(`rate of ${name}`, 6)
    const wanted = only.includes(name) && (!calm || benignFaults.includes(name))
    return wanted && level > 2 ? (HIGHEST[name] * (level - 2)) / 3 : 0
  }
  return Object.fromEntries(faultNames.map((name) => [name, draw(name)])) as unknown as FaultProfile
}

export const noFaults: FaultProfile = Object.fromEntries(faultNames.map((name) => [name, 0])) as unknown as FaultProfile
