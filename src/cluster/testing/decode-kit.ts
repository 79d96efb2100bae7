import { tokenDigest } from '../../admission/index.ts'
import { DecodeMachine } from '../decode/machine.ts'
import type { DecodeEffect } from '../effects.ts'
import type { DecodeEvent } from '../events.ts'
import type { DecodeToRouter, Lease, ManifestFrame, PageFrame } from '../messages.ts'
import type { DecodeOptions } from '../options.ts'
import { type Asked, crypto, decodeOptions, idsOf, LAYERS, ofKind, PAGE_SIZE, reserveFor, said } from './kit.ts'

type Untimed<T> = T extends unknown ? Omit<T, 'now'> : never

/** A decode machine that is up, and its step without the clock. */
export const started = (pages = 12, changes: Partial<DecodeOptions> = {}) => {
  const machine = new DecodeMachine(decodeOptions(pages, changes))
  const step = (event: Untimed<DecodeEvent>): DecodeEffect[] => machine.step({ ...event, now: 0 } as DecodeEvent)
  step({ kind: 'start' })
  step({ kind: 'link_up' })
  return { machine, step }
}
export type Step = ReturnType<typeof started>['step']
export const words = (effects: DecodeEffect[]): DecodeToRouter[] => said<DecodeToRouter>(effects)
export const kinds = (effects: DecodeEffect[]): string[] => words(effects).map((message) => message.kind)
export const planOf = (effects: DecodeEffect[]) => ofKind(effects, 'forward')[0]!.plan

export const reserve = (step: Step, requestId: string, asked: Asked = {}): Lease =>
  ofKind(words(step({ kind: 'message', message: reserveFor(requestId, asked) })), 'reserved')[0]!.lease

export const framesOf = (requestId: string, lease: Lease, ids: Int32Array): PageFrame[] =>
  Array.from({ length: Math.ceil(ids.length / PAGE_SIZE) * LAYERS }, (_, i) => {
    const ordinal = Math.floor(i / LAYERS)
    const rows = Math.min(PAGE_SIZE, ids.length - ordinal * PAGE_SIZE)
    return { kind: 'page', requestId, attempt: 1, lease, layer: i % LAYERS, ordinal, rows, seal: new Uint8Array(16) }
  })

export const manifestOf = (requestId: string, lease: Lease, ids: Int32Array): ManifestFrame => ({
  kind: 'manifest',
  requestId,
  attempt: 1,
  lease,
  pages: Math.ceil(ids.length / PAGE_SIZE),
  rows: ids.length,
  layers: LAYERS,
  tokenDigest: tokenDigest(ids, crypto),
})

export const place = (step: Step, frame: PageFrame): DecodeEffect[] => {
  const [effect] = ofKind(step({ kind: 'page_frame', frame }), 'place')
  return effect === undefined ? [] : step({ kind: 'placed', id: effect.id, outcome: 'ok' })
}

/** Delivers the whole prompt; returns what the manifest led to. */
export const fill = (step: Step, requestId: string, lease: Lease, ids = idsOf(6)): DecodeEffect[] => {
  for (const frame of framesOf(requestId, lease, ids)) place(step, frame)
  return step({ kind: 'manifest', frame: manifestOf(requestId, lease, ids) })
}
