/**
 * Files with random weights in the shape of a real model: for measuring speed and memory, and for tests of the arithmetic.
 * Weights are drawn in the format's own blocks, with scales that keep activations near one; the same seed gives the same file.
 */
import type { TensorType } from './gguf/tensor-types.ts'
import { ggmlTypeOf, tensorTypeLayout } from './gguf/tensor-types.ts'
import { tensorBytes, type WritableTensor, type WritableValue, writeGguf } from './gguf/write.ts'

export interface SyntheticShape {
  readonly layers: number
  readonly hidden: number
  readonly ffn: number
  readonly heads: number
  readonly kvHeads: number
  readonly vocab: number
  readonly contextLength: number
}

/** About 0.5 billion parameters. */
export const HALF_BILLION: SyntheticShape = {
  layers: 24,
  hidden: 896,
  ffn: 4864,
  heads: 14,
  kvHeads: 2,
  vocab: 151_936,
  contextLength: 16_384,
}

/** A few million parameters, for a run in seconds. */
export const SMALL: SyntheticShape = {
  layers: 4,
  hidden: 256,
  ffn: 768,
  heads: 4,
  kvHeads: 2,
  vocab: 2_048,
  contextLength: 2_048,
}

export interface SyntheticOptions {
  readonly shape: SyntheticShape
  readonly type: TensorType
  readonly seed: number
  /** The head is the embedding. */
  readonly tied: boolean
}

const ROPE_THETA = 10_000
const NORM_EPSILON = 1e-5
const PIECE_BYTES = 1024 * 1024

/** Writes a llama-architecture file with a byte-level BPE tokenizer that llama.cpp loads too. */
export function writeSyntheticModel(path: string, options: SyntheticOptions): void {
  writeGguf(path, syntheticMetadata(options), syntheticTensors(options))
}

export function syntheticMetadata({ shape, type }: SyntheticOptions): Record<string, WritableValue> {
  const { tokens, types } = syntheticVocabulary(shape.vocab)
  return {
    'general.architecture': { string: 'llama' },
    'general.name': { string: `synthetic ${type}` },
    'llama.context_length': { u32: shape.contextLength },
    'llama.embedding_length': { u32: shape.hidden },
    'llama.block_count': { u32: shape.layers },
    'llama.feed_forward_length': { u32: shape.ffn },
    'llama.attention.head_count': { u32: shape.heads },
    'llama.attention.head_count_kv': { u32: shape.kvHeads },
    'llama.attention.layer_norm_rms_epsilon': { f32: NORM_EPSILON },
    'llama.rope.dimension_count': { u32: shape.hidden / shape.heads },
    'llama.rope.freq_base': { f32: ROPE_THETA },
    'llama.vocab_size': { u32: shape.vocab },
    'tokenizer.ggml.model': { string: 'gpt2' },
    'tokenizer.ggml.pre': { string: 'gpt-2' },
    'tokenizer.ggml.tokens': { strings: tokens },
    'tokenizer.ggml.token_type': { i32s: types },
    'tokenizer.ggml.merges': { strings: ['Ġ t'] },
    'tokenizer.ggml.bos_token_id': { u32: shape.vocab - 2 },
    'tokenizer.ggml.eos_token_id': { u32: shape.vocab - 1 },
    'tokenizer.ggml.add_bos_token': { bool: false },
  }
}

export function syntheticTensors({ shape, type, seed, tied }: SyntheticOptions): WritableTensor[] {
  const { hidden, ffn, heads, kvHeads, vocab } = shape
  const kvWidth = (hidden / heads) * kvHeads
  let stream = seed
  const matrix = (name: string, columns: number, rows: number): WritableTensor => {
    const own = ++stream
    const dims = [columns, rows]
    return { name, type, dims, pieces: () => randomBlocks(type, dims, 1 / Math.sqrt(columns), own) }
  }
  const norm = (name: string): WritableTensor => {
    const own = ++stream
    return { name, type: 'F32', dims: [hidden], pieces: () => [nearOne(hidden, own)] }
  }
  const layers = Array.from({ length: shape.layers }, (_, layer) => [
    norm(`blk.${layer}.attn_norm.weight`),
    matrix(`blk.${layer}.attn_q.weight`, hidden, hidden),
    matrix(`blk.${layer}.attn_k.weight`, hidden, kvWidth),
    matrix(`blk.${layer}.attn_v.weight`, hidden, kvWidth),
    matrix(`blk.${layer}.attn_output.weight`, hidden, hidden),
    norm(`blk.${layer}.ffn_norm.weight`),
    matrix(`blk.${layer}.ffn_gate.weight`, hidden, ffn),
    matrix(`blk.${layer}.ffn_up.weight`, hidden, ffn),
    matrix(`blk.${layer}.ffn_down.weight`, ffn, hidden),
  ])
  const head = tied ? [] : [matrix('output.weight', hidden, vocab)]
  return [matrix('token_embd.weight', hidden, vocab), ...layers.flat(), norm('output_norm.weight'), ...head]
}

/** The 256 byte tokens of byte-level BPE, one merge's result, fillers, BOS and EOS. */
function syntheticVocabulary(size: number): { readonly tokens: string[]; readonly types: Int32Array } {
  const NORMAL = 1
  const CONTROL = 3
  const tokens = [...byteTokens(), 'Ġt']
  while (tokens.length < size - 2) tokens.push(`ĠĠ${tokens.length}`)
  tokens.push('<s>', '</s>')
  const types = new Int32Array(size).fill(NORMAL)
  types.fill(CONTROL, size - 2)
  return { tokens, types }
}

