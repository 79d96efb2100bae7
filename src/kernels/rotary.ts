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
 * Pair i of position p turns by p * theta^(-2 i / dims), as in llama.cpp's `llama` architecture; computed in double precision
 * and rounded once, so a position's row never depends on when it was asked for.
 */
export function rotaryTable({ ropeTheta, ropeDims }: KernelRotary): RotaryTable {
  const floats = rotaryFloats(ropeDims)
  let table = new Float32Array(0)
  let known = 0
  const grow = (positions: number): void => {
    const wider = new Float32Array(positions * floats)
    wider.set(table.subarray(0, known * floats))
    table = wider
    for (; known < positions; known++) {
      for (let i = 0; i < floats; i += 2) {
        const angle = i < ropeDims ? known * ropeTheta ** (-i / ropeDims) : 0
        table[known * floats + i] = Math.cos(angle)
        table[known * floats + i + 1] = Math.sin(angle)
      }
    }
  }
  return {
    floats,
    copy(start, rows, into, at) {
      if (floats === 0) return
      const end = start + rows
      if (end > known) grow(Math.max(end, known * 2, 256))
      into.set(table.subarray(start * floats, end * floats), at)
    },
  }
}
