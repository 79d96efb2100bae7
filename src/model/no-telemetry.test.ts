import { existsSync, readdirSync, readlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { createPool } from '../kernels/index.ts'
import { inspectModel, loadModel, poolShape } from './index.ts'

const weights = fileURLToPath(new URL('../../models/recall.gguf', import.meta.url))

const openFiles = (): string[] =>
  readdirSync('/proc/self/fd').flatMap((fd) => {
    try {
      return [readlinkSync(`/proc/self/fd/${fd}`)]
    } catch {
      // That of this very listing.
      return []
    }
  })

it.runIf(process.platform === 'linux')(
  'a process that computes leaves no log and no database of its library',
  async () => {
    const found = await inspectModel(weights)
    if (found.kind !== 'ok') throw new Error(found.message)
    const pool = createPool(poolShape(found.shape, 64, 16), new BigUint64Array(2))
    const checks = { tags: true, filled: true, guards: true }
    const loaded = await loadModel(weights, {
      threads: 1,
      sampler: () => ({ token: 0, logprob: null, top: [] }),
      pool,
      checks,
    })
    if (loaded.kind !== 'ok') throw new Error(loaded.message)
    expect(openFiles().filter((path) => /onnxruntime\.db|mat-debug/.test(path))).toEqual([])
    expect(existsSync(join(tmpdir(), `mat-debug-${process.pid}.log`))).toBe(false)
    await loaded.pass.close()
  },
)
