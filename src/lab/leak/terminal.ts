import type { Act, LeakReport } from './acts.ts'
import { PAGE_SIZE, PREFILL_POOL, WINDOW } from './scenario.ts'

export interface Look {
  readonly colour: boolean
  /** Columns of the terminal. */
  readonly width: number
}

type Paint = (text: string) => string
interface Palette {
  readonly bad: Paint
  readonly good: Paint
  readonly dim: Paint
  readonly strong: Paint
}

const SGR = { bad: 31, good: 32, dim: 90, strong: 1 } as const

/** The whole demonstration as text: two panes side by side (one under the other where there is no room), then one rule at a time. */
export function renderLeak(report: LeakReport, look: Look): string {
  const palette = paletteOf(look.colour)
  const { unguarded, bulkhead, cast, single } = report
  const left = pane('an unguarded engine', unguarded, cast.a.code, palette)
  const right = pane('Bulkhead', bulkhead, cast.a.code, palette)
  return [
    '',
    palette.strong('The fault of 2026, on this machine'),
    `Window ${WINDOW} tokens, decode holds ${WINDOW / PAGE_SIZE} pages, prefill ${PREFILL_POOL / PAGE_SIZE}. Tenant A stored ${palette.strong(cast.a.code)} under K7 and is served.`,
    `Tenant B stored ${palette.strong(cast.b.code)} under its own K7 and asks for it, with a prompt too long for prefill:`,
    '',
    ...sideBySide(left, right, look.width),
    '',
    'The same unguarded engine with one rule switched on:',
    ...single.map((act) => `  ${palette.strong(act.rule.padEnd(3))} ${singleLine(act, palette)}`),
    '',
    verdictLine(report, palette),
    '',
  ].join('\n')
}

function pane(title: string, act: Act, strangersCode: string, palette: Palette): readonly string[] {
  const paint = act.harmed ? palette.bad : palette.good
  const arrival =
    act.pagesReserved === 0 ? 'no page reserved' : `${act.pagesArrived} of ${act.pagesReserved} pages arrived`
  const answer = act.harmed ? `B reads: ${act.text.trim()}` : act.text
  return [
    palette.strong(title),
    paint(`HTTP ${act.status}${act.code === null ? '' : ` ${act.code}`}`),
    ...(act.bound === null ? [] : [paint(`bound: ${act.bound}`)]),
    arrival,
    ...wrap(answer, 46),
    ...(act.harmed ? [palette.bad(`${strangersCode} is tenant A's code.`)] : []),
  ]
}

function singleLine(act: Act, palette: Palette): string {
  if (act.harmed) return palette.bad(`let it through: B read tenant A's code`)
  const where = act.caught === null ? 'no check says where' : `${act.caught.fault} at page ${act.caught.page}`
  return `${palette.good(`HTTP ${act.status}`)} ${act.code ?? ''}: ${where}`
}

function verdictLine(report: LeakReport, palette: Palette): string {
  const caught = report.single.filter((act) => !act.harmed).length
  const seconds = report.seconds.toFixed(1)
  return isAsClaimed(report)
    ? palette.good(
        `Shown in ${seconds} s: the unguarded engine leaks, Bulkhead refuses, and ${caught} rules each stop it alone.`,
      )
    : palette.bad(`Not as claimed (${seconds} s): see above.`)
}

/** The unguarded engine leaks, Bulkhead refuses for the right reason without touching a page, and each rule alone stops it. */
export function isAsClaimed({ unguarded, bulkhead, single }: LeakReport): boolean {
  const refused = bulkhead.status === 400 && bulkhead.bound === 'prefill_pool' && bulkhead.pagesReserved === 0
  return (
    unguarded.harmed &&
    unguarded.status === 200 &&
    refused &&
    !bulkhead.harmed &&
    single.every((act) => !act.harmed && act.caught !== null)
  )
}

function sideBySide(left: readonly string[], right: readonly string[], width: number): readonly string[] {
  const column = 50
  if (width < 2 * column) return [...left, '', ...right]
  return Array.from({ length: Math.max(left.length, right.length) }, (_, row) => {
    const text = left[row] ?? ''
    return `  ${text}${' '.repeat(Math.max(1, column - visibleLength(text)))}${right[row] ?? ''}`
  })
}

function visibleLength(text: string): number {
  let length = 0
  for (let at = 0; at < text.length; at++) {
    if (text.charCodeAt(at) === 27) at = text.indexOf('m', at)
    else length++
  }
  return length
}

function wrap(text: string, width: number): readonly string[] {
  const lines = ['']
  for (const word of text.split(/\s+/)) {
    const last = lines[lines.length - 1]!
    if (last !== '' && last.length + 1 + word.length > width) lines.push(word)
    else lines[lines.length - 1] = last === '' ? word : `${last} ${word}`
  }
  return lines
}

function paletteOf(colour: boolean): Palette {
  const paint =
    (code: number): Paint =>
    (text) =>
      colour ? `\u001b[${code}m${text}\u001b[0m` : text
  return { bad: paint(SGR.bad), good: paint(SGR.good), dim: paint(SGR.dim), strong: paint(SGR.strong) }
}
