import { chacha20 } from './chacha20.ts'
import { KernelsError } from './errors.ts'
import { jointLayout, poolBytes, poolLayout } from './layout.ts'
import type { KernelShape, PoolMemory } from './types.ts'

const LOCAL_SEALS = new TextEncoder().encode('local seals.')

/** What `createPool` wants to know of a pool, by name. */
export interface PoolRequest {
  readonly shape: KernelShape
  readonly key: BigUint64Array
  readonly sealKey?: Uint8Array
}

/**
 * A pool with every page free (owner 0, nothing filled) and zeroed. Memory is reserved, and touched page by page as it is used.
 * `key`: two random words for the guard rows. `sealKey`: 32 bytes that all processes whose seals must agree share; without it
 * seals agree only among pools made with the same `key`.
 * Throws `bad_shape`, `pool_too_large`, or `no_memory` if the system refuses to reserve that much.
 */
export function createPool(shape: KernelShape, key: BigUint64Array, sealKey?: Uint8Array): PoolMemory {
  poolLayout(shape)
  return { memory: reserve(poolBytes(shape)), shape, ...keys(key, sealKey) }
}

/**
 * Several pools, one after the other in one memory: each as `createPool` makes it, and each one's rows within reach of the others'
 * threads. Throws as `createPool` does; `pool_too_large` judges them together.
 */
export function createPools(requests: readonly PoolRequest[]): PoolMemory[] {
  for (const { shape } of requests) poolLayout(shape)
  const { bases, bytes } = jointLayout(requests.map(({ shape }) => shape))
  const pools = requests.map(({ shape, key, sealKey }, at) => ({ shape, base: bases[at]!, ...keys(key, sealKey) }))
  const memory = reserve(bytes)
  return pools.map((pool) => ({ memory, ...pool }))
}

function keys(key: BigUint64Array, sealKey: Uint8Array | undefined): Pick<PoolMemory, 'key' | 'sealKey'> {
  if (key.length !== 2) throw new KernelsError({ code: 'bad_call', message: 'a pool key is two 64-bit words' })
  if (sealKey && sealKey.length !== 32) throw new KernelsError({ code: 'bad_call', message: 'a seal key is 32 bytes' })
  return { key: key.slice(), sealKey: sealKey?.slice() ?? localSealKey(key) }
}

function reserve(bytes: number): WebAssembly.Memory {
  const chunks = bytes / 65_536
  try {
    return new WebAssembly.Memory({ initial: chunks, maximum: chunks, shared: true })
  } catch (cause) {
    throw new KernelsError({ code: 'no_memory', message: `the system refused ${bytes} bytes for a KV pool`, cause })
  }
}

function localSealKey(key: BigUint64Array): Uint8Array {
  const seed = new Uint8Array(32)
  new BigUint64Array(seed.buffer).set(key)
  return chacha20(seed, LOCAL_SEALS, 32)
}
