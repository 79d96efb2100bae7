import { closeSync, openSync, writeSync } from 'node:fs'
import { GGUFValueType } from '@huggingface/gguf'
import { ggmlTypeOf, type TensorType, tensorTypeLayout } from './tensor-types.ts'

const VERSION = 3
const ALIGNMENT = 32

export type WritableValue =
  | { readonly u32: number }
  | { readonly f32: number }
  | { readonly bool: boolean }
  | { readonly string: string }
  | { readonly strings: readonly string[] }
  | { readonly i32s: ArrayLike<number> }
  | { readonly f32s: ArrayLike<number> }

export interface WritableTensor {
  readonly name: string
  readonly type: TensorType
  readonly dims: readonly number[]
  /** The tensor's bytes in order, in pieces of any size; asked for once. */
  readonly pieces: () => Iterable<Uint8Array>
}

/** Writes a GGUF file front to back; no more than one piece of a tensor is held. */
export function writeGguf(
  path: string,
  metadata: Readonly<Record<string, WritableValue>>,
  tensors: readonly WritableTensor[],
): void {
  const fd = openSync(path, 'w')
  try {
    let written = writeFully(fd, encodeHeader(metadata, tensors))
    for (const tensor of tensors) {
      written += writeFully(fd, new Uint8Array(padding(written)))
      const start = written
      for (const piece of tensor.pieces()) written += writeFully(fd, piece)
      if (written - start !== tensorBytes(tensor))
        throw new RangeError(`tensor ${tensor.name} gave ${written - start} bytes`)
    }
    writeFully(fd, new Uint8Array(padding(written)))
  } finally {
    closeSync(fd)
  }
}

export function tensorBytes({ type, dims }: Pick<WritableTensor, 'type' | 'dims'>): number {
  const { block, blockBytes } = tensorTypeLayout(ggmlTypeOf(type))!
  return (dims.reduce((product, dim) => product * dim, 1) / block) * blockBytes
}

/** Magic to tensor infos; what follows begins at the next multiple of the alignment. */
export function encodeHeader(
  metadata: Readonly<Record<string, WritableValue>>,
  tensors: readonly Omit<WritableTensor, 'pieces'>[],
): Uint8Array {
  const out = new ByteWriter()
  out.ascii('GGUF').u32(VERSION).u64(tensors.length).u64(Object.keys(metadata).length)
  for (const [key, value] of Object.entries(metadata)) encodeValue(out.string(key), value)
  let offset = 0
  for (const tensor of tensors) {
    out.string(tensor.name).u32(tensor.dims.length)
    for (const dim of tensor.dims) out.u64(dim)
    out.u32(ggmlTypeOf(tensor.type)).u64(offset)
    offset += tensorBytes(tensor)
    offset += padding(offset)
  }
  return out.finish()
}

function encodeValue(out: ByteWriter, value: WritableValue): void {
  if ('u32' in value) out.u32(GGUFValueType.UINT32).u32(value.u32)
  else if ('f32' in value) out.u32(GGUFValueType.FLOAT32).f32(value.f32)
  else if ('bool' in value) out.u32(GGUFValueType.BOOL).u8(value.bool ? 1 : 0)
  else if ('string' in value) out.u32(GGUFValueType.STRING).string(value.string)
  else if ('strings' in value) {
    out.u32(GGUFValueType.ARRAY).u32(GGUFValueType.STRING).u64(value.strings.length)
    for (const string of value.strings) out.string(string)
  } else if ('i32s' in value) {
    out.u32(GGUFValueType.ARRAY).u32(GGUFValueType.INT32).u64(value.i32s.length)
    for (let i = 0; i < value.i32s.length; i++) out.i32(value.i32s[i]!)
  } else {
    out.u32(GGUFValueType.ARRAY).u32(GGUFValueType.FLOAT32).u64(value.f32s.length)
    for (let i = 0; i < value.f32s.length; i++) out.f32(value.f32s[i]!)
  }
}

function padding(at: number): number {
  return (ALIGNMENT - (at % ALIGNMENT)) % ALIGNMENT
}

function writeFully(fd: number, bytes: Uint8Array): number {
  for (let done = 0; done < bytes.length; ) done += writeSync(fd, bytes, done)
  return bytes.length
}

/** Little-endian, growing by doubling. */
class ByteWriter {
  #bytes = Buffer.alloc(1024)
  #length = 0

  ascii(text: string): this {
    const at = this.#room(text.length)
    this.#bytes.write(text, at, 'latin1')
    return this
  }

  string(text: string): this {
    const bytes = Buffer.from(text, 'utf8')
    this.u64(bytes.length)
    const at = this.#room(bytes.length)
    this.#bytes.set(bytes, at)
    return this
  }

  u8(value: number): this {
    const at = this.#room(1)
    this.#bytes.writeUInt8(value, at)
    return this
  }

  u32(value: number): this {
    const at = this.#room(4)
    this.#bytes.writeUInt32LE(value, at)
    return this
  }

  i32(value: number): this {
    const at = this.#room(4)
    this.#bytes.writeInt32LE(value, at)
    return this
  }

  f32(value: number): this {
    const at = this.#room(4)
    this.#bytes.writeFloatLE(value, at)
    return this
  }

  u64(value: number): this {
    const at = this.#room(8)
    this.#bytes.writeBigUInt64LE(BigInt(value), at)
    return this
  }

  finish(): Uint8Array {
    return this.#bytes.subarray(0, this.#length)
  }

  #room(count: number): number {
    const at = this.#length
    this.#length += count
    if (this.#length > this.#bytes.length) {
      const larger = Buffer.alloc(Math.max(this.#length, 2 * this.#bytes.length))
      this.#bytes.copy(larger)
      this.#bytes = larger
    }
    return at
  }
}
