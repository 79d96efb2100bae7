import './no-telemetry.ts'
import { InferenceSession, Tensor } from 'onnxruntime-node'
import type { LayerTensors, ModelLayout } from './architectures/architecture.ts'
import { ModelError } from './errors.ts'
import type { TensorInfo } from './gguf/read.ts'
import {
  type AfterAttention,
  type BeforeAttention,
  firstGraph,
  type Head,
  lastGraph,
  middleGraph,
} from './graphs/decoder.ts'
import type { BuiltGraph } from './graphs/onnx.ts'
import { type HeldMatrix, heldForm, matrixBytes, readMatrix, readVector } from './weights/matrix.ts'
import type { WeightsSource } from './weights/source.ts'
import { StageBuffer } from './weights/stage-buffer.ts'

/** Longer than what lies between two operators, shorter than what lies between two runs of one session. */
const SPIN_MICROSECONDS = '60'

/** What the last stage gives for the rows it was handed. `logits` is rows x vocab, null unless asked for. */
export interface HeadOutput {
  readonly tokens: BigInt64Array
  /** Sum of each row's logits: finite exactly when they all are (f32 sums of plausible logits do not overflow). */
  readonly sums: Float32Array
  readonly logits: Float32Array | null
}

export interface LayerOutput {
  readonly x: Float32Array
  readonly qkv: Float32Array
}

/**
 * The sessions of one model: one before the first attention, one between each two, one after the last. Row i of an output
 * depends on row i of the inputs alone, bit for bit, whatever stands in the other rows and however many there are.
 */
export class DenseStack {
  readonly #sessions: readonly InferenceSession[]
  readonly #layout: ModelLayout

  private constructor(sessions: readonly InferenceSession[], layout: ModelLayout) {
    this.#sessions = sessions
    this.#layout = layout
  }

  /** Reads the weights stage by stage; beside the sessions no more than one stage's weights are held at a time. */
  static async load(source: WeightsSource, threads: number): Promise<DenseStack> {
    const { layout } = source
    const { tensors } = layout
    const { hidden, normEps, layers } = layout.shape
    const read = new StageReader(source)
    const sessions: InferenceSession[] = []
    const add = async (build: () => BuiltGraph): Promise<void> => {
      sessions.push(await createSession(build(), threads))
      read.reset()
    }
    try {
      // The last stage holds the largest matrix: its passing copies are cheapest while nothing else is loaded.
      await add(() => {
        const after = read.after(tensors.layers[layers - 1]!)
        return lastGraph(after, read.head(), hidden, normEps)
      })
      await add(() => firstGraph(read.before(tensors.layers[0]!), hidden, normEps))
      for (let layer = 0; layer + 1 < layers; layer++) {
        await add(() => {
          const after = read.after(tensors.layers[layer]!)
          return middleGraph(after, read.before(tensors.layers[layer + 1]!), hidden, normEps)
        })
      }
    } catch (error) {
      await Promise.all(sessions.map((session) => session.release()))
      throw error
    }
    const [last, ...others] = sessions
    return new DenseStack([...others, last!], layout)
  }

  /** rows x hidden -> rows x (heads + 2 kvHeads) x headDim. */
  async first(x: Float32Array): Promise<Float32Array> {
    const { qkv } = await this.#sessions[0]!.run({ x: this.#rows(x, this.#layout.shape.hidden) }, ['qkv'])
    return qkv!.data as Float32Array
  }

  /** From behind the attention of `layer` to before that of the next. */
  async middle(layer: number, x: Float32Array, attention: Float32Array): Promise<LayerOutput> {
    const results = await this.#sessions[layer + 1]!.run(this.#afterInputs(x, attention), ['next', 'qkv'])
    return { x: results.next!.data as Float32Array, qkv: results.qkv!.data as Float32Array }
  }

