/**
 * A strict reader of GGUF headers. `@huggingface/gguf` names the types and is the oracle of the tests, but does not read
 * files here: it never compares a tensor's offset with the file's length, pads a short file with zeros it then reads as
 * data, and scans an array anew for each 2 MB of it. Hostile claims are this room's business.
 * Format: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md (versions 2 and 3, little-endian).
 */
import { fstatSync } from 'node:fs'
import { ModelError } from '../errors.ts'
import { Cursor } from './cursor.ts'
import { type MetadataValue, readMetadataValue } from './metadata.ts'
import { type TensorType, tensorTypeLayout, tensorTypeName } from './tensor-types.ts'

const MAGIC = 0x46554747
const DEFAULT_ALIGNMENT = 32
const MAX_ALIGNMENT = 1024 * 1024
const MAX_KEYS = 65_536
const MAX_TENSORS = 65_536
const MAX_NAME_BYTES = 65_535
const MAX_DIMENSIONS = 4
/** Shortest possible entry: an empty name's length, a type, one byte; for tensors length, dims, one dim, type, offset. */
const MIN_KEY_BYTES = 13
const MIN_TENSOR_BYTES = 32

export interface TensorInfo {
  readonly name: string
  readonly type: TensorType
  /** ggml's order: `dims[0]` is the length of a row. */
  readonly dims: readonly number[]
  /** From the file's first byte; offset + bytes lies within the file. */
  readonly offset: number
  readonly bytes: number
  readonly elements: number
}

export interface GgufHeader {
  readonly version: number
  readonly fileBytes: number
  readonly metadata: ReadonlyMap<string, MetadataValue>
  readonly tensors: ReadonlyMap<string, TensorInfo>
}

/** Reads and judges the header of an open file. Throws ModelError with what is wrong; reads no weights. */
export function readGguf(fd: number): GgufHeader {
  const stat = fstatSync(fd)
  if (!stat.isFile()) throw new ModelError({ code: 'unreadable', message: 'not a regular file' })
  const fileBytes = stat.size
  const cursor = new Cursor(fd, fileBytes)
  const version = readVersion(cursor)
  const tensorCount = readCount(cursor, 'tensors', MAX_TENSORS, MIN_TENSOR_BYTES)
  const keyCount = readCount(cursor, 'metadata keys', MAX_KEYS, MIN_KEY_BYTES)
  const metadata = new Map<string, MetadataValue>()
  for (let i = 0; i < keyCount; i++) {
    const key = cursor.string(`metadata key ${i}`, MAX_NAME_BYTES)
    if (metadata.has(key)) throw duplicate(`metadata key ${key}`)
    metadata.set(key, readMetadataValue(cursor, key))
  }
  const claims: TensorClaim[] = []
  const names = new Set<string>()
  for (let i = 0; i < tensorCount; i++) {
    const claim = readTensorClaim(cursor, i)
    if (names.has(claim.name)) throw duplicate(`tensor ${claim.name}`)
    names.add(claim.name)
    claims.push(claim)
  }
  const alignment = readAlignment(metadata.get('general.alignment'))
  const dataStart = Math.ceil(cursor.position / alignment) * alignment
  const tensors = new Map(claims.map((claim) => [claim.name, placeTensor(claim, dataStart, alignment, fileBytes)]))
  rejectOverlaps([...tensors.values()])
  return { version, fileBytes, metadata, tensors }
}

interface TensorClaim {
  readonly name: string
  readonly dims: readonly number[]
  readonly ggmlType: number
  readonly offset: number
}

function readVersion(cursor: Cursor): number {
  if (cursor.left < 24 || cursor.u32('the magic number') !== MAGIC) {
    throw new ModelError({ code: 'not_gguf', message: 'not a GGUF file: it does not begin with the letters GGUF' })
  }
  const version = cursor.u32('the version')
  if (version === 2 || version === 3) return version
  const bigEndian = (version & 0xffff) === 0
  const what = bigEndian ? 'a big-endian GGUF file' : `GGUF version ${version}`
  throw new ModelError({
    code: 'unsupported_version',
    message: `${what} is not served; little-endian versions 2 and 3 are`,
    details: { version },
  })
}

