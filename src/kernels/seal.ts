import { chacha20 } from './chacha20.ts'
import { KernelsError } from './errors.ts'
import type { PoolLayout } from './layout.ts'
import type { KernelExports } from './module.ts'
import type { PageRows } from './rows.ts'
import type { PoolKernels, PoolMemory } from './types.ts'

// Within the lane's head.
const NH_KEY = 128
const LINEAGE = 1216
const SEAL = 1248
/** 1 KB of key and 16 bytes more for the shifted second pass. */
const NH_KEY_BYTES = 1040
const NH_NONCE = new TextEncoder().encode('bulkhead nh ')

/** The NH key that every process with this seal key uses: ChaCha20's keystream. */
export function nhKey(sealKey: Uint8Array): Uint8Array {
  return chacha20(sealKey, NH_NONCE, NH_KEY_BYTES)
}

export interface SealParts {
  readonly pool: PoolMemory
  readonly layout: PoolLayout
  readonly laneStart: number
  readonly rows: PageRows
  readonly wasm: KernelExports
  readonly bytes: Uint8Array
}

/**
 * Seals (R8). The rows' bytes, in the order of `readRows`, are cut into blocks B_1 … B_n of 1 KB (the last may be shorter).
 *
 *     x_i  = NH_K(B_i) + 2^64 NH_K'(B_i)               K' is K shifted by 16 bytes; words of 32 bits, sums modulo 2^64
 *     h    = c_0 k^(n+1) + x_1 k^n + … + x_n k         modulo p = 2^127 - 1; c_0 = (rows, layer, bytes, heads and width)
 *     seal = h + pad                                   modulo 2^128
 *
 * k (four limbs of 28 bits out of the first 16 bytes) and the pad (the last 16) are the lineage key's; K is the seal key's.
 *
 * **Bound.** Let two different row contents of equal shape have one lineage key. Some block differs. Toeplitz NH of two passes
 * on words of 32 bits is 2^-64-almost-Δ-universal on blocks of equal length (Black, Halevi, Krawczyk, Krovetz and Rogaway 1999,
 * theorem 4 and section 5.1; the same construction as UMAC's first layer). x_i and x'_i agree modulo p only if
 * they differ, as integers, by 0, ±p or ±2p; each of these fixes the difference of the first words and, with the borrow, at most
 * two differences of the second (for 0 just one), so with probability at most 9 · 2^-64 < 2^-60.8. Otherwise h - h' is a
 * polynomial in k that is not zero, of degree at most n + 1, with at most n + 1 roots among 2^112 points. For a page of
 * 16 KB, n = 16: at most 9 · 2^-64 + 17 · 2^-112 < 2^-60.
 * Contents of different length have different c_0 (0 < c_0 < p) and so different polynomials: (n + 1) · 2^-112. Content sealed under
 * another lineage key has an independent, uniform pad: 2^-127.
 *
 * Key material never changes between seals, so this detects faults; it is no MAC once seals are shown to an adversary.
 */
export function sealer(parts: SealParts): Pick<PoolKernels, 'seal' | 'sealRows'> {
  const { pool, layout, laneStart, rows, wasm, bytes } = parts
  const { pageSize, kvHeads, headDim } = pool.shape
  const head = headDim * 4
  const width = headDim + 65_536 * kvHeads
  const staging = laneStart + layout.lane.qkv
  bytes.set(nhKey(pool.sealKey), laneStart + NH_KEY)

  /** Address of the rows in canonical order: in place for a full page, gathered in the lane otherwise. */
  const gathered = (page: number, layer: number, count: number): number => {
    const block = rows.blockAt(page, layer)
    if (count === pageSize) return block
    for (let part = 0; part < kvHeads * 2; part++) {
      const from = block + part * pageSize * head
      bytes.copyWithin(staging + part * count * head, from, from + count * head)
    }
    return staging
  }

  const sealOf = (data: number, layer: number, count: number, lineageKey: Uint8Array): Uint8Array => {
    if (lineageKey.length !== 32) throw new KernelsError({ code: 'bad_call', message: 'a lineage key is 32 bytes' })
    const length = rows.rowBytes(count)
    bytes.set(lineageKey, laneStart + LINEAGE)
    wasm.seal(data, length, laneStart + NH_KEY, laneStart + LINEAGE, count, layer, length, width, laneStart + SEAL)
    return bytes.slice(laneStart + SEAL, laneStart + SEAL + 16)
  }

  return {
    seal: (page, layer, count, lineageKey) => sealOf(gathered(page, layer, count), layer, count, lineageKey),
    sealRows(layer, count, from, lineageKey) {
      if (from.length !== rows.rowBytes(rows.rowsAt(count))) {
        throw new KernelsError({ code: 'bad_call', message: `${from.length} bytes are not ${count} rows` })
      }
      bytes.set(from, staging)
      return sealOf(staging, layer, count, lineageKey)
    },
  }
}