/** GPT-2's printable stand-ins for the 256 bytes. */
function byteTokens(): string[] {
  const printable = (byte: number): boolean =>
    (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || (byte >= 174 && byte <= 255)
  let next = 256
  return Array.from({ length: 256 }, (_, byte) => String.fromCharCode(printable(byte) ? byte : next++))
}

/** A norm's weights: around one, unlike each other. */
function nearOne(length: number, seed: number): Uint8Array {
  const random = xorshift(seed)
  const values = Float32Array.from({ length }, () => 0.9 + 0.2 * (random() / 2 ** 32))
  return new Uint8Array(values.buffer)
}

function* randomBlocks(
  type: TensorType,
  dims: readonly number[],
  deviation: number,
  seed: number,
): Generator<Uint8Array> {
  const { blockBytes } = tensorTypeLayout(ggmlTypeOf(type))!
  const random = xorshift(seed)
  const total = tensorBytes({ type, dims })
  const most = Math.floor(PIECE_BYTES / blockBytes / 4) * 4 * blockBytes
  for (let done = 0; done < total; done += most) {
    const bytes = new Uint8Array(Math.ceil(Math.min(most, total - done) / 4) * 4)
    fill(type, bytes, deviation, random)
    yield bytes.subarray(0, Math.min(most, total - done))
  }
}

/** Fills a piece of whole blocks. Scales vary by a factor of two, so that a scale in the wrong place shows. */
function fill(type: TensorType, bytes: Uint8Array, deviation: number, random: () => number): void {
  const words = new Uint32Array(bytes.buffer)
  const floats = new Float32Array(bytes.buffer)
  if (type === 'F32') {
    for (let i = 0; i < floats.length; i++) floats[i] = deviation * Math.sqrt(3) * (random() / 2 ** 31 - 1)
    return
  }
  for (let i = 0; i < words.length; i++) words[i] = random()
  const { blockBytes } = tensorTypeLayout(ggmlTypeOf(type))!
  const view = new DataView(bytes.buffer)
  for (let at = 0; at + blockBytes <= bytes.length; at += blockBytes) {
    const spread = 0.7 + 0.7 * (random() / 2 ** 32)
    setScales(type, view, at, deviation * spread)
  }
}

/** Puts a block's scales where its format has them, so that its weights have about this deviation; see ggml-common.h. */
function setScales(type: TensorType, view: DataView, at: number, deviation: number): void {
  const half = (offset: number, value: number): void => view.setUint16(at + offset, toHalf(value), true)
  switch (type) {
    case 'F32':
      return
    case 'F16':
      half(0, deviation * (2 * (view.getUint16(at, true) / 65_536) - 1) * 1.7)
      return
    case 'BF16': {
      view.setUint16(at, bf16Of(deviation * (2 * (view.getUint16(at, true) / 65_536) - 1) * 1.7), true)
      return
    }
    case 'Q4_0':
      half(0, deviation / 4.6)
      evenNibbles(view, at + 2, 16)
      return
    case 'Q4_1':
      half(0, deviation / 4.6)
      half(2, (-7.5 * deviation) / 4.6)
      return
    case 'Q5_0':
      half(0, deviation / 9.2)
      return
    case 'Q5_1':
      half(0, deviation / 9.2)
      half(2, (-15.5 * deviation) / 9.2)
      return
    case 'Q8_0':
      half(0, deviation / 74)
      return
    case 'Q2_K':
      half(80, deviation / 9)
      half(82, deviation / 6)
      return
    case 'Q3_K':
      half(108, deviation / 42)
      return
    case 'Q4_K':
    case 'Q5_K':
      half(0, deviation / (type === 'Q4_K' ? 170 : 340))
      half(2, deviation / 22)
      return
    case 'Q6_K':
      half(208, deviation / 1350)
      return
  }
}

/** A nibble of 0 means -8, which has no partner: without it the mean is zero. */
function evenNibbles(view: DataView, at: number, count: number): void {
  for (let i = at; i < at + count; i++) {
    const byte = view.getUint8(i)
    view.setUint8(i, (byte & 15 || 8) | ((byte >> 4 || 8) << 4))
  }
}

/** Rounds a normal, moderate number to half precision by cutting; good enough for random scales. */
function toHalf(value: number): number {
  const magnitude = Math.abs(value)
  if (magnitude < 2 ** -14) return Math.round(magnitude * 2 ** 24) | (value < 0 ? 0x8000 : 0)
  const exponent = Math.floor(Math.log2(magnitude))
  const fraction = Math.floor((magnitude / 2 ** exponent - 1) * 1024)
  return ((exponent + 15) << 10) | fraction | (value < 0 ? 0x8000 : 0)
}

function bf16Of(value: number): number {
  const bits = new DataView(new ArrayBuffer(4))
  bits.setFloat32(0, value)
  return bits.getUint16(0)
}

/** Marsaglia's xorshift32: unsigned 32-bit numbers, fast enough to fill hundreds of megabytes. */
function xorshift(seed: number): () => number {
  let state = (Math.imul(seed + 1, 0x9e3779b1) | 1) >>> 0
  return () => {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    state >>>= 0
    return state
  }
}
