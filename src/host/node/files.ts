import { randomBytes } from 'node:crypto'
import {
  closeSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  statSync,
  unlinkSync,
  writeSync,
} from 'node:fs'
import { dirname } from 'node:path'
import { HostError } from '../errors.ts'
import type { PrivateFiles } from '../types.ts'

const isMissing = (error: unknown): boolean => (error as NodeJS.ErrnoException).code === 'ENOENT'

const requirePrivate = (path: string): void => {
  const mode = statSync(path).mode & 0o077
  if (mode === 0) return
  throw new HostError({
    code: 'not_private',
    message: `${path} can be read or written by others; mend it with: chmod go-rwx ${path}`,
    details: { mode },
  })
}

export const nodePrivateFiles: PrivateFiles = {
  read: (path) => {
    try {
      requirePrivate(path)
      return new Uint8Array(readFileSync(path))
    } catch (error) {
      if (isMissing(error)) return null
      throw error
    }
  },

  // Written beside and renamed over: a crash leaves the old file or the new one.
  write: (path, bytes) => {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
    const beside = `${path}.${randomBytes(6).toString('hex')}.new`
    const file = openSync(beside, 'wx', 0o600)
    try {
      for (let at = 0; at < bytes.length; ) at += writeSync(file, bytes, at)
      fsyncSync(file)
    } catch (error) {
      closeSync(file)
      unlinkSync(beside)
      throw new HostError({ code: 'io', message: `cannot write ${path}`, cause: error })
    }
    closeSync(file)
    renameSync(beside, path)
  },

  makeDirectory: (path) => {
    mkdirSync(path, { recursive: true, mode: 0o700 })
    requirePrivate(path)
  },
}
