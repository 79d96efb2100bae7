/** Keys and values that are designed and not built. Accepting one would promise what nothing does. */
const KEYS: readonly { readonly at: RegExp; readonly names: readonly string[] }[] = [
  { at: /^$/, names: ['guards', 'evidence'] },
  { at: /^secret$/, names: ['previous'] },
  { at: /^tenants\[\d+\]$/, names: ['account_id'] },
  { at: /^models\[\d+\]$/, names: ['tokenizer', 'adapter'] },
  {
    at: /^models\[\d+\]\.engine$/,
    names: ['prefill', 'decode', 'router', 'limits_from'],
  },
]

const VALUES: readonly { readonly at: RegExp; readonly values: readonly string[] }[] = [
  { at: /^models\[\d+\]\.engine\.kind$/, values: ['sglang', 'vllm', 'router', 'openai'] },
  { at: /^models\[\d+\]\.engine\.kv_dtype$/, values: ['f16', 'bf16', 'q8', 'q8_0'] },
]

export function isKeyToCome(parent: string, key: string): boolean {
  return KEYS.some(({ at, names }) => at.test(parent) && names.includes(key))
}

export function isValueToCome(path: string, value: unknown): boolean {
  return VALUES.some(({ at, values }) => at.test(path) && values.some((known) => known === value))
}
