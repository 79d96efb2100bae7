import { freemem } from 'node:os'
import { largestPair, largestPool, poolBytes } from '../kernels/index.ts'
import type { ModelRefusal } from './errors.ts'
import { inspectModel } from './inspect.ts'
import { poolGeometry } from './pool-shape.ts'
import type { ModelInspection } from './types.ts'

/** What `bulkhead models check FILE` says. All sizes in bytes unless named otherwise. */
export interface ModelReport {
  readonly kind: 'ok'
  readonly path: string
  readonly name: string
  readonly architecture: string
  readonly parameters: number
  readonly contextLength: number
  readonly tensorTypes: ModelInspection['tensorTypes']
  /** One line each: what is turned into something else at load. */
  readonly converted: readonly string[]
  readonly weightsDigest: string
  /** Weights as one worker holds them. */
  readonly heldBytes: number
  readonly kvBytesPerToken: number
  readonly pageSize: number
  readonly largestPool: {
    /** Tokens that 32-bit addresses reach, whatever the memory. */
    readonly addressable: number
    /** The same for each of two equal pools in one memory. */
    readonly addressableShared: number
    /** Tokens for which this machine has memory now, in each of the two workers at once; at most `addressable`. */
    readonly inMemory: number
  }
  readonly tokenizer: { readonly kind: 'byte-level BPE' | 'SentencePiece-style'; readonly vocab: number }
  readonly chatTemplate: boolean
}

export interface CheckOptions {
  readonly pageSize: number
  /** Pages that a worker adds to its pool for itself. Default none. */
  readonly extraPages?: number
  /** Bytes of memory that may be used; default: what the machine has free. */
  readonly memory?: number
}

/** A worker's process without weights and pool, with room for one pass. */
const PROCESS_BYTES = 250_000_000
const WORKERS = 2

/** Says what would be loaded from a file and how large its pools can be; loads nothing. */
export async function checkModel(path: string, options: CheckOptions): Promise<ModelReport | ModelRefusal> {
  const inspection = await inspectModel(path)
  if (inspection.kind !== 'ok') return inspection
  const { shape, tokenizer, heldBytes } = inspection
  const { pageSize, memory = freemem(), extraPages = 0 } = options
  const geometry = poolGeometry(shape, pageSize)
  const addressablePages = Math.max(0, largestPool(geometry) - extraPages)
  const sharedPages = Math.max(0, largestPair(geometry) - extraPages)
  const room = memory / WORKERS - heldBytes - PROCESS_BYTES
  const fits = (pages: number): boolean => poolBytes({ ...geometry, pages: pages + extraPages }) <= room
  const memoryPages = largestWhere(addressablePages, fits)
  return {
    kind: 'ok',
    path,
    name: inspection.name,
    architecture: inspection.architecture,
    parameters: inspection.parameters,
    contextLength: shape.contextLength,
    tensorTypes: inspection.tensorTypes,
    converted: inspection.notes,
    weightsDigest: inspection.digest,
    heldBytes,
    kvBytesPerToken: inspection.kvBytesPerToken,
    pageSize,
    largestPool: {
      addressable: addressablePages * pageSize,
      addressableShared: sharedPages * pageSize,
      inMemory: memoryPages * pageSize,
    },
    tokenizer: {
      kind: tokenizer.model === 'gpt2' ? 'byte-level BPE' : 'SentencePiece-style',
      vocab: tokenizer.tokens.length,
    },
    chatTemplate: tokenizer.chatTemplate !== null,
  }
}

/** The largest count from 0 to `most` that holds, where all below it hold too. */
function largestWhere(most: number, holds: (count: number) => boolean): number {
  let low = 0
  let high = most
  while (low < high) {
    const middle = Math.ceil((low + high) / 2)
    if (holds(middle)) low = middle
    else high = middle - 1
  }
  return low
}
