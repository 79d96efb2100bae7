import type { KernelRotary } from './types.ts'

/** Cosines and sines by position, grown as positions are asked for. */
export interface RotaryTable {
  /** Floats per position: cos, sin, cos, sin, … of each pair, a multiple of 4. */
  readonly floats: number
  /** Copies the rows of positions `start … start + rows - 1` to `into` at `at`. */
  copy(start: number, rows: number, into: Float32Array, at: number): void
}

/** Floats of a position's row for this many rotary dimensions. */
export const rotaryFloats = (ropeDims: number): number => Math.ceil(ropeDims / 4) * 4

/**
 * Pair i of position p turns by p * theta^(-2 i / dims), as in llama.cpp's `llama` architecture (or p times the frequency that
 * is given); computed in double precision
 * and rounded once, so a position's row never depends on when it was asked for. The first `positions` rows are made at once.
 */
export function rotaryTable({ ropeTheta, ropeDims, frequencies }: KernelRotary, positions = 0): RotaryTable {
  const floats = rotaryFloats(ropeDims)
  // A row is padded to whole vectors with pairs that do not turn.
  const turns = Float64Array.from({ length: floats / 2 }, (_, i) =>
    2 * i < ropeDims ? (frequencies?.[i] ?? ropeTheta ** ((-2 * i) / ropeDims)) : 0,
  )
  let table = new Float32Array(0)
  let known = 0
  const grow = (wanted: number): void => {
    const wider = new Float32Array(wanted * floats)
    wider.set(table)
    table = wider
    for (; known < wanted; known++) {
      for (let i = 0; i < turns.length; i++) {
        table[known * floats + 2 * i] = Math.cos(known * turns[i]!)
        table[known * floats + 2 * i + 1] = Math.sin(known * turns[i]!)
      }
    }
  }
  grow(positions)
  return {
    floats,
    copy(start, rows, into, at) {
      const end = start + rows
      if (end > known) grow(Math.max(end, known * 2, 256))
      into.set(table.subarray(start * floats, end * floats), at)
    },
  }
}
