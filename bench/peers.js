/**
 * Bulkhead's engine beside llama.cpp and node-llama-cpp: same file, same threads, same run, in turns.
 *
 *     node bench/peers.js --model bench/models/half-q4_0.gguf --threads 2
 *
 * --batches 1,8,32  --contexts 128  --prefills 512,2048  --steps 24
 * --rounds 3        each round measures every engine once; figures are medians over rounds
 * --engines ours,llama-cpp,node-llama-cpp
 * --json            one JSON object instead of the table
 *
 * llama.cpp's programs come from bench/build-llama.js and are left out, with a line, where they are not built.
 */
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { llamaBin } from './build-llama.js'
import { median } from './engines/job.js'

const { values } = parseArgs({
  options: {
    model: { type: 'string' },
    threads: { type: 'string', default: '2' },
    batches: { type: 'string', default: '1,8,32' },
    contexts: { type: 'string', default: '128' },
    prefills: { type: 'string', default: '512,2048' },
    steps: { type: 'string', default: '24' },
    rounds: { type: 'string', default: '3' },
    engines: { type: 'string', default: 'ours,llama-cpp,node-llama-cpp' },
    json: { type: 'boolean', default: false },
  },
})
if (values.model === undefined) {
  console.error('usage: node bench/peers.js --model FILE [--threads 2] [--rounds 3] (see the head of the file)')
  process.exit(2)
}
const numbers = (list) => (list === '' ? [] : list.split(',').map(Number))
const engines = values.engines.split(',').filter((engine) => {
  const there = engine !== 'llama-cpp' || existsSync(join(llamaBin, 'llama-batched-bench'))
  if (!there) console.error('llama-cpp is left out: run node bench/build-llama.js first')
  return there
})
const contexts = numbers(values.contexts)
const cases = [
  ...contexts.flatMap((context) =>
    numbers(values.batches).map((batch) => ({
      name: `decode, batch ${batch}, context ${context}`,
      batches: [batch],
      contexts: [context],
      prefills: [],
    })),
  ),
  ...numbers(values.prefills).map((tokens) => ({
    name: `prefill, ${tokens} tokens`,
    batches: [],
    contexts: [],
    prefills: [tokens],
  })),
]

/** figures[case][engine]: one number per round. Engines take turns within each case, so that they meet the same machine. */
const figures = cases.map(() => Object.fromEntries(engines.map((engine) => [engine, []])))
const peaks = {}
for (let round = 0; round < Number(values.rounds); round++) {
  for (const [i, { name, ...job }] of cases.entries()) {
    for (const engine of engines) {
      const result = measure(engine, job)
      const [figure] = [...result.decode, ...result.prefill]
      figures[i][engine].push(figure.tokensPerSecond)
      if (result.peakBytes) peaks[engine] = Math.max(peaks[engine] ?? 0, result.peakBytes)
      console.error(`round ${round + 1}  ${name}  ${engine}  ${figure.tokensPerSecond.toFixed(1)}`)
    }
  }
}
report()

function measure(engine, job) {
  const program = fileURLToPath(new URL(`./engines/${engine}.js`, import.meta.url))
  const argument = JSON.stringify({
    model: values.model,
    threads: Number(values.threads),
    steps: Number(values.steps),
    ...job,
  })
  const { status, stdout, stderr } = spawnSync(process.execPath, [program, argument], {
    encoding: 'utf8',
    maxBuffer: 1 << 26,
  })
  if (status !== 0) throw new Error(`${engine} failed: ${stderr.slice(-2000)}`)
  return JSON.parse(stdout.trim().split('\n').at(-1))
}

function report() {
  const rows = cases.map(({ name }, i) => {
    const medians = Object.fromEntries(engines.map((engine) => [engine, median(figures[i][engine])]))
    // The ratio of the same round's figures: whatever else ran on the machine then, both had it.
    const ratios = Object.fromEntries(
      engines
        .filter((engine) => engine !== 'ours' && medians.ours !== undefined)
        .map((engine) => [engine, median(figures[i].ours.map((ours, round) => ours / figures[i][engine][round]))]),
    )
    return { name, tokensPerSecond: medians, oursOver: ratios }
  })
  if (values.json) {
    console.log(
      JSON.stringify({
        model: values.model,
        threads: Number(values.threads),
        rounds: Number(values.rounds),
        rows,
        peaks,
      }),
    )
    return
  }
  console.log(
    `| tokens/s | ${engines.join(' | ')} | ${engines
      .slice(1)
      .map((engine) => `ours / ${engine}`)
      .join(' | ')} |`,
  )
  console.log(`|---|${'---|'.repeat(2 * engines.length - 1)}`)
  for (const { name, tokensPerSecond, oursOver } of rows) {
    const speeds = engines.map((engine) => tokensPerSecond[engine].toFixed(1))
    const ratios = engines.slice(1).map((engine) => (oursOver[engine] ?? Number.NaN).toFixed(2))
    console.log(`| ${[name, ...speeds, ...ratios].join(' | ')} |`)
  }
  for (const [engine, bytes] of Object.entries(peaks))
    console.log(`peak memory, ${engine}: ${(bytes / 1e6).toFixed(0)} MB`)
}
