import { nodeClock } from '../../host/node/index.ts'
import { checkModel, inspectModel, type ModelReport } from '../../model/index.ts'
import { DRILL_PAGES } from '../../runtime/index.ts'
import { type Command, type CommandInput, onlyOperand, UsageError } from '../command.ts'
import { PAGE_SIZES } from '../config/index.ts'
import { bytesText, grouped } from '../format.ts'
import { createTextSide } from '../serve/prompt-model.ts'

const PAGE_SIZE = 16

export const modelsCheck: Command = {
  name: 'models check',
  summary: 'say what would be loaded from a GGUF file, what its KV takes and the largest pools that fit',
  operands: 'FILE',
  options: {
    'page-size': {
      type: 'string',
      value: 'ROWS',
      help: `rows per page: ${PAGE_SIZES.join(', ')}; default ${PAGE_SIZE}`,
    },
    json: { type: 'boolean', help: 'the report as JSON' },
  },
  examples: ['bulkhead models check models/tiny.gguf', 'bulkhead models check ./model.gguf --json'],
  run: async (input) => {
    const file = onlyOperand(modelsCheck, input)
    const pageSize = pageSizeFlag(input)
    const inspection = await inspectModel(file)
    if (inspection.kind !== 'ok') return refuse(input, file, inspection.code, inspection.message)
    const report = await checkModel(file, { pageSize, extraPages: DRILL_PAGES })
    if (report.kind !== 'ok') return refuse(input, file, report.code, report.message)
    const text = createTextSide(report.name, inspection, report.contextLength, nodeClock)
    if (text.kind === 'refused') return refuse(input, file, 'text', text.message)
    input.out(input.flags.json === true ? `${JSON.stringify({ ok: true, ...report })}\n` : render(report))
    return 0
  },
}

function pageSizeFlag(input: CommandInput): number {
  const given = input.flags['page-size']
  if (given === undefined) return PAGE_SIZE
  const size = PAGE_SIZES.find((known) => String(known) === given)
  if (size !== undefined) return size
  throw new UsageError(`--page-size: expected one of ${PAGE_SIZES.join(', ')}, received ${JSON.stringify(given)}`)
}

function refuse(input: CommandInput, file: string, code: string, message: string): 1 {
  if (input.flags.json === true) input.out(`${JSON.stringify({ ok: false, code, message })}\n`)
  input.err(`bulkhead: ${file}: ${message}\n`)
  return 1
}

function render(report: ModelReport): string {
  const { largestPool, tokenizer } = report
  const rows: readonly (readonly [string, string])[] = [
    ['model', `${report.name}, ${report.architecture}, ${grouped(report.parameters)} parameters`],
    ['context', `${grouped(report.contextLength)} tokens`],
    [
      'tensors',
      report.tensorTypes.map(({ type, tensors, bytes }) => `${tensors} ${type} (${bytesText(bytes)})`).join(', '),
    ],
    ['weights as held', `${bytesText(report.heldBytes)} in each worker`],
    ['KV', `${grouped(report.kvBytesPerToken)} bytes per token, f32`],
    [
      'largest pool',
      `${grouped(largestPool.addressable)} tokens by address (${grouped(largestPool.addressableShared)} each, over transport: shared), ${grouped(largestPool.inMemory)} in this machine's free memory, for each of the two workers`,
    ],
    ['tokenizer', `${tokenizer.kind}, ${grouped(tokenizer.vocab)} tokens`],
    [
      'chat template',
      report.chatTemplate ? 'in the file, tried' : 'none: chat requests are refused, completions served',
    ],
    ...report.converted.map((line) => ['converted', line] as const),
  ]
  const width = Math.max(...rows.map(([label]) => label.length))
  return `${rows.map(([label, value]) => `${label.padEnd(width)}  ${value}`).join('\n')}\n`
}
