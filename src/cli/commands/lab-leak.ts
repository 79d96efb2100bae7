import { loadPage } from '../../dashboard/index.ts'
import { createPageHandler } from '../../gateway/index.ts'
import { nodeClock, nodeDigests, nodeRandom, nodeTimers } from '../../host/node/index.ts'
import { createTheatre, isAsClaimed, renderLeak, type StageModel, showLeak, type Theatre } from '../../lab/index.ts'
import { listen } from '../../runtime/index.ts'
import { type Command, type CommandInput, noOperands, UsageError, wholeFlag } from '../command.ts'
import { recallModel } from '../recall-model.ts'
import { readPageModule } from '../serve/page.ts'
import { makeKey } from '../serve/state.ts'
import { untilSignal } from '../signals.ts'

const NARROW = 80
const WIDE = 120

export const labLeak: Command = {
  name: 'lab leak',
  summary: 'show the fault of 2026 on an unguarded engine, and its end on Bulkhead',
  options: {
    json: { type: 'boolean', help: 'the report as JSON' },
    page: {
      type: 'boolean',
      help: 'play it slowly on the operator\u2019s page and print its address; ends with Ctrl-C',
    },
    port: { type: 'string', value: 'PORT', help: 'with --page: port to listen on; default 0, a free one' },
  },
  examples: ['bulkhead lab leak', 'bulkhead lab leak --json', 'npm run leak', 'npm run leak -- --page'],
  run: async (input) => {
    noOperands(labLeak, input)
    const model = await recallModel()
    if (input.flags.port !== undefined && input.flags.page !== true) throw new UsageError('--port goes with --page')
    if (input.flags.page === true) {
      return playOnPage(input, model, wholeFlag(input, 'port', { min: 0, max: 65_535, absent: 0 }))
    }
    const host = { clock: nodeClock, random: nodeRandom, sha256: nodeDigests.sha256 }
    input.err('bulkhead: five engines play the same request …\n')
    const report = await showLeak(model, host)
    input.out(input.flags.json === true ? `${JSON.stringify(report)}\n` : renderLeak(report, lookOf(input)))
    return isAsClaimed(report) ? 0 : 1
  },
}

/** Slow enough to follow with the eye. */
const BEAT_MS = 350
const INTERMISSION_MS = 12_000

async function playOnPage(input: CommandInput, model: StageModel, port: number): Promise<never> {
  const host = { clock: nodeClock, random: nodeRandom, sha256: nodeDigests.sha256, timers: nodeTimers }
  const theatre = createTheatre({ model, host, beat: BEAT_MS })
  const key = makeKey('page', nodeRandom)
  const server = await listen({
    host: '127.0.0.1',
    port,
    handler: createPageHandler({
      adminKeys: [nodeDigests.sha256(new TextEncoder().encode(key))],
      sha256: nodeDigests.sha256,
      page: await loadPage(readPageModule),
      feed: theatre,
    }),
  })
  input.out(`page: ${server.url}/#key=${key}\n`)
  input.err('bulkhead: plays again and again; Ctrl-C ends it\n')
  await Promise.race([untilSignal(), playForever(theatre)])
  await server.stop(0)
  // a play that is under way holds nothing that needs an orderly end
  process.exit(0)
}

async function playForever(theatre: Theatre): Promise<never> {
  for (;;) {
    await theatre.playOnce()
    await new Promise((resolve) => setTimeout(resolve, INTERMISSION_MS))
  }
}

/** https://no-color.org and FORCE_COLOR; without either, colour where a person reads. */
function lookOf(input: CommandInput): { readonly colour: boolean; readonly width: number } {
  const { NO_COLOR, FORCE_COLOR } = input.env
  const colour =
    FORCE_COLOR !== undefined ? FORCE_COLOR !== '0' : (NO_COLOR ?? '') === '' && process.stdout.isTTY === true
  return { colour, width: process.stdout.columns ?? (process.stdout.isTTY === true ? NARROW : WIDE) }
}
