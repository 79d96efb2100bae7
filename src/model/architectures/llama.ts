import { ModelError } from '../errors.ts'
import { type Fields, required } from '../gguf/fields.ts'
import type { GgufHeader, TensorInfo } from '../gguf/read.ts'
import type { ModelShape } from '../types.ts'
import type { LayerTensors, ModelLayout } from './architecture.ts'

const DEFAULT_ROPE_THETA = 10_000

/** Keys that change the arithmetic in ways that are not served, each with the values that leave it unchanged. */
const NEUTRAL: readonly (readonly [key: string, neutral: (value: number) => boolean])[] = [
  ['llama.expert_count', (value) => value === 0],
  ['llama.attention.sliding_window', (value) => value === 0],
  ['llama.attention.clamp_kqv', (value) => value === 0],
  ['llama.attention.scale', (value) => value === 0],
  ['llama.logit_scale', (value) => value === 0 || value === 1],
  ['llama.residual_scale', (value) => value === 0 || value === 1],
  ['llama.embedding_scale', (value) => value === 0 || value === 1],
  ['llama.rope.scaling.attn_factor', (value) => value === 0 || value === 1],
]

/** The llama architecture: RMS norms, grouped-query attention with interleaved rotary pairs, SwiGLU, no biases. */
export function readLlama(header: GgufHeader, fields: Fields): ModelLayout {
  rejectUnserved(fields)
  const hidden = count(fields, 'llama.embedding_length')
  const heads = required(fields.uniformCount('llama.attention.head_count', 1), 'llama.attention.head_count')
  const kvHeads = fields.uniformCount('llama.attention.head_count_kv', 1) ?? heads
  const headDim = readHeadDim(fields, hidden, heads)
  const ropeDims = fields.count('llama.rope.dimension_count', 2) ?? headDim
  const find = new TensorFinder(header)
  const embedding = find.matrix('token_embd.weight', hidden, null)
  const shape: ModelShape = {
    layers: count(fields, 'llama.block_count'),
    hidden,
    ffn: required(fields.uniformCount('llama.feed_forward_length', 1), 'llama.feed_forward_length'),
    heads,
    kvHeads,
    headDim,
    vocab: embedding.dims[1]!,
    contextLength: count(fields, 'llama.context_length'),
    ropeTheta: fields.number('llama.rope.freq_base') ?? DEFAULT_ROPE_THETA,
    ropeDims,
    normEps: required(
      fields.number('llama.attention.layer_norm_rms_epsilon'),
      'llama.attention.layer_norm_rms_epsilon',
    ),
  }
  judgeShape(shape)
  const tensors = {
    embedding,
    layers: Array.from({ length: shape.layers }, (_, layer) => layerTensors(find, shape, layer)),
    outputNorm: find.vector('output_norm.weight', hidden),
    output: find.has('output.weight') ? find.matrix('output.weight', hidden, shape.vocab) : embedding,
    ropeFactors: find.has('rope_freqs.weight') ? find.vector('rope_freqs.weight', ropeDims / 2) : null,
  }
  find.rejectOthers()
  return { architecture: 'llama', shape, tensors, ropeScale: readRopeScale(fields) }
}

function layerTensors(find: TensorFinder, shape: ModelShape, layer: number): LayerTensors {
  const { hidden, ffn, heads, kvHeads, headDim } = shape
  const name = (part: string): string => `blk.${layer}.${part}.weight`
  return {
    attentionNorm: find.vector(name('attn_norm'), hidden),
    query: find.matrix(name('attn_q'), hidden, heads * headDim),
    key: find.matrix(name('attn_k'), hidden, kvHeads * headDim),
    value: find.matrix(name('attn_v'), hidden, kvHeads * headDim),
    attentionOutput: find.matrix(name('attn_output'), heads * headDim, hidden),
    ffnNorm: find.vector(name('ffn_norm'), hidden),
    gate: find.matrix(name('ffn_gate'), hidden, ffn),
    up: find.matrix(name('ffn_up'), hidden, ffn),
    down: find.matrix(name('ffn_down'), ffn, hidden),
  }
}

function count(fields: Fields, key: string): number {
  return required(fields.count(key, 1), key)
}