function readCount(cursor: Cursor, what: string, limit: number, minBytes: number): number {
  const count = cursor.size(`the number of ${what}`)
  if (count > limit || count * minBytes > cursor.left) {
    throw new ModelError({
      code: 'out_of_bounds',
      message: `the file claims ${count} ${what}; ${cursor.left} bytes are left in it and at most ${limit} are read`,
      details: { what, count, limit },
    })
  }
  return count
}

function readTensorClaim(cursor: Cursor, index: number): TensorClaim {
  const name = cursor.string(`the name of tensor ${index}`, MAX_NAME_BYTES)
  const count = cursor.u32(`the dimensions of tensor ${name}`)
  if (count < 1 || count > MAX_DIMENSIONS) {
    throw new ModelError({
      code: 'malformed',
      message: `tensor ${name} has ${count} dimensions`,
      details: { tensor: name, dimensions: count },
    })
  }
  const dims = Array.from({ length: count }, () => cursor.size(`a dimension of tensor ${name}`))
  return {
    name,
    dims,
    ggmlType: cursor.u32(`the type of tensor ${name}`),
    offset: cursor.size(`the offset of tensor ${name}`),
  }
}

function readAlignment(value: MetadataValue | undefined): number {
  const alignment = value ?? DEFAULT_ALIGNMENT
  const isPowerOfTwo = typeof alignment === 'number' && alignment >= 1 && Number.isInteger(Math.log2(alignment))
  if (isPowerOfTwo && alignment <= MAX_ALIGNMENT) return alignment
  throw new ModelError({ code: 'malformed', message: 'metadata key general.alignment is not a usable power of two' })
}

function placeTensor(claim: TensorClaim, dataStart: number, alignment: number, fileBytes: number): TensorInfo {
  const { name, dims, ggmlType, offset } = claim
  const layout = tensorTypeLayout(ggmlType)
  if (layout === null) {
    throw new ModelError({
      code: 'unsupported_type',
      message: `tensor ${name} is of type ${tensorTypeName(ggmlType)}, which is not served`,
      details: { tensor: name, type: tensorTypeName(ggmlType) },
    })
  }
  const elements = dims.reduce((product, dim) => product * dim, 1)
  if (!Number.isSafeInteger(elements) || elements < 1 || dims[0]! % layout.block !== 0) {
    throw new ModelError({
      code: 'malformed',
      message: `tensor ${name} of type ${layout.type} has impossible dimensions ${dims.join(' x ')}`,
      details: { tensor: name, dimensions: dims.join('x') },
    })
  }
  const bytes = (elements / layout.block) * layout.blockBytes
  const start = dataStart + offset
  const details = { tensor: name, offset, bytes, dataStart, fileBytes }
  if (offset % alignment !== 0) {
    throw new ModelError({
      code: 'out_of_bounds',
      message: `tensor ${name} has offset ${offset}, which is not aligned to ${alignment}`,
      details,
    })
  }
  if (start >= fileBytes) {
    throw new ModelError({
      code: 'out_of_bounds',
      message: `tensor ${name} has offset ${offset}, beyond the end of the file (${fileBytes} bytes)`,
      details,
    })
  }
  if (bytes > fileBytes - start) {
    throw new ModelError({
      code: 'truncated',
      message: `the file ends (at ${fileBytes} bytes) within tensor ${name}, which needs bytes ${start} to ${start + bytes}`,
      details,
    })
  }
  return { name, type: layout.type, dims, offset: start, bytes, elements }
}

function rejectOverlaps(tensors: readonly TensorInfo[]): void {
  const ordered = tensors.toSorted((a, b) => a.offset - b.offset)
  for (let i = 1; i < ordered.length; i++) {
    const [before, after] = [ordered[i - 1]!, ordered[i]!]
    if (before.offset + before.bytes > after.offset) {
      throw new ModelError({
        code: 'out_of_bounds',
        message: `tensor ${after.name} begins within tensor ${before.name}`,
        details: { tensor: after.name, within: before.name },
      })
    }
  }
}

function duplicate(what: string): ModelError {
  return new ModelError({ code: 'duplicate', message: `${what} stands twice in the file`, details: { what } })
}
