import { ModelError } from '../errors.ts'
import type { TensorInfo } from '../gguf/read.ts'
import { ggmlTypeOf, type TensorType, tensorTypeLayout } from '../gguf/tensor-types.ts'
import { dequantizer } from './dequantize.ts'
import { halfTable } from './half.ts'
import type { WeightsSource } from './source.ts'
import { StageBuffer } from './stage-buffer.ts'

/** Weights per scale. The only block size whose rows are bit-exact for every batch size (level 4, MLAS). */
export const BLOCK = 32

/** How a matrix is held for the dense layers. */
export type HeldForm = 'f32' | 'q8' | 'q4'

/**
 * A matrix ready for its graph node: rows x columns, row by row.
 * `q4` and `q8`: unsigned weights around 8 and 128, two to a byte (low nibble first) or one, and a f32 scale per block.
 */
export interface HeldMatrix {
  readonly form: HeldForm
  readonly rows: number
  readonly columns: number
  /** f32 weights, or the packed ones. */
  readonly weights: Uint8Array
  readonly scales: Float32Array | null
}

const PIECE_ELEMENTS = 1024 * 1024

/** 4- and 8-bit types keep their width; F32 too; all others become 8 bit, or f32 where a row is no whole number of blocks. */
export function heldForm(tensor: TensorInfo): HeldForm {
  if (tensor.type === 'F32') return 'f32'
  if (tensor.type === 'Q4_0') return 'q4'
  return tensor.dims[0]! % BLOCK === 0 ? 'q8' : 'f32'
}

export function heldBytes(form: HeldForm, elements: number): { readonly weights: number; readonly scales: number } {
  const scales = (elements / BLOCK) * 4
  switch (form) {
    case 'f32':
      return { weights: elements * 4, scales: 0 }
    case 'q8':
      return { weights: elements, scales }
    case 'q4':
      return { weights: elements / 2, scales }
  }
}

/**
 * Reads matrices of one width and held form, one under the other. Streams in pieces of about a million weights: beside the
 * result no more than a few megabytes are held.
 */
export function readMatrix(source: WeightsSource, tensors: readonly TensorInfo[], room: StageBuffer): HeldMatrix {
  const [first] = tensors
  if (first === undefined) throw new RangeError('no tensor to read')
  const form = heldForm(first)
  const columns = first.dims[0]!
  const rows = tensors.reduce((sum, tensor) => sum + tensor.elements / columns, 0)
  const bytes = heldBytes(form, rows * columns)
  const weights = room.take(bytes.weights)
  const scales = form === 'f32' ? null : floatsOf(room.take(bytes.scales))
  let at = 0
  for (const tensor of tensors) {
    convert(source, tensor, form, weights, scales, at)
    at += tensor.elements
  }
  return { form, rows, columns, weights, scales }
}

/** What `readMatrix` will take for these tensors. */
export function matrixBytes(tensors: readonly TensorInfo[]): number {
  const form = heldForm(tensors[0]!)
  const { weights, scales } = heldBytes(
    form,
    tensors.reduce((sum, tensor) => sum + tensor.elements, 0),
  )
  return StageBuffer.aligned(weights) + (form === 'f32' ? 0 : StageBuffer.aligned(scales))
}

/** Dequantises a whole small tensor, such as a norm. */
export function readVector(source: WeightsSource, tensor: TensorInfo): Float32Array {
  const values = new Float32Array(tensor.elements)
  eachPiece(source, tensor, (piece, blocks, done) => dequantizer(tensor.type)(piece, 0, blocks, values, done))
  expectFinite(tensor, values)
  return values
}

function convert(
  source: WeightsSource,
  tensor: TensorInfo,
  form: HeldForm,
  weights: Uint8Array,
  scales: Float32Array | null,
  at: number,
): void {
  const floats = form === 'f32' ? floatsOf(weights) : null
  const scratch = floats === null && !isHeldWidth(tensor.type) ? new Float32Array(PIECE_ELEMENTS) : null
  eachPiece(source, tensor, (piece, blocks, done) => {
    const to = at + done
    if (floats !== null) {
      const elements = blocks * blockOf(tensor.type)
      dequantizer(tensor.type)(piece, 0, blocks, floats, to)
      expectFinite(tensor, floats.subarray(to, to + elements))
    } else if (tensor.type === 'Q4_0') {
      repackQ4(piece, blocks, weights, scales!, to)
    } else if (tensor.type === 'Q8_0') {
      repackQ8(piece, blocks, weights, scales!, to)
    } else {
      dequantizer(tensor.type)(piece, 0, blocks, scratch!, 0)
      const elements = blocks * blockOf(tensor.type)
      expectFinite(tensor, scratch!.subarray(0, elements))
      quantizeQ8(scratch!, elements, weights, scales!, to)
    }
  })
  if (scales !== null) expectFinite(tensor, scales.subarray(at / BLOCK, (at + tensor.elements) / BLOCK))
}