function readHeadDim(fields: Fields, hidden: number, heads: number): number {
  const key = fields.count('llama.attention.key_length', 1)
  const value = fields.count('llama.attention.value_length', 1)
  const headDim = key ?? hidden / heads
  if (Number.isInteger(headDim) && (value === null || value === headDim)) return headDim
  throw new ModelError({
    code: 'unsupported_feature',
    message: `keys of ${headDim} and values of ${value ?? headDim} numbers per head are not served`,
    details: { key: headDim, value: value ?? headDim },
  })
}

function judgeShape(shape: ModelShape): void {
  const { heads, kvHeads, headDim, ropeDims, ropeTheta, normEps } = shape
  const wrong =
    heads % kvHeads !== 0
      ? `${heads} query heads cannot share ${kvHeads} key heads`
      : headDim % 4 !== 0 || headDim > 256
        ? `${headDim} numbers per head; a multiple of 4 up to 256 is served`
        : ropeDims % 2 !== 0 || ropeDims > headDim
          ? `rotary embedding over ${ropeDims} of ${headDim} numbers per head`
          : !(ropeTheta > 1)
            ? `rotary base ${ropeTheta}`
            : !(normEps > 0 && normEps < 1)
              ? `norm epsilon ${normEps}`
              : null
  if (wrong === null) return
  throw new ModelError({ code: 'bad_metadata', message: `the file's numbers are not served: ${wrong}` })
}

function rejectUnserved(fields: Fields): void {
  for (const [key, neutral] of NEUTRAL) {
    const value = fields.number(key)
    if (value !== null && !neutral(value)) throw unserved(key, value)
  }
  if (fields.boolean('llama.attention.causal') === false) throw unserved('llama.attention.causal', 'false')
}

/** Linear scaling alone; YaRN and the like change more than the frequencies. */
function readRopeScale(fields: Fields): number {
  const type = fields.string('llama.rope.scaling.type') ?? 'none'
  if (type !== 'none' && type !== 'linear') throw unserved('llama.rope.scaling.type', type)
  const factor =
    type === 'linear' ? fields.number('llama.rope.scaling.factor') : fields.number('llama.rope.scale_linear')
  // llama.cpp reads 0 as none
  const scale = factor === null || factor === 0 ? 1 : factor
  if (!(scale > 0)) throw unserved('llama.rope.scaling.factor', scale)
  return scale
}

function unserved(key: string, value: string | number): ModelError {
  return new ModelError({
    code: 'unsupported_feature',
    message: `metadata key ${key} is ${value}, which is not served`,
    details: { key, value },
  })
}

/** Finds tensors by name and dimensions and remembers which were asked for. */
class TensorFinder {
  readonly #tensors: ReadonlyMap<string, TensorInfo>
  readonly #used = new Set<string>()

  constructor(header: GgufHeader) {
    this.#tensors = header.tensors
  }

  has(name: string): boolean {
    return this.#tensors.has(name)
  }

  vector(name: string, length: number): TensorInfo {
    return this.#find(name, [length])
  }

  /** `rows` null takes the file's. */
  matrix(name: string, columns: number, rows: number | null): TensorInfo {
    return this.#find(name, [columns, rows])
  }

  /** A tensor nobody asked for would silently not take part: refuse the file instead. */
  rejectOthers(): void {
    for (const name of this.#tensors.keys()) {
      if (this.#used.has(name)) continue
      throw new ModelError({
        code: 'unexpected_tensor',
        message: `tensor ${name} has no place in the llama architecture as served`,
        details: { tensor: name },
      })
    }
  }

  #find(name: string, wanted: readonly (number | null)[]): TensorInfo {
    const tensor = this.#tensors.get(name)
    if (tensor === undefined) {
      throw new ModelError({ code: 'missing_tensor', message: `tensor ${name} is missing`, details: { tensor: name } })
    }
    this.#used.add(name)
    const fits = tensor.dims.every((dim, i) => (i < wanted.length ? dim === (wanted[i] ?? dim) : dim === 1))
    if (fits && tensor.dims.length >= wanted.length) return tensor
    const dims = tensor.dims.join(' x ')
    throw new ModelError({
      code: 'bad_shape',
      message: `tensor ${name} is ${dims}, the file's numbers ask for ${wanted.map((n) => n ?? 'any').join(' x ')}`,
      details: { tensor: name, dimensions: dims },
    })
  }
}
