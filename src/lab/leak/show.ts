import type { StageHost, StageModel } from '../two-tenants.ts'
import { type LeakReport, play, SINGLE_RULES } from './acts.ts'
import { castTenants } from './scenario.ts'
import { openStage, type StageKind } from './stage.ts'

/** Plays the fault on the unguarded engine, on Bulkhead, and on the unguarded engine with one rule at a time. */
export async function showLeak(model: StageModel, host: StageHost): Promise<LeakReport> {
  const started = host.clock.now()
  const cast = castTenants((n) => host.random.uint32() % n)
  const on = async (which: StageKind) => {
    const stage = await openStage(which, model, host)
    try {
      return await play(stage, cast)
    } finally {
      await stage.close()
    }
  }
  const unguarded = await on({ kind: 'unguarded', only: [] })
  const bulkhead = await on({ kind: 'bulkhead' })
  const single = []
  for (const rule of SINGLE_RULES) single.push({ rule, ...(await on({ kind: 'unguarded', only: [rule] })) })
  return { cast, unguarded, bulkhead, single, seconds: (host.clock.now() - started) / 1000 }
}
