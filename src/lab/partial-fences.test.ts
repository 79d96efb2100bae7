import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { fullFences } from '../cluster/index.ts'
import { fenceRules, fencesWithout, partialFences } from './partial-fences.ts'

const src = fileURLToPath(new URL('..', import.meta.url))

describe('the partial builder', () => {
  it('is imported by the laboratory and by tests, and by nobody else', () => {
    const importers = readdirSync(src, { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.ts') && /partial-fences/.test(readFileSync(join(src, file), 'utf8')))
      .map((file) => file.replaceAll('\\', '/'))
      .filter((file) => !file.startsWith('lab/') && !file.endsWith('.test.ts'))
    expect(importers).toEqual([])
  })

  it('gives the full set when no rule is left out', () => {
    expect(Object.keys(partialFences(fenceRules)).sort()).toEqual(Object.keys(fullFences()).sort())
    expect(partialFences(fenceRules).pages).toEqual(fullFences().pages)
    expect(partialFences(fenceRules).kernel).toEqual(fullFences().kernel)
  })

  it('leaves out just the rule named', () => {
    expect(fencesWithout('R5').kernel).toEqual({ tags: false, filled: false, guards: false })
    expect(fencesWithout('R5').pages.fencedFree).toBe(fullFences().pages.fencedFree)
    expect(fencesWithout('R10').identity({ requestId: 'a', attempt: 1 }, { requestId: 'b', attempt: 1 })).toBe(true)
  })
})
