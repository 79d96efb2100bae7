import { GGUFValueType } from '@huggingface/gguf'
import { ModelError } from '../errors.ts'
import type { Cursor } from './cursor.ts'

/** 64-bit integers above 2^53 stay bigint; arrays of numbers are typed, of 64-bit integers too. */
export type MetadataValue = number | bigint | boolean | string | readonly string[] | readonly boolean[] | NumericArray

export type NumericArray =
  | Uint8Array
  | Int8Array
  | Uint16Array
  | Int16Array
  | Uint32Array
  | Int32Array
  | Float32Array
  | Float64Array

const MAX_STRING_BYTES = 16 * 1024 * 1024
/** Far above any vocabulary; bounds what an array of empty strings can cost. */
const MAX_ARRAY_LENGTH = 4 * 1024 * 1024

/** Reads the value of one metadata key: its type, then the value. */
export function readMetadataValue(cursor: Cursor, key: string): MetadataValue {
  const what = `metadata key ${key}`
  const type = cursor.u32(`the type of ${what}`)
  return type === GGUFValueType.ARRAY ? readArray(cursor, what) : readScalar(cursor, type, what)
}

function readScalar(cursor: Cursor, type: number, what: string): number | bigint | boolean | string {
  switch (type) {
    case GGUFValueType.UINT8:
      return cursor.u8(what)
    case GGUFValueType.INT8:
      return cursor.i8(what)
    case GGUFValueType.UINT16:
      return cursor.u16(what)
    case GGUFValueType.INT16:
      return cursor.i16(what)
    case GGUFValueType.UINT32:
      return cursor.u32(what)
    case GGUFValueType.INT32:
      return cursor.i32(what)
    case GGUFValueType.FLOAT32:
      return cursor.f32(what)
    case GGUFValueType.FLOAT64:
      return cursor.f64(what)
    case GGUFValueType.BOOL:
      return readBoolean(cursor, what)
    case GGUFValueType.STRING:
      return cursor.string(what, MAX_STRING_BYTES)
    case GGUFValueType.UINT64:
      return narrow(cursor.u64(what))
    case GGUFValueType.INT64:
      return narrow(cursor.i64(what))
    default:
      throw new ModelError({ code: 'malformed', message: `${what} has unknown type ${type}`, details: { what, type } })
  }
}

function readArray(cursor: Cursor, what: string): MetadataValue {
  const type = cursor.u32(`the element type of ${what}`)
  const length = cursor.size(`the length of ${what}`)
  const minBytes = ELEMENT_BYTES[type]
  if (minBytes === undefined) {
    throw new ModelError({
      code: 'malformed',
      message: `${what} is an array of ${type === GGUFValueType.ARRAY ? 'arrays' : `unknown type ${type}`}`,
      details: { what, type },
    })
  }
  if (length > MAX_ARRAY_LENGTH || length * minBytes > cursor.left) {
    throw new ModelError({
      code: 'out_of_bounds',
      message: `${what} claims ${length} elements; ${cursor.left} bytes are left in the file and at most ${MAX_ARRAY_LENGTH} elements are read`,
      details: { what, length },
    })
  }
  switch (type) {
    case GGUFValueType.STRING:
      return Array.from({ length }, () => cursor.string(`an element of ${what}`, MAX_STRING_BYTES))
    case GGUFValueType.BOOL:
      return Array.from({ length }, () => readBoolean(cursor, what))
    default: {
      const array = numericArray(type, length)
      for (let i = 0; i < length; i++) array[i] = Number(readScalar(cursor, type, what))
      return array
    }
  }
}

/** Least bytes of one element; arrays of arrays are not read (nothing that is served has one). */
const ELEMENT_BYTES: Readonly<Record<number, number>> = {
  [GGUFValueType.UINT8]: 1,
  [GGUFValueType.INT8]: 1,
  [GGUFValueType.UINT16]: 2,
  [GGUFValueType.INT16]: 2,
  [GGUFValueType.UINT32]: 4,
  [GGUFValueType.INT32]: 4,
  [GGUFValueType.FLOAT32]: 4,
  [GGUFValueType.BOOL]: 1,
  [GGUFValueType.STRING]: 8,
  [GGUFValueType.UINT64]: 8,
  [GGUFValueType.INT64]: 8,
  [GGUFValueType.FLOAT64]: 8,
}

function numericArray(type: number, length: number): NumericArray {
  switch (type) {
    case GGUFValueType.UINT8:
      return new Uint8Array(length)
    case GGUFValueType.INT8:
      return new Int8Array(length)
    case GGUFValueType.UINT16:
      return new Uint16Array(length)
    case GGUFValueType.INT16:
      return new Int16Array(length)
    case GGUFValueType.UINT32:
      return new Uint32Array(length)
    case GGUFValueType.INT32:
      return new Int32Array(length)
    case GGUFValueType.FLOAT32:
      return new Float32Array(length)
    default:
      return new Float64Array(length)
  }
}

function readBoolean(cursor: Cursor, what: string): boolean {
  const value = cursor.u8(what)
  if (value > 1) {
    throw new ModelError({ code: 'malformed', message: `${what} is a boolean with value ${value}`, details: { what } })
  }
  return value === 1
}

function narrow(value: bigint): number | bigint {
  const number = Number(value)
  return Number.isSafeInteger(number) ? number : value
}
