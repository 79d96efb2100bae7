import { createHash } from 'node:crypto'
import { closeSync, constants, openSync, readSync } from 'node:fs'
import { basename } from 'node:path'
import type { ModelLayout } from '../architectures/architecture.ts'
import { readLayout } from '../architectures/table.ts'
import { ModelError } from '../errors.ts'
import { type GgufHeader, readGguf, type TensorInfo } from '../gguf/read.ts'

const PIECE_BYTES = 4 * 1024 * 1024

/** An open, judged model file. The descriptor is held, so a file replaced by name meanwhile is not read by mistake. */
export interface WeightsSource {
  readonly path: string
  readonly header: GgufHeader
  readonly layout: ModelLayout
  readonly digest: string
  /** Fills `into` with the tensor's bytes from `from` on. */
  read(tensor: TensorInfo, from: number, into: Uint8Array): void
  close(): void
}

/** Opens, judges and hashes a file. Throws ModelError; the descriptor is closed then. */
export function openSource(path: string): WeightsSource {
  const fd = open(path)
  try {
    const header = readGguf(fd)
    const layout = readLayout(header)
    return {
      path,
      header,
      layout,
      digest: digestOf(fd, header.fileBytes, path),
      read: (tensor, from, into) => {
        if (from + into.length > tensor.bytes) throw new RangeError(`beyond tensor ${tensor.name}`)
        readFully(fd, into, tensor.offset + from, path)
      },
      close: () => closeSync(fd),
    }
  } catch (error) {
    closeSync(fd)
    throw error
  }
}

function open(path: string): number {
  try {
    // A named pipe would keep the opener waiting for a writer; opened like this it is seen to be no regular file.
    return openSync(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0))
  } catch (cause) {
    const reason = (cause as NodeJS.ErrnoException).code ?? 'unknown'
    throw new ModelError({ code: 'unreadable', message: `cannot open ${path} (${reason})`, cause, details: { reason } })
  }
}

/** SHA-256 over the whole file, hex: about 2 GB/s, so half a second for a gigabyte that the load reads anyway. */
function digestOf(fd: number, fileBytes: number, path: string): string {
  const hash = createHash('sha256')
  const piece = Buffer.allocUnsafe(Math.min(PIECE_BYTES, fileBytes))
  for (let at = 0; at < fileBytes; at += piece.length) {
    const part = piece.subarray(0, Math.min(piece.length, fileBytes - at))
    readFully(fd, part, at, path)
    hash.update(part)
  }
  return hash.digest('hex')
}

function readFully(fd: number, into: Uint8Array, position: number, path: string): void {
  for (let got = 0; got < into.length; ) {
    const read = readSync(fd, into, got, into.length - got, position + got)
    if (read === 0) throw new ModelError({ code: 'truncated', message: `${basename(path)} shrank while it was read` })
    got += read
  }
}
