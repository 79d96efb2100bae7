import { connect, type Socket } from 'node:net'

/** What a raw client got from a connection: the bytes, and how it ended. */
export interface RawAnswer {
  readonly text: string
  readonly status: number
  /** `reset` for ECONNRESET, `end` when the server finished its side, `open` when it was still open. */
  readonly ending: 'end' | 'reset' | 'open'
}

/**
 * Writes the parts one after the other and gathers what comes until the end or for `waitMs`; by default not much longer
 * than until a whole answer is there.
 */
export const rawRequest = (
  port: number,
  parts: readonly (string | Buffer)[],
  waitMs: number | null = null,
  onConnect: (socket: Socket) => void = () => undefined,
): Promise<RawAnswer> =>
  new Promise((resolve) => {
    const chunks: Buffer[] = []
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
    const textOf = (): string => Buffer.concat(chunks).toString('latin1')
    const settle = (ending: RawAnswer['ending']): void => {
      clearTimeout(timer)
      socket.destroy()
      const text = textOf()
      resolve({ text, status: Number(/^HTTP\/1\.1 (\d{3})/.exec(text)?.[1] ?? 0), ending })
    }
    let timer = setTimeout(() => settle('open'), waitMs ?? 8_000)
    socket.on('data', (chunk: Buffer) => {
      chunks.push(chunk)
      if (waitMs !== null || !isWhole(textOf())) return
      clearTimeout(timer)
      timer = setTimeout(() => settle('open'), 40)
    })
    socket.on('error', () => settle('reset'))
    socket.on('end', () => settle('end'))
    socket.on('connect', () => {
      onConnect(socket)
      for (const part of parts) socket.write(part)
    })
  })

/** The last message in the text has all the bytes its length says. */
const isWhole = (text: string): boolean => {
  const head = text.lastIndexOf('HTTP/1.1 ')
  const body = text.indexOf('\r\n\r\n', head)
  if (/\r\ntransfer-encoding: chunked\r\n/i.test(text.slice(head, body + 2))) return text.endsWith('\r\n0\r\n\r\n')
  const length = /\r\ncontent-length: (\d+)\r\n/i.exec(text.slice(head, body + 2))
  return body >= 0 && length !== null && text.length - body - 4 >= Number(length[1])
}

/** The JSON error code in a raw answer. */
export const errorCode = (answer: RawAnswer): string | null => /"code":"([^"]+)"/.exec(answer.text)?.[1] ?? null
