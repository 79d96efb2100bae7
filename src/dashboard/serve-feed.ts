import type { EnginePort, PoolUse, ServedModel } from '../cluster/index.ts'
import type { FeedSource } from '../gateway/index.ts'
import type { Clock, Timers } from '../host/index.ts'
import type { TelemetryEvent } from '../telemetry/index.ts'
import { describeEvent } from './describe-event.ts'
import type { FeedEvent, FeedPane, FeedSnapshot } from './feed.ts'

export interface ServeFeedOptions {
  readonly engine: Pick<EnginePort, 'models'>
  readonly clock: Clock
  readonly timers: Timers
  /** What is known of each model besides its pools, in the order to show them. */
  readonly models: readonly {
    readonly id: string
    readonly effectiveWindow: number
    readonly advertisedWindow: number
    readonly integrity: 'full' | 'tags'
  }[]
}

export interface ServeFeed extends FeedSource {
  /** Takes in every telemetry event; keeps the few worth showing. */
  record(event: TelemetryEvent): void
}

const intervalMs = 500
const eventsKept = 50

/** The feed behind `serve`'s page: reads the pools twice a second while anyone looks, and costs nothing while nobody does. */
export const createServeFeed = (options: ServeFeedOptions): ServeFeed => {
  const { engine, clock, timers } = options
  const watchers = new Set<(json: string) => void>()
  const tokens = new Map<string, number>()
  let events: readonly FeedEvent[] = []
  let timer: { cancel(): void } | null = null
  let lastTick = clock.now()
  let rates: ReadonlyMap<string, number> = new Map()

  const snapshot = (): FeedSnapshot => {
    const served = new Map(engine.models().map((model) => [model.id, model]))
    return {
      at: clock.wall(),
      beat: intervalMs,
      title: 'Bulkhead',
      caption: null,
      steps: [],
      panes: options.models.map((model) => pane(model, served.get(model.id), rates.get(model.id) ?? 0)),
      events,
    }
  }

  const tick = (): void => {
    const now = clock.now()
    const seconds = Math.max(1, now - lastTick) / 1000
    rates = new Map([...tokens].map(([model, count]) => [model, count / seconds]))
    tokens.clear()
    lastTick = now
    const json = JSON.stringify(snapshot())
    for (const push of watchers) push(json)
    timer = timers.after(intervalMs, tick)
  }

  return {
    subscribe(push) {
      watchers.add(push)
      push(JSON.stringify(snapshot()))
      if (timer === null) {
        tokens.clear()
        lastTick = clock.now()
        timer = timers.after(intervalMs, tick)
      }
      return () => {
        watchers.delete(push)
        if (watchers.size > 0) return
        timer?.cancel()
        timer = null
      }
    },
    record(event): void {
      if (event.kind === 'first_token' || event.kind === 'token_gap') {
        if (watchers.size > 0) tokens.set(event.model, (tokens.get(event.model) ?? 0) + 1)
        return
      }
      const shown = describeEvent(event)
      if (shown) events = [{ at: clock.wall(), ...shown }, ...events].slice(0, eventsKept)
    },
  }
}

const pane = (
  model: ServeFeedOptions['models'][number],
  served: ServedModel | undefined,
  tokensPerSecond: number,
): FeedPane => ({
  id: model.id,
  title: model.id,
  subtitle: model.integrity === 'full' ? null : 'served without seals (integrity: tags)',
  status: served?.ready
    ? { label: 'ready', tone: isDegraded(model, served) ? 'warn' : 'good' }
    : { label: served?.reason ?? 'not started', tone: 'bad' },
  figures: [
    { label: 'running', value: String(served?.running ?? 0) },
    { label: 'waiting', value: String(served?.waiting ?? 0) },
    {
      label: 'tokens/s',
      value: tokensPerSecond < 10 ? tokensPerSecond.toFixed(1) : String(Math.round(tokensPerSecond)),
    },
    { label: 'window', value: windowText(model) },
  ],
  pools: served === undefined ? [] : [pool('prefill', served.pools.prefill), pool('decode', served.pools.decode)],
  outcome: null,
})

/** Serves, but a person should look: as `/ready` says in words. A detector that is not armed is never green (R14). */
const isDegraded = (
  { effectiveWindow, advertisedWindow }: ServeFeedOptions['models'][number],
  { detectors = [] }: ServedModel,
): boolean => effectiveWindow < advertisedWindow || detectors.some(({ state }) => state !== 'armed')

const windowText = ({ effectiveWindow, advertisedWindow }: ServeFeedOptions['models'][number]): string => {
  const shown = (tokens: number): string => tokens.toLocaleString('en')
  return effectiveWindow < advertisedWindow
    ? `${shown(effectiveWindow)} of ${shown(advertisedWindow)}`
    : shown(effectiveWindow)
}

const pool = (name: string, use: PoolUse): FeedPane['pools'][number] => ({ name, cells: use.cells, marks: null })
