import { nodeClock, nodeDigests } from '../../host/node/index.ts'
import { benchIntegrity, type IntegrityBench, overheadLine, SCRUBS } from '../bench/integrity.ts'
import { builtInModel } from '../built-in.ts'
import { type Command, noOperands, wholeFlag } from '../command.ts'

export const benchIntegrityCommand: Command = {
  name: 'bench integrity',
  summary: 'measure what tags, guard rows, seals and scrubbing cost, in pairs with the same work without them',
  options: {
    model: { type: 'string', value: 'FILE', help: 'GGUF file; default the built-in tiny' },
    threads: { type: 'string', value: 'N', help: 'threads of the forward passes; default 1, as a worker has' },
    pairs: {
      type: 'string',
      value: 'N',
      help: 'so many pairs of decode steps and of chunks, and up to five times as many until the interval is narrow; default 2000',
    },
    'scrub-pairs': { type: 'string', value: 'N', help: 'pairs for each scrub mode; default as --pairs' },
    chunk: { type: 'string', value: 'ROWS', help: 'rows of a prefill chunk; default 128' },
    json: { type: 'boolean', help: 'the figures as JSON' },
  },
  examples: [
    'bulkhead bench integrity',
    'bulkhead bench integrity --model ./model.gguf --chunk 32 --scrub-pairs 200 --json',
  ],
  run: async (input) => {
    noOperands(benchIntegrityCommand, input)
    const path = typeof input.flags.model === 'string' ? input.flags.model : builtInModel('tiny')
    const pairs = wholeFlag(input, 'pairs', { min: 20, max: 1_000_000, absent: 2_000 })
    const figures = await benchIntegrity({
      path,
      threads: wholeFlag(input, 'threads', { min: 1, max: 64, absent: 1 }),
      chunk: wholeFlag(input, 'chunk', { min: 16, max: 512, absent: 128 }),
      pairs,
      scrubPairs: wholeFlag(input, 'scrub-pairs', { min: 20, max: 1_000_000, absent: pairs }),
      now: nodeClock.now,
      digests: nodeDigests,
      onProgress: (line) => input.err(`bulkhead: ${line}\n`),
    })
    if (figures.kind !== 'ok') {
      input.err(`bulkhead: ${figures.message}\n`)
      return 2
    }
    input.out(input.flags.json === true ? `${JSON.stringify(figures)}\n` : render(figures))
    return 0
  },
}

function render(figures: IntegrityBench): string {
  const { decode, arrival, prefill, scrub, pageMicros, seals, keyMicros, sweep } = figures
  return [
    'per cent of the time without; median [95 % interval]: the worse end is the claim',
    `decode, 8 sequences, tags and guard rows against off: ${overheadLine(decode)}`,
    `  and as many prompt pages verified as were filled: ${arrival.perCent.toFixed(2)} %, ${arrival.pageMicros.toFixed(2)} us a page; worse end ${(decode.high + arrival.perCent).toFixed(2)} %`,
    `prefill, ${figures.chunk} rows, tags, guard rows and sealed pages against off: ${overheadLine(prefill)}`,
    ...SCRUBS.map((mode) => `scrub ${mode}, one page a step of 16 sequences: ${overheadLine(scrub[mode])}`),
    `a page over all layers: claim ${pageMicros.claim.toFixed(2)} us, retire tags ${pageMicros.retire_tags.toFixed(2)}, zero ${pageMicros.retire_zero.toFixed(2)}, poison ${pageMicros.retire_poison.toFixed(2)}`,
    ...seals.map(
      ({ from, pageBytes, sealGBs, copyGBs }) =>
        `seal of ${pageBytes} bytes from ${from}: ${sealGBs.toFixed(1)} GB/s, copy ${copyGBs.toFixed(1)} GB/s`,
    ),
    `keys of a page, all layers: ${keyMicros.toFixed(2)} us`,
    `sweep: ${sweep.pageMicros.toFixed(2)} us a page, ${sweep.perCent.toFixed(3)} % of a decode step at one in 256`,
    '',
  ].join('\n')
}
