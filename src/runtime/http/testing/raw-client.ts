import { connect, type Socket } from 'node:net'

/** What a raw client got from a connection: the bytes, and how it ended. */
export interface RawAnswer {
  readonly text: string
  readonly status: number
  /** `reset` for ECONNRESET, `end` when the server finished its side, `open` when it was still open. */
  readonly ending: 'end' | 'reset' | 'open'
}

/** Writes the parts one after the other and gathers what comes until the end or for `waitMs`. */
export const rawRequest = (
  port: number,
  parts: readonly (string | Buffer)[],
  waitMs = 200,
  onConnect: (socket: Socket) => void = () => undefined,
): Promise<RawAnswer> =>
  new Promise((resolve) => {
    const chunks: Buffer[] = []
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
    const settle = (ending: RawAnswer['ending']): void => {
      clearTimeout(timer)
      socket.destroy()
      const text = Buffer.concat(chunks).toString('latin1')
      resolve({ text, status: Number(/^HTTP\/1\.1 (\d{3})/.exec(text)?.[1] ?? 0), ending })
    }
    const timer = setTimeout(() => settle('open'), waitMs)
    socket.on('data', (chunk: Buffer) => chunks.push(chunk))
    socket.on('error', () => settle('reset'))
    socket.on('end', () => settle('end'))
    socket.on('connect', () => {
      onConnect(socket)
      for (const part of parts) socket.write(part)
    })
  })

/** The JSON error code in a raw answer. */
export const errorCode = (answer: RawAnswer): string | null => /"code":"([^"]+)"/.exec(answer.text)?.[1] ?? null
