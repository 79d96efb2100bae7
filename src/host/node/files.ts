import { randomBytes } from 'node:crypto'
import {
  closeSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs'
import { dirname, resolve } from 'node:path'
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

const failed = (what: string, path: string, cause: unknown): HostError => {
  const reason = (cause as NodeJS.ErrnoException).code ?? 'unknown'
  return new HostError({ code: 'io', message: `cannot ${what} ${path} (${reason})`, cause, details: { reason } })
}

/** Not by `recursive`: Node's recursion never ends where the system denies a directory that is there, as under /proc. */
const makeDirectories = (path: string): void => {
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory()) return
  const parent = dirname(path)
  if (parent !== path) makeDirectories(parent)
  mkdirSync(path, { mode: 0o700 })
}

const makeDirectory = (path: string): void => {
  try {
    makeDirectories(resolve(path))
  } catch (cause) {
    throw failed('make the directory', path, cause)
  }
}

export const nodePrivateFiles: PrivateFiles = {
  read: (path) => {
    try {
      requirePrivate(path)
      return new Uint8Array(readFileSync(path))
    } catch (error) {
      if (isMissing(error)) return null
      throw error instanceof HostError ? error : failed('read', path, error)
    }
  },

  // Written beside and renamed over: a crash leaves the old file or the new one.
  write: (path, bytes) => {
    makeDirectory(dirname(path))
    const beside = `${path}.${randomBytes(6).toString('hex')}.new`
    try {
      writeWhole(beside, bytes)
      renameSync(beside, path)
    } catch (cause) {
      rmSync(beside, { force: true })
      throw failed('write', path, cause)
    }
  },

  makeDirectory: (path) => {
    makeDirectory(path)
    requirePrivate(path)
  },
}

const writeWhole = (path: string, bytes: Uint8Array): void => {
  const file = openSync(path, 'wx', 0o600)
  try {
    for (let at = 0; at < bytes.length; ) at += writeSync(file, bytes, at)
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
}
