import { runSeeds } from '../../lab/index.ts'
import { type Command, noOperands, UsageError, wholeFlag } from '../command.ts'

const MOST = 2 ** 32 - 1

export const labSim: Command = {
  name: 'lab sim',
  summary: 'drive router, prefill and decode through random faults and check every answer',
  options: {
    seeds: { type: 'string', value: 'N', help: 'how many seeds; default 200' },
    from: { type: 'string', value: 'S', help: 'first seed; default 0' },
    seed: { type: 'string', value: 'S', help: 'this seed alone' },
    json: { type: 'boolean', help: 'the report as JSON' },
  },
  examples: [
    'bulkhead lab sim --seeds 1000',
    'bulkhead lab sim --seed 17',
    'bulkhead lab sim --seeds 200 --from 5000 --json',
  ],
  run: async (input) => {
    noOperands(labSim, input)
    const single = input.flags.seed !== undefined
    if (single && (input.flags.seeds !== undefined || input.flags.from !== undefined)) {
      throw new UsageError('--seed names one seed; it does not go with --seeds or --from')
    }
    const from = wholeFlag(input, single ? 'seed' : 'from', { min: 0, max: MOST, absent: 0 })
    const seeds = single ? 1 : wholeFlag(input, 'seeds', { min: 1, max: MOST, absent: 200 })
    const report = runSeeds({ from, seeds })
    if (input.flags.json === true) input.out(`${JSON.stringify(report)}\n`)
    else {
      input.out(
        `${report.seeds} seeds from ${report.from}: ${report.events} events, ${report.failures.length} failures, digest ${report.digest}\n`,
      )
      for (const failure of report.failures) input.out(`  seed ${failure.seed} ${failure.checker}: ${failure.replay}\n`)
    }
    return report.failures.length === 0 ? 0 : 1
  },
}
