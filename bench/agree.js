/**
 * Do our logits lead to the same tokens as llama.cpp's? Teacher-forced: both engines see the same 20 sequences of 64 tokens,
 * and after each position the most likely next token is compared. Prints the share that agrees and, for each that does not,
 * how far apart llama.cpp has its first two (in logits).
 *
 *     node bench/agree.js --model models/tiny.gguf [--cases FILE] [--sequences 20] [--length 64]
 *
 * --cases FILE   a JSON array of token id arrays; without it the sequences are drawn from the model itself (temperature 1,
 *                seeded), so that they look like its own text
 * Exit 0 if at least 99 % agree and every disagreement has a gap below 0.05, else 1.
 */
import { readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { getLlama } from 'node-llama-cpp'
import { sample } from '../dist/engine/index.js'
import { createPool, openPool } from '../dist/kernels/index.js'
import { inspectModel, loadModel, poolShape } from '../dist/model/index.js'

const LEAST_SHARE = 0.99
const LARGEST_GAP = 0.05
const PAGE_SIZE = 16

const { values } = parseArgs({
  options: {
    model: { type: 'string' },
    cases: { type: 'string' },
    sequences: { type: 'string', default: '20' },
    length: { type: 'string', default: '64' },
    json: { type: 'boolean', default: false },
  },
})
if (values.model === undefined) {
  console.error('usage: node bench/agree.js --model FILE [--cases FILE] [--sequences 20] [--length 64]')
  process.exit(2)
}
const length = Number(values.length)
const inspection = await inspectModel(values.model)
if (inspection.kind !== 'ok') throw new Error(inspection.message)
const { shape, tokenizer } = inspection
const { cases, largest: ours } = await runOurs()
const theirs = await runTheirs(cases)

const disagreements = []
let compared = 0
for (const [s, tokens] of cases.entries()) {
  for (let i = 0; i < tokens.length; i++) {
    compared++
    const { token, gap } = theirs[s][i]
    if (ours[s][i] !== token) disagreements.push({ sequence: s, position: i, ours: ours[s][i], theirs: token, gap })
  }
}
const share = 1 - disagreements.length / compared
const worst = Math.max(0, ...disagreements.map(({ gap }) => gap))
if (values.json) console.log(JSON.stringify({ model: values.model, compared, share, worst, disagreements }))
else {
  for (const { sequence, position, ours: a, theirs: b, gap } of disagreements) {
    console.log(
      `sequence ${sequence}, position ${position}: ours ${a}, llama.cpp ${b}, its top-two gap ${gap.toFixed(4)}`,
    )
  }
  console.log(
    `${compared} positions, ${(100 * share).toFixed(2)} % agree, largest gap of a disagreement ${worst.toFixed(4)}`,
  )
}
process.exit(share >= LEAST_SHARE && worst < LARGEST_GAP ? 0 : 1)

/** Every sequence one row per pass, all of them in one batch: the path that serving takes. */
async function runOurs() {
  const given = values.cases === undefined ? null : JSON.parse(readFileSync(values.cases, 'utf8'))
  const cases = given ?? Array.from({ length: Number(values.sequences) }, () => [tokenizer.bosId ?? 1])
  const perSequence = Math.ceil(length / PAGE_SIZE)
  const pool = createPool(
    poolShape(shape, cases.length * perSequence * PAGE_SIZE, PAGE_SIZE),
    BigUint64Array.of(1n, 2n),
  )
  const checks = { tags: true, filled: true, guards: true }
  const shown = []
  const sampler = (logits, request) => {
    shown.push(logits.indexOf(logits.reduce((a, b) => Math.max(a, b))))
    return sample(logits, request)
  }
  const loaded = await loadModel(values.model, { threads: 2, sampler, pool, checks })
  if (loaded.kind !== 'ok') throw new Error(loaded.message)
  const kernels = openPool(pool, { ...shape, lane: 1, checks })
  const tables = cases.map((_, s) => claim(kernels, s * perSequence, perSequence, s + 1))
  const largest = cases.map(() => [])
  for (let i = 0; i < length; i++) {
    const sequences = cases.map((tokens, s) => ({
      requestId: `s${s}`,
      attempt: 1,
      tokens: Int32Array.of(tokens[i]),
      start: i,
      write: 'append',
      table: tables[s],
      sample: { params: { temperature: 1, topP: 1, topK: 0, seed: s, topLogprobs: null }, sequence: 0, index: i },
    }))
    shown.length = 0
    const { results } = await loaded.pass.run({ id: i, sequences }, () => {})
    for (const [s, { fault, sampled }] of results.entries()) {
      if (fault !== null) throw new Error(fault.kind)
      largest[s].push(shown[s])
      if (given === null && i + 1 < length) cases[s].push(sampled.token)
    }
  }
  await loaded.pass.close()
  return { cases: cases.map((tokens) => tokens.slice(0, length)), largest }
}

async function runTheirs(cases) {
  const llama = await getLlama({ gpu: false, build: 'never', maxThreads: 2, logLevel: 'error' })
  const model = await llama.loadModel({ modelPath: values.model })
  // KV in f32 as ours is: with llama.cpp's own default, f16, it is its cache that rounds
  const context = await model.createContext({
    contextSize: length + 8,
    threads: 2,
    flashAttention: false,
    experimentalKvCacheKeyType: 'F32',
    experimentalKvCacheValueType: 'F32',
  })
  const sequence = context.getSequence()
  const results = []
  for (const tokens of cases) {
    await sequence.clearHistory()
    const wanted = { generateNext: { logits: { filter: { tokens: [], includeTop: 2 } } } }
    const outputs = await sequence.controlledEvaluate(tokens.map((token) => [token, wanted]))
    results.push(
      outputs.map(({ next }) => {
        const [[token, first], [, second]] = [...next.logits.entries()]
        return { token, gap: first - second }
      }),
    )
  }
  return results
}

function claim(kernels, first, count, owner) {
  const pages = Uint32Array.from({ length: count }, (_, i) => first + i)
  const table = { pages, owners: new Uint32Array(count).fill(owner), generations: new Uint32Array(count).fill(1) }
  kernels.claim(table.pages, table.owners, table.generations, Uint32Array.from(pages.keys()))
  return table
}
