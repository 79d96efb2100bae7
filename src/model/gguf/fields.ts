import { ModelError } from '../errors.ts'
import type { MetadataValue, NumericArray } from './metadata.ts'

/** Typed look-ups over a header's metadata. A value of the wrong kind is refused by name, an absent one is null. */
export class Fields {
  readonly #metadata: ReadonlyMap<string, MetadataValue>

  constructor(metadata: ReadonlyMap<string, MetadataValue>) {
    this.#metadata = metadata
  }

  keys(prefix: string): string[] {
    return [...this.#metadata.keys()].filter((key) => key.startsWith(prefix))
  }

  string(key: string): string | null {
    return this.#optional(key, 'a string', (value) => typeof value === 'string')
  }

  boolean(key: string): boolean | null {
    return this.#optional(key, 'a boolean', (value) => typeof value === 'boolean')
  }

  number(key: string): number | null {
    return this.#optional(key, 'a finite number', (value) => typeof value === 'number' && Number.isFinite(value))
  }

  /** A whole number from `least` to 2^31 - 1. */
  count(key: string, least: number): number | null {
    const value = this.number(key)
    if (value === null || (Number.isInteger(value) && value >= least && value < 2 ** 31)) return value
    throw wrong(key, `a whole number of at least ${least}`)
  }

  strings(key: string): readonly string[] | null {
    return this.#optional(key, 'an array of strings', isStrings)
  }

  numbers(key: string): NumericArray | null {
    return this.#optional(key, 'an array of numbers', (value) => ArrayBuffer.isView(value))
  }

  /** A scalar, or one per layer and all of them equal; anything else is refused. */
  uniformCount(key: string, least: number): number | null {
    const value = this.#metadata.get(key)
    if (!ArrayBuffer.isView(value)) return this.count(key, least)
    const [first] = value
    if (first !== undefined && Number.isInteger(first) && first >= least && value.every((other) => other === first)) {
      return first
    }
    throw new ModelError({
      code: 'unsupported_feature',
      message: `metadata key ${key} differs from layer to layer, which is not served`,
      details: { key },
    })
  }

  #optional<T extends MetadataValue>(key: string, kind: string, is: (value: MetadataValue) => boolean): T | null {
    const value = this.#metadata.get(key)
    if (value === undefined) return null
    if (is(value)) return value as T
    throw wrong(key, kind)
  }
}

/** The value, or a refusal that names the missing key. */
export function required<T>(value: T | null, key: string): T {
  if (value !== null) return value
  throw new ModelError({ code: 'missing_metadata', message: `metadata key ${key} is missing`, details: { key } })
}

function wrong(key: string, kind: string): ModelError {
  return new ModelError({ code: 'bad_metadata', message: `metadata key ${key} is not ${kind}`, details: { key } })
}

function isStrings(value: MetadataValue): boolean {
  return Array.isArray(value) && value.every((item) => typeof item === 'string')
}
