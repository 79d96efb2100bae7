/**
 * The dense layers of a llama decoder as ONNX graphs, cut where attention stands. `MatMulNBits` at accuracy level 4 and
 * block 32, `Gemm` with constant weights, RMS norm and SiLU: the operators whose rows have the same bits in every batch.
 */
import type { HeldMatrix } from '../weights/matrix.ts'
import { BLOCK } from '../weights/matrix.ts'
import { type BuiltGraph, GraphBuilder } from './onnx.ts'

/** Activations are quantised to 8 bit per block; levels 0 and 1 differ between one row and several. */
const ACCURACY_LEVEL = 4

/** Norm and projections in front of attention. `qkv` is one matrix where the file's three are held alike, else three. */
export interface BeforeAttention {
  readonly norm: Float32Array
  readonly qkv: readonly HeldMatrix[]
}

/** Output projection, norm and feed-forward after attention. `gateUp` is one matrix (gate above up) or two. */
export interface AfterAttention {
  readonly output: HeldMatrix
  readonly norm: Float32Array
  readonly gateUp: readonly HeldMatrix[]
  readonly down: HeldMatrix
}

export interface Head {
  readonly norm: Float32Array
  readonly output: HeldMatrix
}

/** x -> qkv. */
export function firstGraph(before: BeforeAttention, hidden: number, epsilon: number): BuiltGraph {
  const graph = new DenseGraph(epsilon)
  graph.builder.input('x', hidden)
  graph.before('x', before)
  return graph.builder.finish('first')
}

/** x, attention -> x of the next layer, its qkv. */
export function middleGraph(
  after: AfterAttention,
  before: BeforeAttention,
  hidden: number,
  epsilon: number,
): BuiltGraph {
  const graph = new DenseGraph(epsilon)
  graph.after(after, hidden, 'next')
  graph.builder.output('next', 'float32', ['rows', hidden])
  graph.before('next', before)
  return graph.builder.finish('middle')
}

/**
 * x, attention -> logits, their largest index and their sum. Greedy decoding fetches the last two alone, so that logits
 * are not copied; a sum that is not finite tells of a logit that is not.
 */
export function lastGraph(after: AfterAttention, head: Head, hidden: number, epsilon: number): BuiltGraph {
  const graph = new DenseGraph(epsilon)
  const vocab = head.output.rows
  graph.after(after, hidden, 'hidden')
  graph.matmul(graph.norm('hidden', head.norm, 'head_norm'), head.output, 'logits')
  graph.builder.output('logits', 'float32', ['rows', vocab])
  graph.builder.node('ArgMax', ['logits'], 'token', { ints: { axis: 1, keepdims: 0 } })
  graph.builder.output('token', 'int64', ['rows'])
  const axis = graph.builder.constant('vocab_axis', 'int64', [1], new Uint8Array(BigInt64Array.of(1n).buffer))
  graph.builder.node('ReduceSum', ['logits', axis], 'sum', { ints: { keepdims: 0 } })
  graph.builder.output('sum', 'float32', ['rows'])
  return graph.builder.finish('last')
}

class DenseGraph {
  readonly builder = new GraphBuilder()
  readonly #epsilon: number

  constructor(epsilon: number) {
    this.#epsilon = epsilon
  }

  before(x: string, { norm, qkv }: BeforeAttention): void {
    const input = this.norm(x, norm, 'attention_norm')
    const width = qkv.reduce((sum, matrix) => sum + matrix.rows, 0)
    if (qkv.length === 1) {
      this.matmul(input, qkv[0]!, 'qkv')
    } else {
      const parts = qkv.map((matrix, i) => this.matmul(input, matrix, `qkv_${i}`))
      this.builder.node('Concat', parts, 'qkv', { ints: { axis: 1 } })
    }
    this.builder.output('qkv', 'float32', ['rows', width])
  }

  after({ output, norm, gateUp, down }: AfterAttention, hidden: number, result: string): void {
    const { builder } = this
    builder.input('x', hidden)
    builder.input('attention', output.columns)
    builder.node('Add', ['x', this.matmul('attention', output, 'attended')], 'x_attended')
    const [gate, up] = this.#gateUp(this.norm('x_attended', norm, 'ffn_norm'), gateUp)
    builder.node('Sigmoid', [gate], 'gate_sigmoid')
    builder.node('Mul', [gate, 'gate_sigmoid'], 'gate_silu')
    builder.node('Mul', ['gate_silu', up], 'ffn_inner')
    builder.node('Add', ['x_attended', this.matmul('ffn_inner', down, 'ffn_out')], result)
  }

  norm(x: string, scale: Float32Array, name: string): string {
    const weights = this.builder.constant(`${name}_scale`, 'float32', [scale.length], bytesOf(scale))
    return this.builder.node('SimplifiedLayerNormalization', [x, weights], name, {
      floats: { epsilon: this.#epsilon },
    })
  }

  matmul(x: string, matrix: HeldMatrix, name: string): string {
    const { builder } = this
    const { form, rows, columns, weights, scales } = matrix
    if (form === 'f32' || scales === null) {
      const w = builder.external(`${name}_w`, 'float32', [rows, columns], weights)
      return builder.node('Gemm', [x, w], name, { ints: { transB: 1 } })
    }
    const bits = form === 'q4' ? 4 : 8
    const blocks = columns / BLOCK
    const w = builder.external(`${name}_w`, 'uint8', [rows, blocks, (BLOCK * bits) / 8], weights)
    const s = builder.external(`${name}_s`, 'float32', [rows * blocks], bytesOf(scales))
    return builder.node('MatMulNBits', [x, w, s], name, {
      domain: 'com.microsoft',
      ints: { K: columns, N: rows, bits, block_size: BLOCK, accuracy_level: ACCURACY_LEVEL },
    })
  }

  #gateUp(input: string, matrices: readonly HeldMatrix[]): readonly [string, string] {
    if (matrices.length === 1) {
      this.builder.nodes('Split', [this.matmul(input, matrices[0]!, 'gate_up')], ['gate', 'up'], {
        ints: { axis: 1, num_outputs: 2 },
      })
    } else {
      this.matmul(input, matrices[0]!, 'gate')
      this.matmul(input, matrices[1]!, 'up')
    }
    return ['gate', 'up']
  }
}

function bytesOf(values: Float32Array): Uint8Array {
  return new Uint8Array(values.buffer, values.byteOffset, values.byteLength)
}
