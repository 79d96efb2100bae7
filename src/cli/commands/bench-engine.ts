import { createSecrets, nodeClock, nodeRandom } from '../../host/node/index.ts'
import {
  benchEngine,
  type DecodeFigure,
  type EngineBench,
  inspectModel,
  type PrefillFigure,
} from '../../model/index.ts'
import { type EngineTransport, startEngine } from '../../runtime/index.ts'
import { type MixedLoadReport, measureMixedLoad } from '../bench/mixed-load.ts'
import { builtInModel } from '../built-in.ts'
import { type Command, type CommandInput, choiceFlag, noOperands, wholeFlag } from '../command.ts'
import { bytesText } from '../format.ts'

const PAGE_SIZE = 16
const LONG_PROMPT = 8_000

export const benchEngineCommand: Command = {
  name: 'bench engine',
  summary: 'measure decode, prefill, TTFT, inter-token times and memory of the engine on one model',
  options: {
    model: { type: 'string', value: 'FILE', help: 'GGUF file; default the built-in tiny' },
    threads: {
      type: 'string',
      value: 'N',
      help: 'threads of the forward passes measured alone; default 2. Workers under mixed load get 1 each',
    },
    transport: {
      type: 'string',
      value: 'NAME',
      help: 'how pages reach decode under mixed load: socket, tcp or shared',
    },
    json: { type: 'boolean', help: 'the figures as JSON' },
  },
  examples: [
    'bulkhead bench engine',
    'bulkhead bench engine --transport shared',
    'bulkhead bench engine --model ./model.gguf --threads 2 --json',
  ],
  run: async (input) => {
    noOperands(benchEngineCommand, input)
    const path = typeof input.flags.model === 'string' ? input.flags.model : builtInModel('tiny')
    const threads = wholeFlag(input, 'threads', { min: 1, max: 64, absent: 2 })
    const transport = choiceFlag(input, 'transport', ['socket', 'tcp', 'shared'])
    const figures = await benchEngine({
      path,
      threads,
      now: nodeClock.now,
      peakMemory: () => process.resourceUsage().maxRSS * 1_024,
      onFigure: (figure) => input.err(`bulkhead: ${figureLine(figure)}\n`),
    })
    if (figures.kind !== 'ok') {
      input.err(`bulkhead: ${figures.message}\n`)
      return 2
    }
    const load = await mixedLoad(path, transport, input)
    input.out(
      input.flags.json === true
        ? `${JSON.stringify({ ...figures, transport, mixed: load })}\n`
        : render(figures, load, transport),
    )
    return 0
  },
}

async function mixedLoad(path: string, transport: EngineTransport, input: CommandInput): Promise<MixedLoadReport> {
  const inspection = await inspectModel(path)
  if (inspection.kind !== 'ok') throw new Error(inspection.message)
  const { shape, digest } = inspection
  const pool = Math.ceil((2 * Math.max(shape.contextLength, 2_048)) / PAGE_SIZE) * PAGE_SIZE
  input.err(`bulkhead: mixed load through real workers over ${transport} …\n`)
  const engine = await startEngine({
    models: [
      {
        id: 'bench',
        weights: path,
        digest,
        shape,
        prefillPool: pool,
        decodePool: pool,
        pageSize: PAGE_SIZE,
        threads: { prefill: 1, decode: 1 },
        transport,
      },
    ],
    secrets: createSecrets(nodeRandom.bytes(32)),
    telemetry: () => undefined,
  })
  try {
    return await measureMixedLoad({
      engine,
      model: 'bench',
      vocab: shape.vocab,
      pageSize: PAGE_SIZE,
      contextLength: shape.contextLength,
      now: nodeClock.now,
      wait: (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds)),
      longPrompt: LONG_PROMPT,
    })
  } finally {
    await engine.stop(0)
  }
}

function figureLine(figure: DecodeFigure | PrefillFigure): string {
  const rate = `${figure.tokensPerSecond.toFixed(1)} tokens/s`
  return figure.kind === 'prefill'
    ? `prefill ${figure.tokens}: ${rate}`
    : `decode batch ${figure.batch} context ${figure.context}: ${rate}`
}

function render(figures: EngineBench, load: MixedLoadReport, transport: EngineTransport): string {
  const { longPrompt } = load
  const ms = (value: number): string => `${value.toFixed(1)} ms`
  return [
    `threads ${figures.threads}, every check on, greedy`,
    ...[...figures.decode, ...figures.prefill].map(figureLine),
    `memory peak ${bytesText(figures.peakBytes)} (limit ${bytesText(figures.peakLimitBytes)}: weights ${bytesText(figures.heldBytes)} x 1.3 + pool ${bytesText(figures.poolBytes)} + 250 MB)`,
    `mixed load over ${transport}, ${load.streams} streams, one thread each for prefill and decode: TTFT p50 ${ms(load.ttft.p50)} p99 ${ms(load.ttft.p99)}, inter-token p50 ${ms(load.interToken.p50)} p99 ${ms(load.interToken.p99)}`,
    `a prompt of ${longPrompt.tokens} tokens beside a running decode (${longPrompt.seconds.toFixed(1)} s): inter-token p50 ${ms(longPrompt.during.p50)} p99 ${ms(longPrompt.during.p99)}, alone over the same tokens (${longPrompt.outputs.join(' to ')}) p50 ${ms(longPrompt.alone.p50)} p99 ${ms(longPrompt.alone.p99)}, p99 ratio ${longPrompt.p99Ratio.toFixed(2)}`,
    '',
  ].join('\n')
}
