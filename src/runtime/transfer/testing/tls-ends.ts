import { connect, createServer, type Server, type Socket } from 'node:net'
import { connect as tlsConnect } from 'node:tls'
import { nodeRandom } from '../../../host/node/index.ts'
import { connectLink, type Endpoint, type Listener, listenForLink } from '../endpoint.ts'
import type { Told } from './ends.ts'
import { optionsOf } from './pair.ts'

export const KEY = new Uint8Array(32).fill(5)
export const WRONG = new Uint8Array(32).fill(6)
export const IDENTITY = 'bulkhead/1'
export const SUITE = 'TLS_AES_128_GCM_SHA256'
export const HANDSHAKE_MS = 150

const closing: (() => unknown)[] = []
/** Ends whatever these have opened; for `afterEach`. */
export const closeAll = async (): Promise<void> => {
  for (const close of closing.splice(0).reverse()) await close()
}

const optionsFor = (role: 'prefill' | 'decode', key = KEY) => ({
  ...optionsOf(role),
  random: nodeRandom,
  channel: { kind: 'tcp', key } as const,
  handshakeMs: HANDSHAKE_MS,
})
export const decodeEnd = async (to: Told): Promise<Listener> => {
  const end = await listenForLink(optionsFor('decode'), to.events)
  closing.push(end.close)
  return end
}
export const prefillEnd = (from: Told, port: () => number | null, key = KEY): Endpoint => {
  const end = connectLink(optionsFor('prefill', key), from.events, port)
  closing.push(end.close)
  return end
}

/** A connection that is cut when the test is over, with what it was sent. */
export const follow = <S extends Socket>(
  socket: S,
): { readonly socket: S; readonly got: () => Buffer; closed: boolean } => {
  const chunks: Buffer[] = []
  const followed = { socket, got: () => Buffer.concat(chunks), closed: false }
  socket.on('error', () => undefined)
  socket.on('data', (chunk: Buffer) => chunks.push(chunk))
  socket.on('close', () => {
    followed.closed = true
  })
  closing.push(() => socket.destroy())
  return followed
}
export const dial = (port: number) => follow(connect(port, '127.0.0.1'))
export const dialTls = (port: number, change: object = {}) =>
  follow(
    tlsConnect({
      host: '127.0.0.1',
      port,
      minVersion: 'TLSv1.3',
      ciphers: SUITE,
      rejectUnauthorized: false,
      checkServerIdentity: () => undefined,
      pskCallback: () => ({ psk: KEY, identity: IDENTITY }),
      ...change,
    }),
  )
export const listening = async (server: Server): Promise<number> => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  closing.push(() => server.close())
  return (server.address() as { port: number }).port
}

/** A relay that shows, and may change, what prefill says. */
export const relay = async (
  to: number,
  change: (chunk: Buffer) => Buffer,
): Promise<{ port: number; said: Buffer[] }> => {
  const said: Buffer[] = []
  const server = createServer((inner) => {
    const outer = connect(to, '127.0.0.1')
    for (const socket of [inner, outer]) socket.on('error', () => undefined)
    inner.on('data', (chunk: Buffer) => {
      said.push(chunk)
      outer.write(change(chunk))
    })
    outer.on('data', (chunk: Buffer) => inner.write(chunk))
    inner.on('close', () => outer.destroy())
    outer.on('close', () => inner.destroy())
  })
  return { port: await listening(server), said }
}
