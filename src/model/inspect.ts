import { basename } from 'node:path'
import { kvBytesPerToken } from '../kernels/index.ts'
import { oneLine } from '../telemetry/index.ts'
import { type ModelTensors, matricesOf } from './architectures/architecture.ts'
import { refusing } from './errors.ts'
import { Fields } from './gguf/fields.ts'
import type { TensorInfo } from './gguf/read.ts'
import { loadNotes } from './notes.ts'
import { readTokenizer } from './tokenizer-metadata.ts'
import type { InspectResult, ModelInspection } from './types.ts'
import { matrixBytes } from './weights/matrix.ts'
import { openSource } from './weights/source.ts'

/**
 * Judges a model file without loading its weights: everything that `loadModel` would refuse for what the header says is
 * refused here, with the same line. Reads the file once for its digest.
 */
export function inspectModel(path: string): Promise<InspectResult> {
  return refusing(async () => {
    const source = openSource(path)
    source.close()
    const { header, layout, digest } = source
    const fields = new Fields(header.metadata)
    const tensors = [...header.tensors.values()]
    const inspection: ModelInspection = {
      kind: 'ok',
      path,
      name: oneLine(fields.string('general.name') ?? basename(path).replace(/\.gguf$/, '')),
      architecture: layout.architecture,
      shape: layout.shape,
      tokenizer: readTokenizer(fields, layout.shape.vocab),
      parameters: tensors.reduce((sum, tensor) => sum + tensor.elements, 0),
      fileBytes: header.fileBytes,
      digest,
      tensorTypes: summarize(tensors),
      notes: loadNotes(layout.tensors, fields),
      heldBytes: heldModelBytes(layout.tensors),
      kvBytesPerToken: kvBytesPerToken(layout.shape),
    }
    return inspection
  })
}

function summarize(tensors: readonly TensorInfo[]): ModelInspection['tensorTypes'] {
  const byType = new Map<string, { tensors: number; bytes: number }>()
  for (const tensor of tensors) {
    const entry = byType.get(tensor.type) ?? { tensors: 0, bytes: 0 }
    byType.set(tensor.type, { tensors: entry.tensors + 1, bytes: entry.bytes + tensor.bytes })
  }
  return [...byType].map(([type, entry]) => ({ type, ...entry })).toSorted((a, b) => b.bytes - a.bytes)
}

/** Norms, a few kilobytes, are not counted. */
function heldModelBytes(tensors: ModelTensors): number {
  const matrices = matricesOf(tensors).map((tensor) => matrixBytes([tensor]))
  return matrices.reduce((sum, bytes) => sum + bytes, tensors.embedding.bytes)
}
