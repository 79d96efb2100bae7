import { type FreeList, stackOfPages } from '../../kv/index.ts'
import type { Fault } from './fault.ts'
import { answerOf, statusLine } from './play.ts'
import { gate } from './seams.ts'

/**
 * F025, F029: pages of aborted requests are struck off the books of the request but never reach the free list. Each abort
 * takes some room away, until nothing that is legal can be served, and nobody knows why.
 */
export const pagesLost: Fault = {
  name: 'abort-strands-pages',
  class: 'K',
  harm: 'stranded',
  reports: ['F025', 'F029'],
  summary: 'pages of aborted requests never come back to the free list',
  rules: ['R7'],
  bookkeeping: ['R6'],
  play: async (bench) => {
    const cast = bench.cast()
    let aborting = false
    const started = gate()
    const running = gate()
    const rig = await bench.open({
      sizes: { decode: 128 },
      sabotage: () => ({
        // The first step is under way when the client goes.
        beforePass: async (role) => {
          if (role !== 'decode') return
          started.open()
          await running.opened
        },
        freeList: (role, pages): FreeList => {
          const list = stackOfPages(pages)
          return {
            get size() {
              return list.size
            },
            pop: () => list.pop(),
            list: () => list.list(),
            push: (page) => {
              if (role === 'prefill' || !aborting) list.push(page)
            },
          }
        },
      }),
    })
    const first = rig.begin(cast.a, { maxTokens: 24 })
    await started.opened
    aborting = true
    first.abort()
    await first.reply
    running.open()
    await rig.quiet()
    aborting = false
    const { free, total } = rig.pool('decode')
    if (rig.events.some((event) => event.kind === 'integrity_fault' && event.rule === 'R7')) {
      // A worker ends when its books do not add up; its successor has a whole pool.
      return { ending: 'refused', outcome: 'the loss is reported at once', sample: '', caughtBy: 'R7' }
    }
    const reply = await rig.ask(cast.b)
    const served = reply.texts[0]?.includes(cast.b.code) === true
    return {
      ending: served ? 'own' : 'harmed',
      outcome: statusLine(reply, served ? 'own code' : 'no code'),
      sample: `after one abort ${free} of ${total} pages are left, and nobody holds the others; B is told ${answerOf(reply)}`,
      caughtBy: null,
    }
  },
}
