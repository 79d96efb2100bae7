import { chmodSync, mkdirSync, mkdtempSync, rmSync, statSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { privateDirectory } from './private-directory.ts'

let parent: string
beforeEach(() => {
  parent = mkdtempSync(join(tmpdir(), 'bh-private-'))
})
afterEach(() => rmSync(parent, { recursive: true }))

describe.skipIf(process.platform === 'win32')('the directory of the transfer socket', () => {
  test('is made if it is missing, taken if it is there, and open to nobody else', () => {
    const path = join(parent, 'made')
    privateDirectory(path)
    privateDirectory(path)
    expect(statSync(path).mode & 0o777).toBe(0o700)
  })

  test.each([0o750, 0o705, 0o777])('is not taken where others may enter it: mode %o', (mode) => {
    const path = join(parent, 'open')
    mkdirSync(path)
    chmodSync(path, mode)
    expect(() => privateDirectory(path)).toThrow('not this user’s alone')
  })

  test('is not taken by way of a link', () => {
    const path = join(parent, 'link')
    mkdirSync(join(parent, 'elsewhere'), { mode: 0o700 })
    symlinkSync(join(parent, 'elsewhere'), path)
    expect(() => privateDirectory(path)).toThrow('not this user’s alone')
  })
})
