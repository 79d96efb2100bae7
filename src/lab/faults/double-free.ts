import type { FreeList } from '../../kv/index.ts'
import type { Fault } from './fault.ts'
import { expectOwn, readByB } from './play.ts'
import { aTurn } from './rig.ts'
import { tapChannel } from './seams.ts'

/** Pages that are on the list a second time, and how many others are claimed before their second turn comes. */
const TWICE = [2, 3, 4]
const BEFORE = 9

/**
 * F050, F055: pages are given back twice and stand on the free list twice. Two requests get them, and the one that is served
 * second writes over the first one's.
 */
export const doubleFree: Fault = {
  name: 'double-free',
  class: 'C',
  harm: 'leak',
  reports: ['F050', 'F055', 'F056'],
  summary: 'pages stand on the free list twice, and two requests get them',
  rules: ['R5', 'R7'],
  bookkeeping: ['R6'],
  play: async (bench) => {
    const cast = bench.cast()
    let broken = false
    const rig = await bench.open({
      sabotage: ({ tenantOf }) => {
        const ofA: (() => void)[] = []
        let lastWordOfB: (() => void) | null = null
        return {
          freeList: (role, pages) =>
            role === 'decode' ? freeingTwice(pages, () => broken) : freeingTwice(pages, () => false),
          // B's pages arrive first, then A's, then B begins.
          channel: tapChannel({
            page: (frame, rows, deliver) => {
              if (broken && tenantOf(frame.requestId) === 'A') ofA.push(() => deliver(frame, rows))
              else deliver(frame, rows)
            },
            manifest: (frame, deliver) => {
              if (!broken) return deliver(frame)
              if (tenantOf(frame.requestId) === 'A') ofA.push(() => deliver(frame))
              else lastWordOfB = () => deliver(frame)
              if (lastWordOfB === null || ofA.length < 13) return
              for (const send of ofA.splice(0)) send()
              lastWordOfB()
            },
          }),
        }
      },
    })
    broken = true
    expectOwn(await rig.ask(cast.a, { maxTokens: 16 }), cast.a.code)
    for (let turn = 0; turn < 5; turn++) await aTurn()
    const reply = rig.ask(cast.b)
    const other = rig.ask(cast.a, { maxTokens: 24 })
    const outcome = readByB(rig, cast, await reply)
    await other
    return outcome
  },
}

/** A stack that, once everything has come back, has some pages on it a second time. */
function freeingTwice(pages: number, wrong: () => boolean): FreeList {
  const stack = Array.from({ length: pages }, (_, i) => pages - 1 - i)
  let done = false
  return {
    get size() {
      return stack.length
    },
    pop: () => stack.pop(),
    push: (page) => {
      stack.push(page)
      if (!wrong() || done || stack.length < pages) return
      done = true
      stack.splice(stack.length - BEFORE, 0, ...[...TWICE].reverse())
    },
    list: () => Uint32Array.from(stack),
  }
}
