import { lstatSync, mkdirSync } from 'node:fs'

/**
 * Makes the directory if it is not there. Throws unless it is a directory of this user's that nobody else may enter: whoever was
 * faster with its name could put a socket of their own in the place of decode's, and pass on what they read.
 */
export const privateDirectory = (path: string): void => {
  mkdirSync(path, { recursive: true, mode: 0o700 })
  const found = lstatSync(path)
  // Windows has neither, and no other user's directory for temporary files.
  if (!process.getuid) return
  const ours = found.isDirectory() && found.uid === process.getuid() && (found.mode & 0o077) === 0
  if (!ours) throw new Error('the directory of the transfer socket is not this user’s alone')
}
