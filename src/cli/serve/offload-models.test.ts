import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { builtInModel } from '../built-in.ts'
import { loadPromptModels } from './offload-models.ts'

const weights = builtInModel('tiny')
const digest = createHash('sha256').update(readFileSync(weights)).digest('hex')
const served = { id: 'tiny', weights, digest, encodeLimit: 8192 }

it('builds the text side of the models that are served', async () => {
  const [model] = await loadPromptModels([served])
  expect(model).toMatchObject({ id: 'tiny', encodeLimit: 8192 })
  expect(model?.encodeText('the sea', 8192).ids.length).toBeGreaterThan(0)
})

it('refuses a file that is another one than was served at the start', async () => {
  await expect(loadPromptModels([{ ...served, digest: '0'.repeat(64) }])).rejects.toThrow(/tiny\.gguf has changed/)
})
