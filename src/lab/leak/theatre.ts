import type { FeedPane, FeedSnapshot, FeedStep } from '../../dashboard/index.ts'
import type { FeedSource } from '../../gateway/index.ts'
import type { Timers } from '../../host/index.ts'
import type { StageHost, StageModel } from '../two-tenants.ts'
import { type Act, play } from './acts.ts'
import { type Cast, castTenants } from './scenario.ts'
import { openStage, type Pools, type StageKind } from './stage.ts'

export interface TheatreOptions {
  readonly model: StageModel
  readonly host: StageHost & { readonly timers: Timers }
  /** Milliseconds between two things that can be seen: a page crossing, a pass. */
  readonly beat: number
}

export interface Theatre extends FeedSource {
  /** Plays once, slowly. Resolves when the last act is over; what was shown stays. */
  playOnce(): Promise<void>
}

const SCENES = [
  'Tenant A is served',
  'The unguarded engine takes a prompt that is too long as one token',
  'Bulkhead refuses it before a page is reserved',
] as const

interface Side {
  readonly id: string
  readonly title: string
  readonly which: StageKind
}

const LEFT: Side = { id: 'unguarded', title: 'An unguarded engine', which: { kind: 'unguarded', only: [] } }
const RIGHT: Side = { id: 'bulkhead', title: 'Bulkhead', which: { kind: 'bulkhead' } }

/** The fault and its end, slowly, as a feed of the operator's page. */
export function createTheatre({ model, host, beat }: TheatreOptions): Theatre {
  const watchers = new Set<(json: string) => void>()
  const panes = new Map<string, FeedPane>([LEFT, RIGHT].map((side) => [side.id, emptyPane(side)]))
  let scene = 0
  let over = false
  const pause = (beats: number): Promise<void> =>
    new Promise((resolve) => void host.timers.after(beats * beat, resolve))
  const push = (): void => {
    const json = JSON.stringify(snapshot(scene, over, [...panes.values()], host.clock.wall()))
    for (const watcher of watchers) watcher(json)
  }
  const put = (side: Side, change: Partial<FeedPane>): void => {
    panes.set(side.id, { ...panes.get(side.id)!, ...change })
    push()
  }
  const perform = async (side: Side, cast: Cast, entrance: number): Promise<void> => {
    const marks = new PageMarks()
    const stage = await openStage(side.which, model, host, (moment) => pause(moment === 'page' ? 1 : 0.15))
    stage.observe((pools) => put(side, { pools: poolsShown(pools, marks) }))
    put(side, { status: { label: 'serving', tone: 'good' }, pools: poolsShown(stage.pools(), marks) })
    try {
      const act = await play(stage, cast, {
        beforeB: async () => {
          marks.handOver()
          scene = entrance
          push()
          await pause(4)
        },
        onSee: () => put(side, { pools: poolsShown(stage.pools(), marks) }),
      })
      put(side, { status: statusOf(act), outcome: outcomeOf(act, cast), pools: poolsShown(stage.pools(), marks) })
      await pause(4)
    } finally {
      await stage.close()
    }
  }
  return {
    subscribe(watcher) {
      watchers.add(watcher)
      watcher(JSON.stringify(snapshot(scene, over, [...panes.values()], host.clock.wall())))
      return () => void watchers.delete(watcher)
    },
    async playOnce() {
      const cast = castTenants((n) => host.random.uint32() % n)
      scene = 0
      over = false
      for (const side of [LEFT, RIGHT]) panes.set(side.id, emptyPane(side))
      push()
      await perform(LEFT, cast, 1)
      await perform(RIGHT, cast, 2)
      over = true
      push()
    },
  }
}

/** Who wrote each page last: a page of B's reservation that still holds A's rows is a stranger's. */
class PageMarks {
  readonly #writers: (' ' | 'A' | 'B')[] = []
  #guest: 'A' | 'B' = 'A'

  handOver(): void {
    this.#guest = 'B'
  }

  /** Cells with strangers' pages shown as such, and the last writer of each. */
  show(cells: string): { readonly cells: string; readonly marks: string } {
    const shown = [...cells].map((cell, page) => {
      if (cell === 'f' || cell === 's') this.#writers[page] = this.#guest
      const isStrangers = this.#guest === 'B' && cell === 'r' && this.#writers[page] === 'A'
      return isStrangers ? '!' : cell
    })
    return { cells: shown.join(''), marks: shown.map((_, page) => this.#writers[page] ?? ' ').join('') }
  }
}

function poolsShown(pools: Pools, marks: PageMarks): FeedPane['pools'] {
  return [
    { name: 'prefill', cells: pools.prefill.cells, marks: null },
    { name: 'decode', ...marks.show(pools.decode.cells) },
  ]
}

function emptyPane({ id, title }: Side): FeedPane {
  return {
    id,
    title,
    subtitle: null,
    status: { label: 'waiting', tone: 'idle' },
    figures: [],
    pools: [],
    outcome: null,
  }
}

function statusOf(act: Act): FeedPane['status'] {
  return act.harmed ? { label: 'leaked', tone: 'bad' } : { label: 'refused', tone: 'good' }
}

function outcomeOf(act: Act, cast: Cast): FeedPane['outcome'] {
  const heading = `HTTP ${act.status}${act.bound === null ? '' : `, bound: ${act.bound}`}`
  const highlight = act.harmed ? cast.a.code : null
  return {
    heading,
    text: act.harmed ? `Tenant B reads: ${act.text}` : act.text,
    highlight,
    tone: act.harmed ? 'bad' : 'good',
  }
}

function snapshot(scene: number, over: boolean, panes: readonly FeedPane[], at: number): FeedSnapshot {
  const steps = SCENES.map(
    (text, index): FeedStep => ({ text, state: over || index < scene ? 'done' : index === scene ? 'now' : 'later' }),
  )
  return {
    at,
    title: 'The fault of 2026, and its end',
    caption: over ? 'Over. In a moment it begins again, with new codes.' : (SCENES[scene] ?? null),
    steps,
    panes,
    events: [],
  }
}