function floatsOf(bytes: Uint8Array): Float32Array {
  return new Float32Array(bytes.buffer, bytes.byteOffset, bytes.byteLength / 4)
}

function isHeldWidth(type: TensorType): boolean {
  return type === 'Q4_0' || type === 'Q8_0'
}

function blockOf(type: TensorType): number {
  return tensorTypeLayout(ggmlTypeOf(type))!.block
}

function eachPiece(
  source: WeightsSource,
  tensor: TensorInfo,
  use: (piece: Uint8Array, blocks: number, elementsDone: number) => void,
): void {
  const { block, blockBytes } = tensorTypeLayout(ggmlTypeOf(tensor.type))!
  const blocks = tensor.elements / block
  const perPiece = Math.min(blocks, PIECE_ELEMENTS / block)
  const piece = new Uint8Array(perPiece * blockBytes)
  for (let done = 0; done < blocks; done += perPiece) {
    const now = Math.min(perPiece, blocks - done)
    const part = piece.subarray(0, now * blockBytes)
    source.read(tensor, done * blockBytes, part)
    use(part, now, done * block)
  }
}

/** ggml keeps weights i and i + 16 of a block in one byte, MatMulNBits 2i and 2i + 1. */
function repackQ4(piece: Uint8Array, blocks: number, weights: Uint8Array, scales: Float32Array, at: number): void {
  const half = halfTable()
  let to = at / 2
  for (let b = 0, from = 0; b < blocks; b++, from += 18, to += 16) {
    scales[at / BLOCK + b] = half[piece[from]! | (piece[from + 1]! << 8)]!
    for (let i = 0; i < 8; i++) {
      const first = piece[from + 2 + 2 * i]!
      const second = piece[from + 3 + 2 * i]!
      weights[to + i] = (first & 15) | ((second & 15) << 4)
      weights[to + 8 + i] = (first >> 4) | (second & 240)
    }
  }
}

/** Signed to unsigned around 128, MatMulNBits' zero point. */
function repackQ8(piece: Uint8Array, blocks: number, weights: Uint8Array, scales: Float32Array, at: number): void {
  const half = halfTable()
  for (let b = 0, from = 0; b < blocks; b++, from += 34) {
    scales[at / BLOCK + b] = half[piece[from]! | (piece[from + 1]! << 8)]!
    const to = at + BLOCK * b
    for (let i = 0; i < BLOCK; i++) weights[to + i] = piece[from + 2 + i]! ^ 128
  }
}

/** Symmetric, to the nearest of 255 steps, halves away from zero as ggml's Q8_0; the scale stays f32. */
function quantizeQ8(values: Float32Array, count: number, weights: Uint8Array, scales: Float32Array, at: number): void {
  for (let from = 0; from < count; from += BLOCK) {
    let largest = 0
    for (let i = 0; i < BLOCK; i++) largest = Math.max(largest, Math.abs(values[from + i]!))
    const scale = Math.fround(largest / 127)
    scales[(at + from) / BLOCK] = scale
    const inverse = scale === 0 ? 0 : 1 / scale
    for (let i = 0; i < BLOCK; i++) {
      const x = values[from + i]! * inverse
      const q = Math.sign(x) * Math.floor(Math.abs(x) + 0.5)
      weights[at + from + i] = 128 + Math.max(-127, Math.min(127, q))
    }
  }
}

function expectFinite(tensor: TensorInfo, values: Float32Array): void {
  for (const value of values) {
    if (Number.isFinite(value)) continue
    throw new ModelError({
      code: 'not_finite',
      message: `tensor ${tensor.name} holds a value that is not finite`,
      details: { tensor: tensor.name },
    })
  }
}
