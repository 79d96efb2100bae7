import type { Fault } from './fault.ts'
import { readByB, serveA } from './play.ts'

/**
 * F040, F042: a copy between pages is started and reported done, but nothing makes its reader wait for it. B asks for two
 * answers; the second reads its own copy of the prompt's last page before the copy is made.
 */
export const lateTailCopy: Fault = {
  name: 'copy-not-waited-for',
  class: 'B3',
  harm: 'leak',
  reports: ['F040', 'F042'],
  summary: 'the copy of a page is read before it is made',
  rules: ['R5'],
  play: async (bench) => {
    const cast = bench.cast({ at: 7 })
    let slow = false
    const rig = await bench.open({
      sabotage: () => ({
        kernels: (role, user, kernels) => {
          if (role === 'prefill' || user === 'pass') return kernels
          const started: (() => void)[] = []
          return {
            ...kernels,
            copyRows: (from, to, rows) => {
              const copy = (): void => kernels.copyRows(from, to, rows)
              if (slow) started.push(copy)
              else copy()
            },
            retire: (pages, scrub) => {
              for (const copy of started.splice(0)) copy()
              kernels.retire(pages, scrub)
            },
          }
        },
      }),
    })
    await serveA(rig, cast, { n: 2, maxTokens: 16 })
    slow = true
    return readByB(rig, cast, await rig.ask(cast.b, { n: 2 }))
  },
}
