/**
 * Writes a synthetic GGUF file of the llama architecture with seeded random weights: for speed and memory, not for text.
 *
 *     node bench/make-model.js --out bench/models/half-q4_0.gguf --type q4_0
 *
 * --size half   896 wide, 24 layers, 14 query and 2 KV heads, 4,864 hidden, vocabulary 151,936, 16,384 positions (default)
 * --size small  256 wide, 4 layers, for a run in seconds
 * --type        q4_0 (default), q8_0, f32, f16, bf16, q4_1, q5_0, q5_1, q2_k … q6_k
 * --untied      a head of its own instead of the embedding
 * --seed N      default 1; the same seed gives the same file
 */
import { mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { parseArgs } from 'node:util'
import { HALF_BILLION, SMALL, writeSyntheticModel } from '../dist/model/index.js'

const { values } = parseArgs({
  options: {
    out: { type: 'string' },
    type: { type: 'string', default: 'q4_0' },
    size: { type: 'string', default: 'half' },
    seed: { type: 'string', default: '1' },
    untied: { type: 'boolean', default: false },
  },
})
const shape = { half: HALF_BILLION, small: SMALL }[values.size]
if (values.out === undefined || shape === undefined) {
  console.error('usage: node bench/make-model.js --out FILE [--type q4_0] [--size half|small] [--untied] [--seed N]')
  process.exit(2)
}
mkdirSync(dirname(values.out), { recursive: true })
const type = values.type.toUpperCase()
writeSyntheticModel(values.out, { shape, type, seed: Number(values.seed), tied: !values.untied })
console.log(values.out)
