import { oneLine } from '../telemetry/index.ts'
import { type ModelTensors, matricesOf } from './architectures/architecture.ts'
import type { Fields } from './gguf/fields.ts'
import type { TensorType } from './gguf/tensor-types.ts'
import { heldForm } from './weights/matrix.ts'

/** Keys of the architecture that are read, or that say nothing about its arithmetic. */
const KNOWN = new Set(
  [
    'block_count',
    'embedding_length',
    'feed_forward_length',
    'attention.head_count',
    'attention.head_count_kv',
    'attention.key_length',
    'attention.value_length',
    'attention.layer_norm_rms_epsilon',
    'attention.layer_norm_epsilon',
    'attention.causal',
    'attention.sliding_window',
    'attention.clamp_kqv',
    'attention.scale',
    'context_length',
    'vocab_size',
    'rope.dimension_count',
    'rope.freq_base',
    'rope.scale_linear',
    'rope.scaling.type',
    'rope.scaling.factor',
    'rope.scaling.attn_factor',
    'rope.scaling.original_context_length',
    'rope.scaling.finetuned',
    'expert_count',
    'expert_used_count',
    'logit_scale',
    'residual_scale',
    'embedding_scale',
  ].map((key) => `llama.${key}`),
)

/** One line for each thing that is not taken as it stands in the file: conversions, and keys without effect. */
export function loadNotes(tensors: ModelTensors, fields: Fields): string[] {
  const converted = new Map<TensorType, { readonly form: string; count: number }>()
  for (const tensor of matricesOf(tensors)) {
    const form = heldForm(tensor)
    if (keepsWidth(tensor.type)) continue
    const entry = converted.get(tensor.type)
    if (entry === undefined)
      converted.set(tensor.type, { form: form === 'q8' ? '8 bit (blocks of 32)' : 'F32', count: 1 })
    else entry.count++
  }
  const conversions = [...converted].map(
    ([type, { form, count }]) =>
      `${count} ${type} ${count === 1 ? 'tensor is' : 'tensors are'} turned into ${form} at load`,
  )
  const unknown = fields
    .keys('llama.')
    .filter((key) => !KNOWN.has(key))
    .map((key) => oneLine(`metadata key ${key} is not known and has no effect`))
  return [...conversions, ...unknown]
}

function keepsWidth(type: TensorType): boolean {
  return type === 'F32' || type === 'Q8_0' || type === 'Q4_0'
}
