import { afterEach, describe, expect, test } from 'vitest'
import type { Fences } from '../../src/cluster/index.ts'
import type { PoolKernels } from '../../src/kernels/index.ts'
import type { EngineModel, LocalEngine, LocalEngineOptions } from '../../src/runtime/index.ts'
import type { TelemetryEvent } from '../../src/telemetry/index.ts'
import { allHome, ask, cluster, engineModel, type Outcome, promptOf, runtime, until } from './harness.ts'

let telemetry: TelemetryEvent[] = []
let local: LocalEngine | null = null
afterEach(async () => {
  await local?.close()
  local = null
  telemetry = []
})

const startLocal = async (
  model: Partial<EngineModel>,
  change: Partial<LocalEngineOptions> = {},
): Promise<LocalEngine> => {
  local = await runtime.startLocalEngine({
    model: await engineModel('tiny', { prefillPool: 1024, decodePool: 1024, ...model }),
    fences: cluster.fullFences(),
    telemetry: (event) => telemetry.push(event),
    ...change,
  })
  return local
}

describe('a page found wrong while several requests run', () => {
  const PROMPTS = [40, 50, 60]
  const OUTPUT = 60

  /** Spoils a page of the second request's once each has drawn a few tokens. */
  const withSpoiled = async (
    spoil: (kernels: PoolKernels, page: number) => void,
  ): Promise<{ readonly outcomes: readonly Outcome[]; readonly page: number; readonly owner: number }> => {
    let kernels: PoolKernels | null = null
    let moment: () => void = () => undefined
    const engine = await startLocal(
      {},
      {
        seams: {
          kernels: (role, user, given) => {
            if (role === 'decode' && user === 'worker') kernels = given
            return given
          },
        },
        pace: async (kind) => {
          if (kind === 'pass') moment()
        },
      },
    )
    const asked = PROMPTS.map((length, at) => ask(engine, promptOf(length, at), OUTPUT))
    const spoiled = { page: -1, owner: 0 }
    moment = () => {
      if (spoiled.page >= 0 || asked.some((one) => one.drawn() < 3)) return
      const owners = [...engine.models()[0]!.pools.decode.cells].map((_, page) => kernels!.tag(page).owner)
      // Owners are numbered as their requests come.
      spoiled.owner = [...new Set(owners.filter((owner) => owner > 0))].sort((a, b) => a - b)[1]!
      spoiled.page = owners.indexOf(spoiled.owner)
      spoil(kernels!, spoiled.page)
    }
    return { outcomes: await Promise.all(asked.map((one) => one.outcome)), ...spoiled }
  }

  const alone = async (): Promise<Outcome[]> => {
    const engine = await startLocal({})
    const outcomes = []
    for (const [at, length] of PROMPTS.entries()) outcomes.push(await ask(engine, promptOf(length, at), OUTPUT).outcome)
    await engine.close()
    local = null
    return outcomes
  }

  test.each<[string, string, (kernels: PoolKernels, page: number) => void]>([
    ['its tag', 'page_tag', (kernels, page) => claim(kernels, page, 77)],
    ['its guard rows', 'guard_row', (kernels, page) => claim(kernels, page, kernels.tag(page).owner, 9)],
    ['the count of its rows', 'unfilled_row', (kernels, page) => kernels.markFilled(page, 0, 1)],
    ['its numbers', 'not_finite', (kernels, page) => poison(kernels, page)],
  ])('%s: that request ends with kv_integrity, the others get what they get alone', async (_, fault, spoil) => {
    const references = await alone()
    const { outcomes, page, owner } = await withSpoiled(spoil)
    expect(outcomes.map(({ ending }) => ending.kind)).toEqual(['done', 'failed', 'done'])
    expect(outcomes[1]!.ending).toMatchObject({ code: 'kv_integrity' })
    for (const at of [0, 2]) expect(outcomes[at]!.tokens).toEqual(references[at]!.tokens)
    const drawn = outcomes[1]!.tokens[0]!
    expect(drawn).toEqual(references[1]!.tokens[0]!.slice(0, drawn.length))
    expect(telemetry).toContainEqual({
      kind: 'integrity_fault',
      role: 'decode',
      rule: 'R5',
      fault,
      page,
      owner,
      requestId: expect.any(String),
    })
    const quarantined = telemetry.filter(({ kind }) => kind === 'page_quarantined')
    expect(quarantined).toEqual([{ kind: 'page_quarantined', role: 'decode', page, owner, reason: fault }])
    await until(() => allHome(local!))
    expect(telemetry).toContainEqual({ kind: 'page_returned', role: 'decode', page })
  })

  const claim = (kernels: PoolKernels, page: number, owner: number, ordinal = 0): void => {
    const { generation } = kernels.tag(page)
    kernels.retag(Uint32Array.of(page), Uint32Array.of(owner), Uint32Array.of(generation), Uint32Array.of(ordinal))
  }

  const poison = (kernels: PoolKernels, page: number): void => {
    for (let layer = 0; layer < 4; layer++)
      kernels.writeRows(page, layer, 4, new Uint8Array(kernels.rowBytes(4)).fill(255))
  }
})

describe('a read that slips past every fence', () => {
  /** No rule of ours; only that a sum must be a number. */
  const noFences: Omit<Fences, 'key' | 'publish'> = {
    ticket: () => ({ admit: () => ({ kind: 'valid' }) }),
    contract: () => null,
    pages: { owner: () => true, filled: () => true, fencedFree: () => true, conserved: () => true },
    kernel: { tags: false, filled: false, guards: false },
    seals: { key: () => null, missing: () => null },
    identity: () => true,
  }

  /** The fault of 2026: prefill is given a placeholder of one token and sends its one page; decode reserved the prompt's. */
  const placeholder = async (scrub: 'tags' | 'zero' | 'poison'): Promise<Outcome> => {
    let replace = false
    const engine = await startLocal(
      { scrub },
      {
        fences: { ...cluster.fullFences(), ...noFences },
        rewrite: {
          toPrefill: (message) =>
            replace && message.kind === 'prefill' ? { ...message, ids: message.ids.subarray(0, 1) } : message,
        },
      },
    )
    const stranger = await ask(engine, promptOf(200, 3), 20).outcome
    expect(stranger.ending.kind).toBe('done')
    replace = true
    const outcome = await ask(engine, promptOf(200, 8), 20).outcome
    await until(() => allHome(engine))
    return outcome
  }

  test('is answered out of strangers\u2019 rows where freed pages are left as they are', async () => {
    const { ending, tokens } = await placeholder('tags')
    expect([ending.kind, tokens[0]!.length]).toEqual(['done', 20])
  })

  test('meets NaN where freed pages are poisoned, and the request fails without a token', async () => {
    const { ending, tokens } = await placeholder('poison')
    expect(ending).toMatchObject({ kind: 'failed', code: 'kv_integrity' })
    expect(tokens).toEqual([[]])
    expect(telemetry).toContainEqual(expect.objectContaining({ kind: 'integrity_fault', fault: 'not_finite' }))
  })
})
