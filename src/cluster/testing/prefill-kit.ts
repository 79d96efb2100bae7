import type { PrefillEffect } from '../effects.ts'
import type { PrefillEvent } from '../events.ts'
import type { PrefillToRouter } from '../messages.ts'
import { type PrefillOptions, type PrefixCacheOptions, privatePrefixes } from '../options.ts'
import { PrefillMachine } from '../prefill/machine.ts'
import { type Asked, ofKind, prefillFor, prefillOptions, resultOf, said } from './kit.ts'

type Untimed<T> = T extends unknown ? Omit<T, 'now'> : never

/** What the world answers to what prefill asks of pages at rest; a test may say otherwise. */
export interface World {
  readonly verified?: (page: number) => boolean
  readonly guarded?: (page: number) => boolean
}

/** A prefill machine with a prefix cache, and a world that answers at once. */
export const cachingPrefill = (
  pages: number,
  changes: Partial<PrefillOptions> = {},
  prefixCache: PrefixCacheOptions | null = privatePrefixes,
) => {
  const cache = prefixCache === null ? {} : { prefixCache }
  const machine = new PrefillMachine(prefillOptions(pages, { chunkRows: 64, ...cache, ...changes }))
  const step = (event: Untimed<PrefillEvent>): PrefillEffect[] => machine.step({ ...event, now: 0 } as PrefillEvent)
  step({ kind: 'start' })
  step({ kind: 'link_up' })
  let leases = 0

  /** Answers effects until nothing is asked any more; `hold` keeps what it names from being answered. */
  const settle = (
    first: readonly PrefillEffect[],
    { verified = () => true, guarded = () => true }: World = {},
    hold: readonly PrefillEffect['kind'][] = [],
  ): PrefillEffect[] => {
    const all = [...first]
    for (let i = 0; i < all.length; i++) {
      const effect = all[i]!
      if (hold.includes(effect.kind)) continue
      if (effect.kind === 'forward')
        all.push(...step({ kind: 'forward_done', result: resultOf(effect.plan), seconds: 0.001 }))
      if (effect.kind === 'send_page') all.push(...step({ kind: 'page_sent', id: effect.id }))
      if (effect.kind === 'scrub') all.push(...step({ kind: 'scrubbed', id: effect.id }))
      if (effect.kind === 'verify_page')
        all.push(...step({ kind: 'page_verified', id: effect.id, ok: verified(effect.page) }))
      if (effect.kind === 'publish_page') {
        const seals = (effect.lineageKeys ?? []).map((key) => key.slice(0, 16))
        all.push(...step({ kind: 'page_published', id: effect.id, guarded: guarded(effect.page), seals }))
      }
    }
    return all
  }
  const ask = (requestId: string, asked: Asked = {}): PrefillEffect[] =>
    step({ kind: 'message', message: prefillFor(requestId, { id: ++leases, epoch: 9 }, asked) })
  /** A whole prompt, to its end. */
  const run = (requestId: string, asked: Asked = {}, world: World = {}): PrefillEffect[] =>
    settle(ask(requestId, asked), world)
  return { machine, step, settle, ask, run }
}

export const wordsOf = (effects: readonly PrefillEffect[]): PrefillToRouter[] => said<PrefillToRouter>(effects)

/** Rows that prefill did not compute, as it says. */
export const cachedOf = (effects: readonly PrefillEffect[]): number | undefined =>
  ofKind(wordsOf(effects), 'prefilled')[0]?.cachedTokens
