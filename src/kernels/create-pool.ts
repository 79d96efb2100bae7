import { chacha20 } from './chacha20.ts'
import { KernelsError } from './errors.ts'
import { poolBytes, poolLayout } from './layout.ts'
import type { KernelShape, PoolMemory } from './types.ts'

const LOCAL_SEALS = new TextEncoder().encode('local seals.')

/**
 * A pool with every page free (owner 0, nothing filled) and zeroed. Memory is reserved, and touched page by page as it is used.
 * `key`: two random words for the guard rows. `sealKey`: 32 bytes that all processes whose seals must agree share; without it
 * seals agree only among pools made with the same `key`.
 * Throws `bad_shape`, `pool_too_large`, or `no_memory` if the system refuses to reserve that much.
 */
export function createPool(shape: KernelShape, key: BigUint64Array, sealKey?: Uint8Array): PoolMemory {
  poolLayout(shape)
  if (key.length !== 2) throw new KernelsError({ code: 'bad_call', message: 'a pool key is two 64-bit words' })
  if (sealKey && sealKey.length !== 32) throw new KernelsError({ code: 'bad_call', message: 'a seal key is 32 bytes' })
  const chunks = poolBytes(shape) / 65_536
  return {
    memory: reserve(chunks),
    shape,
    key: key.slice(),
    sealKey: sealKey?.slice() ?? localSealKey(key),
  }
}

function reserve(chunks: number): WebAssembly.Memory {
  try {
    return new WebAssembly.Memory({ initial: chunks, maximum: chunks, shared: true })
  } catch (cause) {
    const message = `the system refused ${chunks * 65_536} bytes for a KV pool`
    throw new KernelsError({ code: 'no_memory', message, cause })
  }
}

function localSealKey(key: BigUint64Array): Uint8Array {
  const seed = new Uint8Array(32)
  new BigUint64Array(seed.buffer).set(key)
  return chacha20(seed, LOCAL_SEALS, 32)
}
