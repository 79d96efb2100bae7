import { GGMLQuantizationType } from '@huggingface/gguf'

export type TensorType =
  | 'F32'
  | 'F16'
  | 'BF16'
  | 'Q4_0'
  | 'Q4_1'
  | 'Q5_0'
  | 'Q5_1'
  | 'Q8_0'
  | 'Q2_K'
  | 'Q3_K'
  | 'Q4_K'
  | 'Q5_K'
  | 'Q6_K'

export interface TensorTypeLayout {
  readonly type: TensorType
  /** Weights per block; a row is a whole number of blocks. */
  readonly block: number
  readonly blockBytes: number
}

const layout = (type: TensorType, block: number, blockBytes: number): TensorTypeLayout => ({ type, block, blockBytes })

/** The tensor types that are read, by ggml's number. Block sizes as in ggml-common.h. */
const LAYOUTS: ReadonlyMap<number, TensorTypeLayout> = new Map([
  [GGMLQuantizationType.F32, layout('F32', 1, 4)],
  [GGMLQuantizationType.F16, layout('F16', 1, 2)],
  [GGMLQuantizationType.BF16, layout('BF16', 1, 2)],
  [GGMLQuantizationType.Q4_0, layout('Q4_0', 32, 18)],
  [GGMLQuantizationType.Q4_1, layout('Q4_1', 32, 20)],
  [GGMLQuantizationType.Q5_0, layout('Q5_0', 32, 22)],
  [GGMLQuantizationType.Q5_1, layout('Q5_1', 32, 24)],
  [GGMLQuantizationType.Q8_0, layout('Q8_0', 32, 34)],
  [GGMLQuantizationType.Q2_K, layout('Q2_K', 256, 84)],
  [GGMLQuantizationType.Q3_K, layout('Q3_K', 256, 110)],
  [GGMLQuantizationType.Q4_K, layout('Q4_K', 256, 144)],
  [GGMLQuantizationType.Q5_K, layout('Q5_K', 256, 176)],
  [GGMLQuantizationType.Q6_K, layout('Q6_K', 256, 210)],
])

export function tensorTypeLayout(ggmlType: number): TensorTypeLayout | null {
  return LAYOUTS.get(ggmlType) ?? null
}

/** ggml's number of a type that is read. */
export function ggmlTypeOf(type: TensorType): number {
  return GGMLQuantizationType[type]
}

/** What to call a type in a message, whether or not it is read. */
export function tensorTypeName(ggmlType: number): string {
  return GGMLQuantizationType[ggmlType] ?? `number ${ggmlType}`
}
