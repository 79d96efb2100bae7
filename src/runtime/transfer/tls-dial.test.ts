import { createServer, type Socket } from 'node:net'
import { createServer as createTlsServer } from 'node:tls'
import { afterEach, describe, expect, test } from 'vitest'
import { LinkProtocol } from './protocol.ts'
import { selfSigned } from './testing/certificate.ts'
import { told, until } from './testing/ends.ts'
import { listener, optionsOf } from './testing/pair.ts'
import { closeAll, decodeEnd, listening, prefillEnd, relay, SUITE, WRONG } from './testing/tls-ends.ts'

afterEach(closeAll)

describe('prefill turns away, saying nothing in the clear, a listener that', () => {
  const { cert, key } = selfSigned('127.0.0.1')
  /** It takes whoever comes, and is no bulkhead. */
  const impostor = async (change: object): Promise<number> => {
    const server = createTlsServer({ minVersion: 'TLSv1.3', ciphers: SUITE, ...change }, (socket) => {
      socket.on('error', () => undefined)
    })
    server.on('tlsClientError', () => undefined)
    return listening(server)
  }
  const plain = (take: (socket: Socket) => void) => (): Promise<number> =>
    listening(
      createServer((socket) => {
        socket.on('error', () => undefined)
        take(socket)
      }),
    )

  test.each<[string, string, () => Promise<number>]>([
    [
      'speaks the link’s own protocol without TLS',
      'tls_refused',
      plain((socket) => {
        const protocol = new LinkProtocol(optionsOf('decode'), listener().events, (bytes) => socket.write(bytes))
        // It would have answered with its hello; here it speaks first, since none will come.
        socket.once('data', (chunk: Buffer) => {
          protocol.receive(chunk)
          socket.write(Buffer.alloc(64, 1))
        })
      }),
    ],
    ['shows a certificate for the very address', 'tls_refused', () => impostor({ cert, key })],
    ['holds another key', 'tls_refused', () => impostor({ pskCallback: () => WRONG })],
    ['has both, a certificate and another key', 'tls_refused', () => impostor({ cert, key, pskCallback: () => WRONG })],
    ['wants an older TLS', 'tls_refused', () => impostor({ minVersion: 'TLSv1.2', maxVersion: 'TLSv1.2', cert, key })],
    ['sends noise', 'tls_refused', plain((socket) => socket.write(Buffer.alloc(999, 255)))],
    ['says nothing', 'handshake_timeout', plain(() => undefined)],
  ])('%s: %s', async (_name, violation, stand) => {
    const from = told()
    const port = await stand()
    const { port: shown, said } = await relay(port, (chunk) => chunk)
    prefillEnd(from, () => shown)
    await until(() => from.log.filter((line) => line === `violation ${violation}`).length >= 2)
    expect(from.log.filter((line) => line !== `violation ${violation}`)).toEqual([])
    // TLS records: a handshake, a change of cipher, an alert, and nothing that a link says.
    for (const chunk of said) expect([0x14, 0x15, 0x16]).toContain(chunk[0])
    expect(Buffer.concat(said).includes(optionsOf('prefill').own.weights)).toBe(false)
  })

  test('is found again once the right one stands there', async () => {
    const [from, to] = [told(), told()]
    let port = await impostor({ cert, key })
    prefillEnd(from, () => port)
    await until(() => from.log.includes('violation tls_refused'))
    port = (await decodeEnd(to)).port!
    await until(() => from.log.includes('up') && to.log.includes('up'))
  })
})
