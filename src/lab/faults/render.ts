import { faults } from './registry.ts'
import { type FaultReport, isAsClaimed, type SetReport } from './run.ts'

const NAME = Math.max(...faults.map(({ name }) => name.length)) + 2
const CLASS = 7
const HARM = 14
const RULES = 26
const OUTCOME = 40

const row = (...cells: readonly (readonly [string, number])[]): string =>
  `${cells.map(([text, width]) => text.padEnd(width)).join('')}`.trimEnd()

/** The catalogue, one fault a line. */
export function renderList(): string {
  const lines = faults.map((fault) =>
    row(
      [fault.name, NAME],
      [fault.class, CLASS],
      [fault.harm, HARM],
      [fault.rules.join(' '), RULES],
      [fault.summary, 0],
    ),
  )
  const head = row(
    ['fault', NAME],
    ['class', CLASS],
    ['harm', HARM],
    ['each of these stops it', RULES],
    ['what happens', 0],
  )
  return `${[head, ...lines].join('\n')}\n`
}

export const reportHead = (): string =>
  `${row(['fault', NAME], ['class', CLASS], ['unguarded', HARM], ['Bulkhead', OUTCOME], ['with this rule alone', 0])}\n`

/** One line of a whole run. */
export function renderReport(report: FaultReport): string {
  const { fault, harm, baseline, guarded, each } = report
  const alone = Object.entries(each).map(([rule, { harmed }]) => (harmed ? `${rule} FAILS` : rule))
  const by = guarded.caught_by === null ? '' : ` (${guarded.caught_by})`
  const cells = [
    [fault, NAME],
    [report.class, CLASS],
    [baseline.harmed ? harm : 'NO HARM', HARM],
    [guarded.harmed ? 'HARMED' : `${guarded.outcome}${by}`, OUTCOME],
    [alone.join(' '), 0],
  ] as const
  return `${row(...cells)}\n`
}

/** One fault in full. */
export function renderFault(report: FaultReport): string {
  const { baseline, guarded, each } = report
  const by = guarded.caught_by === null ? '' : `, caught by ${guarded.caught_by}`
  return [
    `${report.fault} (${report.class}, ${report.harm})`,
    `  unguarded   ${baseline.harmed ? '' : 'NO HARM: '}${baseline.sample}`,
    `  Bulkhead    ${guarded.harmed ? 'HARMED: ' : ''}${guarded.outcome}${by}`,
    ...Object.entries(each).map(
      ([rule, { harmed, outcome }]) => `  ${`${rule} alone`.padEnd(10)}  ${harmed ? 'DOES NOT HOLD: ' : ''}${outcome}`,
    ),
    '',
  ].join('\n')
}

export const setHead = (): string =>
  `${row(['fault', NAME], ['class', CLASS], ['harm', HARM], ['came of it', OUTCOME], ['what was seen', 0])}\n`

/** One line of a run with one set of guards. */
export function renderSet({ fault, class: of, harm, harmed, outcome, caught_by, sample }: SetReport): string {
  const by = caught_by === null ? '' : ` (${caught_by})`
  const came = harmed ? 'harmed' : `${outcome}${by}`
  return `${row([fault, NAME], [of, CLASS], [harm, HARM], [came, OUTCOME], [harmed ? sample : '', 0])}\n`
}

export function renderSummary(reports: readonly FaultReport[], seconds: number): string {
  const count = (wanted: (report: FaultReport) => boolean): number => reports.filter(wanted).length
  const twice = count(({ each }) => Object.values(each).filter(({ harmed }) => !harmed).length > 1)
  return [
    `${reports.length} faults in ${seconds.toFixed(1)} s: ${count(({ baseline }) => baseline.harmed)} do harm unguarded, ` +
      `${count(({ guarded }) => guarded.harmed)} with Bulkhead's guards; ${twice} are stopped by two rules or more, each alone.`,
    count((report) => !isAsClaimed(report)) === 0 ? '' : 'Not as claimed: see the words in capitals above.\n',
  ].join('\n')
}
