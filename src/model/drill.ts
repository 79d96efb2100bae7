import type { DenseStack } from './dense.ts'
import type { DrillResult, ModelShape } from './types.ts'

/** What is drilled of a DenseStack. */
export type DenseStages = Pick<DenseStack, 'first' | 'middle' | 'last'>

/** Odd and even, below the row counts where matrix kernels are known to change; compared with rows of the largest. */
const BATCHES = [1, 2, 3, 8, 32]
const LARGEST = 33

/** Small batches that later drills repeat one at a time; rows of the largest are remembered for them. */
const AGAIN = [1, 2, 3]

/** R15's premise, tried on this CPU: a row's bits are the same in every batch. Touches no pool. */
export interface InvarianceDrill {
  /**
   * Runs the first, a middle and the last stage over a few made-up rows (one of them large, one zero) in batches of several
   * sizes and compares bytes; takes about as long as a few decode steps.
   */
  full(): Promise<DrillResult>
  /** Repeats one stage in one small batch, by turns, against what `full` computed; a fraction of a decode step. */
  again(turn: number): Promise<DrillResult>
}

/** Matrix kernels are chosen by what the CPU can do, so what holds on one need not hold on another. */
export function invarianceDrill(dense: DenseStages, shape: ModelShape): InvarianceDrill {
  const all = stages(dense, shape)
  const remembered = new Map<Stage, readonly Float32Array[]>()
  let verdict: DrillResult | null = null

  const tried = async (stage: Stage, batch: number, whole: readonly Float32Array[]): Promise<DrillResult> => {
    const part = await stage.run(batch)
    const differs = part.some((values, i) => !sameBytes(values, whole[i]!.subarray(0, values.length)))
    return differs ? { kind: 'variant', stage: stage.name, batch } : { kind: 'invariant' }
  }

  const full = async (): Promise<DrillResult> => {
    for (const stage of all) {
      const whole = await stage.run(LARGEST)
      const kept = Math.max(...AGAIN) / LARGEST
      remembered.set(
        stage,
        whole.map((values) => values.slice(0, Math.round(values.length * kept))),
      )
      for (const batch of BATCHES) {
        const result = await tried(stage, batch, whole)
        if (result.kind === 'variant') return result
      }
    }
    return { kind: 'invariant' }
  }

  const drill: InvarianceDrill = {
    full: async () => {
      verdict = await full()
      return verdict
    },
    again: async (turn) => {
      // What was found variant once is not made good by a batch in which it does not show.
      if (verdict?.kind !== 'invariant') return verdict ?? drill.full()
      const stage = all[turn % all.length]!
      const batch = AGAIN[Math.floor(turn / all.length) % AGAIN.length]!
      verdict = await tried(stage, batch, remembered.get(stage)!)
      return verdict
    },
  }
  return drill
}

function stages(dense: DenseStages, { hidden, heads, headDim, layers }: ModelShape): Stage[] {
  const x = testRows(LARGEST, hidden)
  const attention = testRows(LARGEST, heads * headDim)
  const xOf = (rows: number): Float32Array => x.subarray(0, rows * hidden)
  const attentionOf = (rows: number): Float32Array => attention.subarray(0, rows * heads * headDim)
  const middle: Stage = {
    name: 'middle',
    run: async (rows) => {
      const out = await dense.middle(0, xOf(rows), attentionOf(rows))
      return [out.x, out.qkv]
    },
  }
  return [
    { name: 'first', run: async (rows) => [await dense.first(xOf(rows))] },
    ...(layers > 1 ? [middle] : []),
    { name: 'last', run: async (rows) => [(await dense.last(xOf(rows), attentionOf(rows), true)).logits!] },
  ]
}

interface Stage {
  readonly name: 'first' | 'middle' | 'last'
  readonly run: (rows: number) => Promise<readonly Float32Array[]>
}

/** Rows unlike each other. */
function testRows(rows: number, width: number): Float32Array {
  const values = new Float32Array(rows * width)
  for (let row = 0; row < rows; row++) {
    const size = row === 1 ? 40 : row === 2 ? 0 : 1
    for (let i = 0; i < width; i++) values[row * width + i] = size * Math.sin(1 + 12.9898 * i + 78.233 * row)
  }
  return values
}

function sameBytes(a: Float32Array, b: Float32Array): boolean {
  return (
    Buffer.compare(
      Buffer.from(a.buffer, a.byteOffset, a.byteLength),
      Buffer.from(b.buffer, b.byteOffset, b.byteLength),
    ) === 0
  )
}
