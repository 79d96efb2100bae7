import { KernelsError } from './errors.ts'
import { poolLayout } from './layout.ts'
import { pageRows, readTag } from './rows.ts'
import type { KernelShape, NeighbourPool, PoolMemory } from './types.ts'

const GEOMETRY = ['pageSize', 'layers', 'kvHeads', 'headDim'] as const satisfies readonly (keyof KernelShape)[]

/**
 * What a writer with pool `own` may do to pool `neighbour`. Throws `bad_call` where they do not stand in one memory, or their pages
 * differ in shape. Takes no lane: it computes nothing.
 */
export function openNeighbour(own: PoolMemory, neighbour: PoolMemory): NeighbourPool {
  const bad = (message: string): never => {
    throw new KernelsError({ code: 'bad_call', message })
  }
  if (own.memory.buffer !== neighbour.memory.buffer) bad('the two pools stand in different memories')
  const unlike = GEOMETRY.find((field) => own.shape[field] !== neighbour.shape[field])
  if (unlike !== undefined) bad(`the two pools differ in ${unlike}`)
  const { pageSize, kvHeads, headDim } = own.shape
  const bytes = new Uint8Array(own.memory.buffer)
  const words = new Uint32Array(own.memory.buffer)
  const here = pageRows(own.shape, poolLayout(own.shape, own.base), bytes)
  const layout = poolLayout(neighbour.shape, neighbour.base)
  const there = pageRows(neighbour.shape, layout, bytes)
  const head = headDim * 4
  return {
    tag: (page) => {
      there.blockAt(page, 0)
      return readTag(words, layout, page)
    },
    storeRows: (from, layer, rows, to) => {
      const length = here.rowBytes(rows)
      let source = here.blockAt(from, layer)
      let target = there.blockAt(to, layer)
      if (rows === pageSize) {
        bytes.copyWithin(target, source, source + length)
        return
      }
      for (let part = 0; part < 2 * kvHeads; part++, source += pageSize * head, target += pageSize * head) {
        bytes.copyWithin(target, source, source + rows * head)
      }
    },
  }
}
