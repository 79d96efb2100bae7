import type { JinjaNode } from './jinja.ts'

/** What is known of a template before it runs: where a step of the interpreter does more work than one step. */
export interface CostMap {
  /** Their value is walked through: loops, filters, calls. */
  readonly iterated: ReadonlySet<JinjaNode>
  /** Their value may be written out as text in one go, however deeply it is nested. */
  readonly written: ReadonlySet<JinjaNode>
  /** The interpreter scans the body of these whenever it meets them: how many nodes that is. */
  readonly scanned: ReadonlyMap<JinjaNode, number>
}

/** Walks a parsed template once. Nodes are read by their names, since the library exports no classes. */
export function mapCosts(program: JinjaNode): CostMap {
  const iterated = new Set<JinjaNode>()
  const written = new Set<JinjaNode>()
  const scanned = new Map<JinjaNode, number>()

  const visit = (value: unknown): number => {
    if (Array.isArray(value)) return value.reduce((sum: number, item) => sum + visit(item), 0)
    if (value instanceof Map) {
      let size = 0
      for (const [key, item] of value) size += visit(key) + visit(item)
      return size
    }
    if (!isNode(value)) return 0
    const fields = value as unknown as Record<string, unknown>
    note(value, fields)
    let size = 1
    for (const child of Object.values(fields)) size += visit(child)
    if (value.type === 'Macro' || value.type === 'CallStatement') scanned.set(value, size)
    return size
  }

  const note = (node: JinjaNode, fields: Record<string, unknown>): void => {
    const mark = (set: Set<JinjaNode>, ...children: unknown[]): void => {
      for (const child of children.flat()) if (isNode(child)) set.add(child)
    }
    // whatever stands in a block is written out
    mark(written, fields.body, fields.alternate, fields.defaultBlock)
    switch (node.type) {
      case 'For':
        mark(iterated, fields.iterable)
        break
      case 'SelectExpression':
        mark(iterated, fields.lhs)
        break
      case 'FilterExpression':
        mark(iterated, fields.operand)
        mark(written, fields.operand)
        break
      case 'BinaryExpression':
        mark(iterated, fields.left, fields.right)
        mark(written, fields.left, fields.right)
        break
      case 'CallExpression':
        mark(iterated, fields.args)
        break
      case 'MemberExpression': {
        const property = fields.property
        if (isNode(property) && property.type === 'SliceExpression') mark(iterated, fields.object)
        break
      }
      case 'SpreadExpression':
      case 'KeywordSpreadExpression':
        mark(iterated, fields.argument)
        break
      default:
        break
    }
  }

  visit(program)
  return { iterated, written, scanned }
}

function isNode(value: unknown): value is JinjaNode {
  return typeof value === 'object' && value !== null && typeof (value as { type?: unknown }).type === 'string'
}
