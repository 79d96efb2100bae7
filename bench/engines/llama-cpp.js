/** llama.cpp's own `llama-batched-bench`, built by build-llama.js. One JSON line as ours.js, without memory. */
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { llamaBin } from '../build-llama.js'
import { readJob } from './job.js'

const { model, threads, batches, contexts, prefills, steps } = readJob()
const decode = []
for (const context of contexts) {
  for (const row of bench(context, steps, batches)) {
    decode.push({ batch: row.pl, context, tokensPerSecond: row.speed_tg })
  }
}
const prefill = []
for (const tokens of prefills) prefill.push({ tokens, tokensPerSecond: bench(tokens, 1, [1])[0].speed_pp })
console.log(JSON.stringify({ decode, prefill }))

function bench(prompt, generated, parallel) {
  const cells = (prompt + generated) * Math.max(...parallel) + 64
  const sizes = ['-c', cells, '-b', 2048, '-ub', 512, '-npp', prompt, '-ntg', generated, '-npl', parallel.join(',')]
  const args = [
    '-m',
    model,
    '-t',
    threads,
    '-tb',
    threads,
    '-fa',
    'on',
    '-ngl',
    0,
    ...sizes,
    '--output-format',
    'jsonl',
  ]
  const { status, stdout, stderr } = spawnSync(join(llamaBin, 'llama-batched-bench'), args.map(String), {
    encoding: 'utf8',
    maxBuffer: 1 << 26,
  })
  const rows = stdout
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line))
  if (status !== 0 || rows.length === 0) throw new Error(`llama-batched-bench failed: ${stderr.slice(-2000)}`)
  return rows
}
