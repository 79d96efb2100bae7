import { TextError } from './errors.ts'
import { InterpreterBase, type JinjaEnvironment, type JinjaNode, type JinjaValue } from './jinja.ts'
import type { CostMap } from './template-cost.ts'

/** How much a rendering may cost. Counted, not timed, so the same prompt renders or fails alike on every machine. */
export interface Budget {
  /** Steps, with what a step walks through added. */
  readonly steps: number
  /** The longest text that may come up, in UTF-16 units. */
  readonly text: number
  /** The longest list, and the most values in anything that is written out. */
  readonly values: number
  /** Asked now and then; true: give up. A trial passes its deadline here. */
  readonly expired?: () => boolean
}

const DEEPEST = 1_000

/**
 * Jinja's interpreter with a budget. Every node passes through `evaluate`, so loops and recursion end; the few single
 * steps that could do unbounded work (ranges, nested values written out) are bounded by what they are given.
 * Throws TextError `template_too_costly`.
 */
export class BoundedInterpreter extends InterpreterBase {
  readonly #costs: CostMap
  readonly #budget: Budget
  #spent = 0
  #checked = 0
  #depth = 0

  constructor(environment: JinjaEnvironment, costs: CostMap, budget: Budget) {
    super(environment)
    this.#costs = costs
    this.#budget = budget
  }

  override evaluate(node: JinjaNode | undefined, environment: JinjaEnvironment): JinjaValue {
    if (node === undefined) return super.evaluate(node, environment)
    this.#depth++
    // a deep scope makes every look-up longer
    this.#spend(1 + (this.#depth >> 4) + (this.#costs.scanned.get(node) ?? 0))
    if (this.#depth > DEEPEST) throw tooCostly('nesting', DEEPEST)
    try {
      const value = super.evaluate(node, environment)
      this.#judge(node, value)
      return value
    } finally {
      this.#depth--
    }
  }

  #judge(node: JinjaNode, value: JinjaValue): void {
    const content: unknown = value?.value
    if (typeof content === 'string') {
      if (content.length > this.#budget.text) throw tooCostly('text', this.#budget.text)
      this.#spend(content.length >> 8)
    } else if (Array.isArray(content) || content instanceof Map) {
      const size = Array.isArray(content) ? content.length : content.size
      if (size > this.#budget.values) throw tooCostly('values', this.#budget.values)
      // a turn of a loop makes a scope and nine variables
      if (this.#costs.iterated.has(node)) this.#spend(4 * size)
      if (this.#costs.written.has(node)) this.#spend(countValues(content, this.#budget.values) >> 2)
    }
  }

  #spend(steps: number): void {
    this.#spent += steps
    if (this.#spent > this.#budget.steps) throw tooCostly('steps', this.#budget.steps)
    if (this.#spent - this.#checked < 1024) return
    this.#checked = this.#spent
    if (this.#budget.expired?.()) throw tooCostly('time', 0)
  }
}

/** Values in a nested value, shared ones each time they come up, since writing them out writes them each time. */
function countValues(root: unknown, most: number): number {
  const open: unknown[] = [root]
  let count = 0
  while (open.length > 0) {
    const content = open.pop()
    const children = Array.isArray(content) ? content : content instanceof Map ? [...content.values()] : []
    count += 1 + children.length
    if (count > most) throw tooCostly('values', most)
    for (const child of children) {
      const inner: unknown = child?.value
      if (Array.isArray(inner) || inner instanceof Map) open.push(inner)
    }
  }
  return count
}

const UNITS: Readonly<Record<string, string>> = { nesting: 'levels of nesting', text: 'characters of text' }

function tooCostly(what: string, limit: number): TextError {
  const message =
    what === 'time'
      ? 'the chat template ran past its deadline'
      : `the chat template needs more than ${limit} ${UNITS[what] ?? what}`
  return new TextError({ code: 'template_too_costly', message, details: { what, limit } })
}

/** Numbers from `start` up to `stop`, as Jinja's `range`, but never more than `most`. */
export function boundedRange(most: number): (start: number, stop?: number, step?: number) => number[] {
  return (first, second, step = 1) => {
    const [start, stop] = second === undefined ? [0, first] : [first, second]
    const length = Math.ceil((stop - start) / step)
    if (Number.isNaN(length) || length > most) throw tooCostly('values', most)
    return Array.from({ length: Math.max(0, length) }, (_, i) => start + i * step)
  }
}
