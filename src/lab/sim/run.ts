import { type Fences, fullFences, type PrefixCacheOptions, type Transport } from '../../cluster/index.ts'
import { type CheckerName, checkersFor } from './checkers/index.ts'
import { Clients } from './clients.ts'
import { SimCluster } from './cluster.ts'
import { SimContext, type SimFailure, type SimSettings } from './context.ts'
import { Coverage, type CoverageReport } from './coverage.ts'
import { drawProfile, type FaultName, noFaults } from './faults.ts'
import { Digest } from './hash.ts'
import { type Oracle, seededOracle } from './oracle.ts'
import { World } from './world.ts'

export interface SimOptions {
  /** The rules in force; all of them by default. */
  readonly fences?: Fences
  /** Only these faults are drawn; all by default. */
  readonly faults?: readonly FaultName[]
  /** Only these checkers watch; all by default. */
  readonly checkers?: readonly CheckerName[]
  /** A seed goes on until so many requests have arrived and so many events have happened; 20 and 300 by default. */
  readonly least?: { readonly requests: number; readonly events: number }
  /** How pages reach decode; drawn for each seed by default. */
  readonly transport?: Transport
  /** Counts what was seen; its own for each call by default. */
  readonly coverage?: Coverage
}

export interface SeedResult {
  readonly seed: number
  readonly requests: number
  /** Said to a replay that knows no least number of events, it makes exactly as many requests arrive. */
  readonly leastRequests: number
  readonly events: number
  /** Over every event and every effect of the seed. */
  readonly digest: string
  readonly failure: SimFailure | null
}

export interface SeedsReport {
  readonly from: number
  readonly seeds: number
  readonly events: number
  /** Of the seed that had fewest. */
  readonly fewestEvents: number
  /** Over the digests of all seeds; the same on every run and every machine. */
  readonly digest: string
  readonly failures: readonly {
    readonly seed: number
    readonly checker: string
    readonly message: string
    /** A command that shows it again. */
    readonly replay: string
  }[]
  readonly coverage: CoverageReport
}

/** At least so many of both in every seed. */
const LEAST = { requests: 20, events: 300 }
/** No seed comes near it; one that does is caught in a circle. */
const MOST_EVENTS = 100_000

/** Runs one seed to its end: everything asked, faults stopped, and the cluster run until nothing is left to happen. */
export const runSeed = (seed: number, options: SimOptions = {}): SeedResult =>
  runOracle(seededOracle(seed), seed, options)

/** As `runSeed`, with every decision made by this oracle; `seed` is but the name of the result. */
export const runOracle = (oracle: Oracle, seed: number, options: SimOptions = {}): SeedResult => {
  const least = options.least ?? LEAST
  const settings = drawSettings(oracle, least.requests, options.transport)
  const faults = drawProfile(oracle, options.faults)
  const context = new SimContext({
    world: new World(),
    oracle,
    settings,
    fences: options.fences ?? fullFences(),
    digest: new Digest(),
    coverage: options.coverage ?? new Coverage(),
    checkers: checkersFor(
      { layers: settings.layers, faults, publicPrefixes: settings.prefixCache?.publicPrefixes ?? [] },
      options.checkers,
    ),
    faults,
  })
  let cluster: SimCluster | null = null
  const theCluster = (): SimCluster => cluster!
  const clients = new Clients(context, theCluster)
  cluster = new SimCluster(context, {
    deliver: (requestId, event) => clients.deliver(requestId, event),
    gatewayGone: () => clients.reset(),
  })
  let moreToCome = true
  const arrive = (): void => {
    clients.arrive()
    moreToCome = clients.made < settings.requests || context.events < least.events
    if (moreToCome) context.world.after(context.delay('arrival', 12), arrive)
  }
  context.world.after(0, arrive)

  let lastEvents = 0
  while (context.failure === null && context.world.tick()) {
    // Once all requests are in, faults go on for the running ones and stop when few are left: then all must end well.
    if (!moreToCome && clients.live <= 2) context.faults = noFaults
    if (context.events > lastEvents) strike(context, theCluster(), clients)
    lastEvents = context.events
    if (context.events > MOST_EVENTS) context.fail('endings', 'the cluster never comes to rest')
  }
  if (context.failure === null) theCluster().flushPrefixes()
  context.check('end', (checker) => checker.end(theCluster().living()))
  return {
    seed,
    requests: clients.made,
    leastRequests: clients.made + (moreToCome ? 1 : 0) - (settings.requests - least.requests),
    events: context.events,
    digest: context.digest.hex(),
    failure: context.failure,
  }
}

