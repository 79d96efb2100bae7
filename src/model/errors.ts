import { oneLine } from '../telemetry/index.ts'

/** Why a model file is not served. Codes are stable; messages are for people and name the thing that is wrong. */
export type ModelRefusalCode =
  | 'unreadable'
  | 'not_gguf'
  | 'unsupported_version'
  | 'truncated'
  | 'malformed'
  | 'duplicate'
  | 'out_of_bounds'
  | 'unsupported_architecture'
  | 'unsupported_feature'
  | 'unsupported_type'
  | 'missing_metadata'
  | 'bad_metadata'
  | 'missing_tensor'
  | 'unexpected_tensor'
  | 'bad_shape'
  | 'not_finite'
  | 'wrong_weights'
  | 'wrong_pool'
  | 'runtime'

/** R1's shape for files: a refused model is this value and nothing else. */
export interface ModelRefusal {
  readonly kind: 'refused'
  readonly code: ModelRefusalCode
  /** One line. */
  readonly message: string
  readonly details: Readonly<Record<string, string | number>>
}

/** Thrown inside the room where a scan cannot go on; every door function turns it into a `ModelRefusal`. */
export class ModelError extends Error {
  readonly code: ModelRefusalCode
  readonly details: Readonly<Record<string, string | number>>

  constructor(options: {
    readonly code: ModelRefusalCode
    readonly message: string
    readonly cause?: unknown
    readonly details?: Readonly<Record<string, string | number>>
  }) {
    super(oneLine(options.message), { cause: options.cause })
    this.name = 'ModelError'
    this.code = options.code
    this.details = options.details ?? {}
  }

  toRefusal(): ModelRefusal {
    return { kind: 'refused', code: this.code, message: this.message, details: this.details }
  }
}

/** Runs a scan; a `ModelError` becomes its refusal, anything else is a fault of ours and is thrown on. */
export async function refusing<T>(scan: () => Promise<T>): Promise<T | ModelRefusal> {
  try {
    return await scan()
  } catch (error) {
    if (error instanceof ModelError) return error.toRefusal()
    throw error
  }
}
