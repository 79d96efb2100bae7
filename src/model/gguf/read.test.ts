import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gguf } from '@huggingface/gguf'
import fc from 'fast-check'
import { afterAll, describe, expect, it } from 'vitest'
import { inspectModel } from '../inspect.ts'
import { SMALL, syntheticMetadata, syntheticTensors, writeSyntheticModel } from '../synthetic.ts'
import type { TensorType } from './tensor-types.ts'
import { encodeHeader, type WritableTensor, type WritableValue, writeGguf } from './write.ts'

const shape = { ...SMALL, layers: 1, hidden: 64, ffn: 96, heads: 2, kvHeads: 1, vocab: 300 }
const options = { shape, type: 'Q8_0', seed: 1, tied: true } as const
const folder = mkdtempSync(join(tmpdir(), 'bulkhead-gguf-'))
const path = join(folder, 'good.gguf')
writeSyntheticModel(path, options)
const good = readFileSync(path)

afterAll(() => rmSync(folder, { recursive: true }))

async function inspectBytes(bytes: Uint8Array): Promise<Awaited<ReturnType<typeof inspectModel>>> {
  const file = join(folder, 'case.gguf')
  writeFileSync(file, bytes)
  return inspectModel(file)
}

/** The good file with other metadata or tensors. */
async function inspectWith(change: {
  readonly metadata?: Record<string, WritableValue | undefined>
  readonly tensors?: (tensors: WritableTensor[]) => WritableTensor[]
}): Promise<Awaited<ReturnType<typeof inspectModel>>> {
  const file = join(folder, 'case.gguf')
  const metadata = { ...syntheticMetadata(options), ...change.metadata }
  const kept = Object.fromEntries(Object.entries(metadata).filter(([, value]) => value !== undefined))
  const tensors = syntheticTensors(options)
  writeGguf(file, kept as Record<string, WritableValue>, change.tensors?.(tensors) ?? tensors)
  return inspectModel(file)
}

/** Offset of a name's first byte in the header, and a copy to change. */
function at(text: string): { readonly bytes: Buffer; readonly end: number; readonly start: number } {
  const bytes = Buffer.from(good)
  const start = bytes.indexOf(text)
  return { bytes, start, end: start + text.length }
}

describe('a good file', () => {
  it('is read as the library reads it', async () => {
    const [ours, theirs] = [await inspectModel(path), await gguf(path, { allowLocalFile: true })]
    if (ours.kind !== 'ok') throw new Error(ours.message)
    expect(ours.tokenizer.tokens).toEqual((theirs.metadata as Record<string, unknown>)['tokenizer.ggml.tokens'])
    expect(ours.shape.vocab).toBe(300)
    expect(ours.parameters).toBe(
      theirs.tensorInfos.reduce((sum, tensor) => sum + tensor.shape.reduce((a, b) => a * Number(b), 1), 0),
    )
    expect(ours.tensorTypes.reduce((sum, { tensors }) => sum + tensors, 0)).toBe(theirs.tensorInfos.length)
  })

  it.each(['tiny', 'recall'])('%s is served as it is', async (name) => {
    const result = await inspectModel(new URL(`../../../models/${name}.gguf`, import.meta.url).pathname)
    expect(result).toMatchObject({ kind: 'ok', architecture: 'llama', notes: [] })
  })

  it.each(['F16', 'BF16', 'Q4_1', 'Q6_K'] as TensorType[])(
    '%s is served with a line that says what it becomes',
    async (type) => {
      const file = join(folder, `${type}.gguf`)
      writeSyntheticModel(file, { ...options, shape: { ...shape, hidden: 256, ffn: 256 }, type })
      const result = await inspectModel(file)
      expect(result).toMatchObject({
        kind: 'ok',
        notes: [`8 ${type} tensors are turned into 8 bit (blocks of 32) at load`],
      })
    },
  )
})

