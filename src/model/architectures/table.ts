import { ModelError } from '../errors.ts'
import { Fields, required } from '../gguf/fields.ts'
import type { GgufHeader } from '../gguf/read.ts'
import type { ArchitectureReader, ModelLayout } from './architecture.ts'
import { readLlama } from './llama.ts'

/** By `general.architecture`. A new architecture is a reader here and, if its dense layers differ, graphs of its own. */
const ARCHITECTURES: ReadonlyMap<string, ArchitectureReader> = new Map([['llama', readLlama]])

export function readLayout(header: GgufHeader): ModelLayout {
  const fields = new Fields(header.metadata)
  const name = required(fields.string('general.architecture'), 'general.architecture')
  const reader = ARCHITECTURES.get(name)
  if (reader === undefined) {
    const served = [...ARCHITECTURES.keys()].join(', ')
    throw new ModelError({
      code: 'unsupported_architecture',
      message: `architecture ${JSON.stringify(name.slice(0, 64))} is not served; ${served} is`,
      details: { architecture: name.slice(0, 64) },
    })
  }
  return reader(header, fields)
}