  /** From behind the last attention to the vocabulary. */
  async last(x: Float32Array, attention: Float32Array, withLogits: boolean): Promise<HeadOutput> {
    const outputs = withLogits ? ['token', 'sum', 'logits'] : ['token', 'sum']
    const results = await this.#sessions.at(-1)!.run(this.#afterInputs(x, attention), outputs)
    return {
      tokens: results.token!.data as BigInt64Array,
      sums: results.sum!.data as Float32Array,
      logits: withLogits ? (results.logits!.data as Float32Array) : null,
    }
  }

  async close(): Promise<void> {
    for (const session of this.#sessions) await session.release()
  }

  #afterInputs(x: Float32Array, attention: Float32Array): { readonly x: Tensor; readonly attention: Tensor } {
    const { hidden, heads, headDim } = this.#layout.shape
    return { x: this.#rows(x, hidden), attention: this.#rows(attention, heads * headDim) }
  }

  #rows(data: Float32Array, width: number): Tensor {
    return new Tensor('float32', data, [data.length / width, width])
  }
}

/** Reads the parts of stages into one buffer that the next stage uses again. */
class StageReader {
  readonly #source: WeightsSource
  readonly #room: StageBuffer

  constructor(source: WeightsSource) {
    this.#source = source
    const { layers, output } = source.layout.tensors
    const before = (layer: LayerTensors): number => groupBytes([layer.query, layer.key, layer.value])
    const after = (layer: LayerTensors): number =>
      matrixBytes([layer.attentionOutput]) + groupBytes([layer.gate, layer.up]) + matrixBytes([layer.down])
    const stages = layers.map((layer, i) => {
      const next = layers[i + 1]
      return after(layer) + (next === undefined ? matrixBytes([output]) : before(next))
    })
    this.#room = new StageBuffer(Math.max(before(layers[0]!), ...stages))
  }

  reset(): void {
    this.#room.reset()
  }

  before(layer: LayerTensors): BeforeAttention {
    return {
      norm: readVector(this.#source, layer.attentionNorm),
      qkv: this.#group([layer.query, layer.key, layer.value]),
    }
  }

  after(layer: LayerTensors): AfterAttention {
    return {
      output: this.#matrix([layer.attentionOutput]),
      norm: readVector(this.#source, layer.ffnNorm),
      gateUp: this.#group([layer.gate, layer.up]),
      down: this.#matrix([layer.down]),
    }
  }

  head(): Head {
    const { output, outputNorm } = this.#source.layout.tensors
    return { norm: readVector(this.#source, outputNorm), output: this.#matrix([output]) }
  }

  #matrix(tensors: readonly TensorInfo[]): HeldMatrix {
    return readMatrix(this.#source, tensors, this.#room)
  }

  #group(tensors: readonly TensorInfo[]): HeldMatrix[] {
    return groups(tensors).map((group) => this.#matrix(group))
  }
}

/** One group where all are held alike and so become one matrix, else one each. */
function groups(tensors: readonly TensorInfo[]): (readonly TensorInfo[])[] {
  const alike = new Set(tensors.map(heldForm)).size === 1
  return alike ? [tensors] : tensors.map((tensor) => [tensor])
}

function groupBytes(tensors: readonly TensorInfo[]): number {
  return groups(tensors).reduce((sum, group) => sum + matrixBytes(group), 0)
}

async function createSession({ model, externalData }: BuiltGraph, threads: number): Promise<InferenceSession> {
  try {
    return await InferenceSession.create(model, {
      executionProviders: ['cpu'],
      graphOptimizationLevel: 'all',
      executionMode: 'sequential',
      intraOpNumThreads: threads,
      interOpNumThreads: 1,
      // The arena keeps the largest pass's memory for ever and is not faster.
      enableCpuMemArena: false,
      externalData,
      // Each session owns its threads, so one that spins on takes time from the others. A moment spans the gap between two
      // operators, where falling asleep costs more than the wait.
      extra: { session: { intra_op: { allow_spinning: '1', spin_duration_us: SPIN_MICROSECONDS } } },
      logSeverityLevel: 3,
    })
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause)
    throw new ModelError({ code: 'runtime', message: `ONNX Runtime cannot load the model: ${reason}`, cause })
  }
}