/**
 * Runs seeds `from … from + seeds - 1`. Nothing in the report comes from a clock. `after` is the digest of the seeds before
 * these: the report's digest is then the one that all of them have in one run.
 */
export const runSeeds = (
  range: { readonly from: number; readonly seeds: number; readonly after?: string },
  options: SimOptions = {},
  onSeed: (result: SeedResult) => void = () => {},
): SeedsReport => {
  const { from, seeds, after } = range
  const digest = after === undefined ? new Digest() : Digest.after(after)
  const coverage = options.coverage ?? new Coverage()
  const failures: SeedsReport['failures'][number][] = []
  let events = 0
  let fewestEvents = Number.MAX_SAFE_INTEGER
  for (let seed = from; seed < from + seeds; seed++) {
    const result = runSeed(seed, { ...options, coverage })
    events += result.events
    fewestEvents = Math.min(fewestEvents, result.events)
    digest.add(result.digest)
    if (result.failure !== null) {
      const { checker, message } = result.failure
      failures.push({ seed, checker, message, replay: `bulkhead lab sim --seed ${seed}` })
    }
    onSeed(result)
  }
  return { from, seeds, events, fewestEvents, digest: digest.hex(), failures, coverage: coverage.report() }
}

/** Pools are tiny, so that pages change hands all the time; every shape that admission lets through must do. */
const drawSettings = (oracle: Oracle, leastRequests: number, transport?: Transport): SimSettings => {
  const drawn = oracle.choose('transport', 5) < 3 ? 'socket' : 'shared'
  const pageSize = 2 + oracle.choose('page size', 4)
  const prefillPages = 4 + oracle.choose('prefill pages', 12)
  return {
    transport: transport ?? drawn,
    layers: oracle.choose('layers', 3) === 2 ? 2 : 1,
    pageSize,
    prefillPages,
    decodePages: 6 + oracle.choose('decode pages', 24),
    chunkRows: 2 + oracle.choose('chunk rows', 14),
    maxBatch: 1 + oracle.choose('max batch', 8),
    sweepEvery: oracle.choose('sweep', 3),
    window: 24 + oracle.choose('window', 16),
    queuePlaces: 3 + oracle.choose('queue places', 30),
    queueTimeoutMs: 50 + oracle.choose('queue timeout', 2000),
    requests: leastRequests + oracle.choose('requests', 3),
    prefixCache: drawPrefixCache(oracle),
  }
}

/** In one seed of four there is none; in some, one beginning is everybody's, or a tenant's quota is a few pages. */
const drawPrefixCache = (oracle: Oracle): PrefixCacheOptions | null => {
  if (oracle.choose('prefix cache', 4) === 3) return null
  const isPublic = oracle.choose('public prefix', 3) === 2
  const quota = oracle.choose('cache quota', 6) * 64
  return {
    publicPrefixes: isPublic ? [new Int32Array(2 + oracle.choose('public tokens', 12))] : [],
    quotaBytes: new Map(quota === 0 ? [] : [['a', quota]]),
  }
}

/** What may go wrong between any two events. */
const strike = (context: SimContext, cluster: SimCluster, clients: Clients): void => {
  if (context.strikes('disconnect')) clients.disconnectOne()
  if (context.strikes('crashPrefill')) cluster.crash('prefill')
  if (context.strikes('crashDecode')) cluster.crash('decode')
  if (context.strikes('crashGateway')) cluster.crashGateway()
  // Within one process there is nothing to cut.
  if (context.settings.transport === 'socket' && context.strikes('cutChannel')) cluster.cutChannel()
  if (context.strikes('guardHit')) cluster.spoilGuard()
}
