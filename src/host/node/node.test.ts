import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { createSecrets, nodeClock, nodeDigests, nodePrivateFiles, nodeTimers } from './index.ts'

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text)
const hex = (data: Uint8Array): string => Buffer.from(data).toString('hex')

describe('digests', () => {
  test('HMAC-SHA-256 of RFC 4231, test case 2', () => {
    expect(hex(nodeDigests.mac(bytes('Jefe'), bytes('what do ya want for nothing?')))).toBe(
      '5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843',
    )
  })

  test('a keyed digest keeps its key when the caller changes his', () => {
    const key = new Uint8Array(32).fill(1)
    const keyed = nodeDigests.keyed(key)
    const before = hex(keyed.mac(bytes('x')))
    key.fill(2)
    expect(hex(keyed.mac(bytes('x')))).toBe(before)
  })

  test('equal is equality', () => {
    expect(nodeDigests.equal(bytes('abc'), bytes('abc'))).toBe(true)
    expect(nodeDigests.equal(bytes('abc'), bytes('abd'))).toBe(false)
    expect(nodeDigests.equal(bytes('abc'), bytes('ab'))).toBe(false)
  })
})

describe('secrets', () => {
  test('each label and each secret has a key of its own, always the same', () => {
    const secret = bytes('0123456789abcdef')
    const labels = ['ticket', 'link', 'seal', 'receipt', 'page'] as const
    const keys = labels.map((label) => hex(createSecrets(secret).derive(label)))
    expect(new Set(keys).size).toBe(labels.length)
    expect(hex(createSecrets(secret).derive('ticket'))).toBe(keys[0])
    expect(keys).not.toContain(hex(createSecrets(bytes('0123456789abcdeF')).derive('ticket')))
  })

  test('a short secret is refused', () => {
    expect(() => createSecrets(bytes('short'))).toThrow(/at least 16 bytes/)
  })
})

describe('private files', () => {
  let directory = ''
  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), 'bh-files-'))
  })
  afterEach(() => rmSync(directory, { recursive: true }))

  test('what was written is read, nobody else can, and nothing is left beside it', () => {
    const path = join(directory, 'deep', 'key')
    nodePrivateFiles.write(path, bytes('one'))
    nodePrivateFiles.write(path, bytes('two'))
    expect(nodePrivateFiles.read(path)).toEqual(bytes('two'))
    expect(statSync(path).mode & 0o777).toBe(0o600)
    expect(statSync(join(directory, 'deep')).mode & 0o777).toBe(0o700)
    expect(readdirSync(join(directory, 'deep'))).toEqual(['key'])
  })

  test('what the system denies is said in one line, and nothing stays', () => {
    writeFileSync(join(directory, 'file'), 'x', { mode: 0o600 })
    const attempts: [() => void, RegExp][] = [
      [
        () => nodePrivateFiles.makeDirectory(join(directory, 'file', 'in', 'it')),
        /^cannot make the directory .*\(ENOTDIR\)$/,
      ],
      [() => nodePrivateFiles.makeDirectory(join(directory, 'file')), /^cannot make the directory .*\(EEXIST\)$/],
      // Denied though its parent is there: a recursion that takes ENOENT for a missing parent never ends here.
      [() => nodePrivateFiles.makeDirectory('/proc/none/of/these'), /^cannot make the directory .*\(E[A-Z]+\)$/],
      [() => nodePrivateFiles.read(join(directory, 'file', 'x')), /^cannot read .*\(ENOTDIR\)$/],
      [() => nodePrivateFiles.write(directory, bytes('x')), /^cannot write .*\(E[A-Z]+\)$/],
    ]
    for (const [attempt, message] of attempts) expect(attempt).toThrow(message)
    expect(readdirSync(directory)).toEqual(['file'])
    expect(readdirSync(dirname(directory)).filter((name) => name.startsWith(`${basename(directory)}.`))).toEqual([])
  })

  test('a missing file is null', () => {
    expect(nodePrivateFiles.read(join(directory, 'none'))).toBeNull()
  })

  test('a file that others may read is refused with the way out', () => {
    const path = join(directory, 'open')
    writeFileSync(path, 'x', { mode: 0o644 })
    expect(() => nodePrivateFiles.read(path)).toThrow(/chmod go-rwx/)
  })
})

test('the clock does not go back and a timer can be taken back', async () => {
  const before = nodeClock.now()
  let rang = false
  nodeTimers
    .after(5, () => {
      rang = true
    })
    .cancel()
  await new Promise<void>((resolve) => nodeTimers.after(20, resolve))
  expect(rang).toBe(false)
  expect(nodeClock.now() - before).toBeGreaterThanOrEqual(19)
})
