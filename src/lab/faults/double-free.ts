import { type FreeList, stackOfPages } from '../../kv/index.ts'
import type { Fault } from './fault.ts'
import { expectOwn, readByB } from './play.ts'
import { tapChannel } from './seams.ts'

/**
 * The page that is on the list a second time, and how many are claimed before its second turn comes: it then is the last of
 * the prompt in both requests.
 */
const TWICE = 5
const BEFORE = 12

const AFTER_ALL_LAYERS = 2

/**
 * F050, F052, F054: a page is given back twice and stands on the free list twice. Two requests get it. Their pages arrive layer by
 * layer, and the one that comes second in each writes over the first one's.
 */
export const doubleFree: Fault = {
  name: 'double-free',
  class: 'C',
  harm: 'leak',
  reports: ['F050', 'F052', 'F054'],
  summary: 'a page stands on the free list twice, and two requests get it',
  rules: ['R5', 'R7'],
  bookkeeping: ['R6'],
  play: async (bench) => {
    const cast = bench.cast({ at: 7 })
    let together = false
    const parcels: { readonly order: number; readonly send: () => void }[] = []
    const sendAll = (): void => {
      together = false
      for (const { send } of parcels.splice(0).sort((one, other) => one.order - other.order)) send()
    }
    let lastWordOfA = (): void => undefined
    const rig = await bench.open({
      sabotage: ({ tenantOf }) => {
        const manifests = new Set<string>()
        // Layer by layer, and in each B's pages first, as if both prompts had been computed in one pass.
        const post = (frame: { readonly requestId: string }, layer: number, send: () => void): void => {
          if (together) parcels.push({ order: 2 * layer + (tenantOf(frame.requestId) === 'A' ? 1 : 0), send })
          else send()
        }
        return {
          freeList: (role, pages) => (role === 'decode' ? freeingTwice(pages) : stackOfPages(pages)),
          channel: tapChannel({
            page: (frame, rows, deliver) => post(frame, frame.layer, () => deliver(frame, rows)),
            manifest: (frame, deliver) => {
              // A begins when B is through.
              if (together && tenantOf(frame.requestId) === 'A') lastWordOfA = () => deliver(frame)
              else post(frame, AFTER_ALL_LAYERS, () => deliver(frame))
              if (together && manifests.add(frame.requestId).size === 2) sendAll()
            },
          }),
        }
      },
    })
    expectOwn(await rig.ask(cast.a, { maxTokens: 16 }), cast.a.code)
    await rig.quiet()
    together = true
    const reply = rig.ask(cast.b)
    const other = rig.ask(cast.a, { maxTokens: 24 })
    const outcome = readByB(rig, cast, await reply)
    lastWordOfA()
    await other
    return outcome
  },
}

/** A stack that, once everything has come back, has one page on it a second time. */
function freeingTwice(pages: number): FreeList {
  const stack = Array.from({ length: pages }, (_, i) => pages - 1 - i)
  let done = false
  return {
    get size() {
      return stack.length
    },
    pop: () => stack.pop(),
    push: (page) => {
      stack.push(page)
      if (done || stack.length < pages) return
      done = true
      stack.splice(stack.length - BEFORE, 0, TWICE)
    },
    list: () => Uint32Array.from(stack),
  }
}
