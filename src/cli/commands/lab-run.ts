import { nodeClock, nodeDigests, nodeRandom, nodeTimers } from '../../host/node/index.ts'
import {
  type Fault,
  type FaultReport,
  faultIsAsClaimed,
  faults,
  openWorkshop,
  parseGuards,
  type Rule,
  renderFault,
  renderReport,
  renderSet,
  renderSummary,
  reportHead,
  rules,
  runFault,
  runWith,
  type SetReport,
  setHead,
  setIsAsClaimed,
  type Workshop,
} from '../../lab/index.ts'
import { type Command, type CommandInput, type ExitCode, UsageError } from '../command.ts'
import { recallModel } from '../recall-model.ts'

export const labRun: Command = {
  name: 'lab run',
  summary: 'play a fault on an engine without guards, on Bulkhead, and with each rule alone',
  operands: '[FAULT]',
  options: {
    all: { type: 'boolean', help: 'every fault of the catalogue' },
    guards: { type: 'string', value: 'SET', help: 'only with this set: none, all, or rules such as R4,R8' },
    json: { type: 'boolean', help: 'the reports as JSON, an array' },
  },
  examples: [
    'bulkhead lab run rejected-placeholder',
    'bulkhead lab run --all',
    'bulkhead lab run double-free --guards R7',
    'bulkhead lab run --all --guards none --json',
  ],
  run: async (input) => {
    const wanted = faultsOf(input)
    const set = guardsOf(input)
    if (wanted.length > 1) input.err(`bulkhead: ${wanted.length} faults on engines with real kernels \u2026\n`)
    const host = { clock: nodeClock, random: nodeRandom, sha256: nodeDigests.sha256, timers: nodeTimers }
    const workshop = await openWorkshop(await recallModel(), host)
    try {
      return set === null ? await wholeRun(input, wanted, workshop) : await runOfSet(input, wanted, workshop, set)
    } finally {
      await workshop.close()
    }
  },
}

/** Every fault unguarded, with everything, and with each of its rules alone. */
async function wholeRun(input: CommandInput, wanted: readonly Fault[], workshop: Workshop): Promise<ExitCode> {
  const started = nodeClock.now()
  const say = input.flags.json === true ? () => undefined : input.out
  const reports: FaultReport[] = []
  if (wanted.length > 1) say(reportHead())
  for (const fault of wanted) {
    const report = await runFault(fault, workshop)
    reports.push(report)
    say(wanted.length > 1 ? renderReport(report) : renderFault(report))
  }
  if (wanted.length > 1) say(`\n${renderSummary(reports, (nodeClock.now() - started) / 1_000)}`)
  if (input.flags.json === true) input.out(`${JSON.stringify(reports)}\n`)
  return reports.every(faultIsAsClaimed) ? 0 : 1
}

async function runOfSet(
  input: CommandInput,
  wanted: readonly Fault[],
  workshop: Workshop,
  set: 'all' | readonly Rule[],
): Promise<ExitCode> {
  const reports: SetReport[] = []
  if (input.flags.json !== true) input.out(setHead())
  for (const fault of wanted) {
    const report = await runWith(fault, workshop, set)
    reports.push(report)
    if (input.flags.json !== true) input.out(renderSet(report))
  }
  if (input.flags.json === true) input.out(`${JSON.stringify(reports)}\n`)
  return reports.every(setIsAsClaimed) ? 0 : 1
}

function faultsOf(input: CommandInput): readonly Fault[] {
  const [name, ...more] = input.operands
  if ((name === undefined) === (input.flags.all !== true) || more.length > 0) {
    throw new UsageError('lab run takes one fault, or --all for every one; "bulkhead lab list" names them')
  }
  if (name === undefined) return faults
  const found = faults.filter((fault) => fault.name === name)
  if (found.length > 0) return found
  throw new UsageError(`no fault ${JSON.stringify(name)}; "bulkhead lab list" names them`)
}

function guardsOf(input: CommandInput): 'all' | readonly Rule[] | null {
  const { guards } = input.flags
  if (typeof guards !== 'string') return null
  const set = parseGuards(guards)
  if (set !== null) return set
  throw new UsageError(
    `--guards: expected none, all, or some of ${rules.join(' ')}, received ${JSON.stringify(guards)}`,
  )
}