describe('a file that is refused', () => {
  it('cut anywhere, at the first byte that is missing', async () => {
    const headerEnd = encodeHeader(syntheticMetadata(options), syntheticTensors(options)).length
    const cuts = fc.oneof(
      fc.integer({ min: 24, max: headerEnd }),
      fc.integer({ min: headerEnd, max: good.length - 33 }),
    )
    await fc.assert(
      fc.asyncProperty(cuts, async (length) => {
        const result = await inspectBytes(good.subarray(0, length))
        expect(result.kind).toBe('refused')
        if (result.kind === 'refused') expect(['truncated', 'out_of_bounds']).toContain(result.code)
      }),
      { numRuns: 60 },
    )
  })

  it('with any byte of its header changed, or served: but never a crash', async () => {
    const headerEnd = encodeHeader(syntheticMetadata(options), syntheticTensors(options)).length
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 0, max: headerEnd - 1 }),
        fc.integer({ min: 1, max: 255 }),
        async (i, bits) => {
          const bytes = Buffer.from(good)
          bytes[i]! ^= bits
          const result = await inspectBytes(bytes)
          expect(['ok', 'refused']).toContain(result.kind)
          if (result.kind === 'refused') expect(result.message).not.toBe('')
        },
      ),
      { numRuns: 150 },
    )
  })

  it('for what it is not', async () => {
    expect(await inspectBytes(Buffer.from('{"model": "not a GGUF file at all"}'))).toMatchObject({ code: 'not_gguf' })
    expect(await inspectBytes(Buffer.alloc(0))).toMatchObject({ code: 'not_gguf' })
    expect(await inspectModel(join(folder, 'absent.gguf'))).toMatchObject({ code: 'unreadable' })
    expect(await inspectModel(folder)).toMatchObject({ code: 'unreadable' })
    const version = Buffer.from(good)
    version.writeUInt32LE(1, 4)
    expect(await inspectBytes(version)).toMatchObject({ code: 'unsupported_version' })
    version.writeUInt32BE(3, 4)
    expect(await inspectBytes(version)).toMatchObject({ message: expect.stringContaining('big-endian') })
  })

  it('for a string longer than the file', async () => {
    const { bytes, start } = at('general.name')
    bytes.writeBigUInt64LE(1n << 40n, start - 8)
    expect(await inspectBytes(bytes)).toMatchObject({ code: 'truncated' })
    bytes.writeBigUInt64LE((1n << 64n) - 1n, start - 8)
    expect(await inspectBytes(bytes)).toMatchObject({ code: 'out_of_bounds' })
  })

  it('for an array longer than the file', async () => {
    const { bytes, end } = at('tokenizer.ggml.tokens')
    bytes.writeBigUInt64LE(1n << 31n, end + 8)
    expect(await inspectBytes(bytes)).toMatchObject({
      code: 'out_of_bounds',
      message: expect.stringContaining('tokenizer.ggml.tokens claims 2147483648 elements'),
    })
  })

  it('for more tensors or keys than could stand in it', async () => {
    for (const offset of [8, 16]) {
      const bytes = Buffer.from(good)
      bytes.writeBigUInt64LE(50_000n, offset)
      expect(await inspectBytes(bytes)).toMatchObject({ code: 'out_of_bounds' })
    }
  })

  it('for a tensor beyond the end, unaligned, or within another, by its name', async () => {
    const name = 'blk.0.ffn_up.weight'
    for (const offset of [1n << 40n, (1n << 63n) - 1n, 8n, 32n]) {
      const { bytes, end } = at(name)
      bytes.writeBigUInt64LE(offset, end + 4 + 16 + 4)
      expect(await inspectBytes(bytes)).toMatchObject({ code: 'out_of_bounds', message: expect.stringContaining(name) })
    }
  })

  it('for dimensions whose product overflows', async () => {
    const { bytes, end } = at('blk.0.ffn_up.weight')
    bytes.writeBigUInt64LE(1n << 45n, end + 4)
    bytes.writeBigUInt64LE(1n << 45n, end + 12)
    expect(await inspectBytes(bytes)).toMatchObject({ code: 'malformed', details: { tensor: 'blk.0.ffn_up.weight' } })
  })

  it('for a tensor type that is not served, by its name', async () => {
    const { bytes, end } = at('blk.0.ffn_up.weight')
    bytes.writeUInt32LE(20, end + 20)
    expect(await inspectBytes(bytes)).toMatchObject({
      code: 'unsupported_type',
      message: 'tensor blk.0.ffn_up.weight is of type IQ4_NL, which is not served',
    })
  })

  it('for a key or tensor that stands twice', async () => {
    const tensor = at('blk.0.attn_k.weight')
    tensor.bytes.write('blk.0.attn_v.weight', tensor.start)
    expect(await inspectBytes(tensor.bytes)).toMatchObject({ code: 'duplicate' })
    const key = at('tokenizer.ggml.merges')
    key.bytes.write('tokenizer.ggml.tokens', key.start)
    expect(await inspectBytes(key.bytes)).toMatchObject({
      code: 'duplicate',
      message: 'metadata key tokenizer.ggml.tokens stands twice in the file',
    })
  })

  it('for another architecture, by its name', async () => {
    const result = await inspectWith({ metadata: { 'general.architecture': { string: 'qwen2' } } })
    expect(result).toMatchObject({
      code: 'unsupported_architecture',
      message: 'architecture "qwen2" is not served; llama is',
    })
  })

  it.each([
    'general.architecture',
    'llama.block_count',
    'llama.embedding_length',
    'llama.context_length',
    'llama.attention.head_count',
    'llama.attention.layer_norm_rms_epsilon',
    'tokenizer.ggml.model',
    'tokenizer.ggml.tokens',
  ])('for lack of %s', async (key) => {
    expect(await inspectWith({ metadata: { [key]: undefined } })).toMatchObject({
      code: 'missing_metadata',
      details: { key },
    })
  })

  it.each(['token_embd.weight', 'output_norm.weight', 'blk.0.attn_norm.weight', 'blk.0.ffn_down.weight'])(
    'for lack of tensor %s',
    async (name) => {
      const result = await inspectWith({ tensors: (all) => all.filter((tensor) => tensor.name !== name) })
      expect(result).toMatchObject({ code: 'missing_tensor', message: `tensor ${name} is missing` })
    },
  )

  it('for a tensor of other dimensions, and for one it has no place for', async () => {
    const [like] = syntheticTensors(options)
    const wide = (all: WritableTensor[]): WritableTensor[] =>
      all.map((tensor) => (tensor.name === 'output_norm.weight' ? { ...like!, name: tensor.name } : tensor))
    expect(await inspectWith({ tensors: wide })).toMatchObject({
      code: 'bad_shape',
      message: "tensor output_norm.weight is 64 x 300, the file's numbers ask for 64",
    })
    const more = (all: WritableTensor[]): WritableTensor[] => [...all, { ...like!, name: 'blk.0.attn_q.bias' }]
    expect(await inspectWith({ tensors: more })).toMatchObject({
      code: 'unexpected_tensor',
      details: { tensor: 'blk.0.attn_q.bias' },
    })
  })

  it.each<[string, WritableValue]>([
    ['llama.expert_count', { u32: 8 }],
    ['llama.rope.scaling.type', { string: 'yarn' }],
    ['llama.attention.value_length', { u32: 16 }],
    ['tokenizer.ggml.model', { string: 'bert' }],
  ])('for %s it does not serve', async (key, value) => {
    expect(await inspectWith({ metadata: { [key]: value } })).toMatchObject({ code: 'unsupported_feature' })
  })

  it.each<[string, WritableValue]>([
    ['llama.block_count', { string: 'one' }],
    ['llama.attention.head_count_kv', { u32: 3 }],
    ['llama.rope.dimension_count', { u32: 33 }],
    ['tokenizer.ggml.eos_token_id', { u32: 300 }],
    ['tokenizer.ggml.scores', { f32s: [1, 2] }],
  ])('for a %s that cannot be', async (key, value) => {
    expect(await inspectWith({ metadata: { [key]: value } })).toMatchObject({ code: 'bad_metadata' })
  })
})

describe('words out of a file', () => {
  const evil = 'x\n\u001b[2Jbulkhead ready\u2028'
  const cannotSteer = /^[^\p{Cc}\p{Zl}\p{Zp}]+$/u

  it('stay on their line, in a refusal and in what is said of a file that is served', async () => {
    const extra = (name: string): WritableTensor => ({ ...syntheticTensors(options).at(-1)!, name })
    const refused = await inspectWith({ tensors: (tensors) => [...tensors, extra(evil)] })
    expect(refused).toMatchObject({ code: 'unexpected_tensor', message: expect.stringMatching(cannotSteer) })
    const served = await inspectWith({
      metadata: { 'general.name': { string: evil }, [`llama.${evil}`]: { u32: 1 } },
    })
    expect(served).toMatchObject({
      name: expect.stringMatching(cannotSteer),
      notes: [expect.stringMatching(cannotSteer)],
    })
  })

  it('are cut where a name is longer than any line', async () => {
    const long = await inspectWith({
      tensors: (tensors) => [...tensors, { ...syntheticTensors(options).at(-1)!, name: 'n'.repeat(60_000) }],
    })
    expect(long.kind === 'refused' && long.message.length).toBe(1_001)
  })
})
