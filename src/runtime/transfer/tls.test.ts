import { connect, createServer, type Server, type Socket } from 'node:net'
import { networkInterfaces } from 'node:os'
import { createServer as createTlsServer, connect as tlsConnect } from 'node:tls'
import { afterEach, describe, expect, test } from 'vitest'
import { nodeRandom } from '../../host/node/index.ts'
import { connectLink, type Endpoint, type Listener, listenForLink } from './endpoint.ts'
import { LinkProtocol } from './protocol.ts'
import { selfSigned } from './testing/certificate.ts'
import { type Told, told, until } from './testing/ends.ts'
import { listener, optionsOf, page, rowsOf } from './testing/pair.ts'
import { createRandom } from './testing/random.ts'

const KEY = new Uint8Array(32).fill(5)
const WRONG = new Uint8Array(32).fill(6)
const IDENTITY = 'bulkhead/1'
const SUITE = 'TLS_AES_128_GCM_SHA256'
const HANDSHAKE_MS = 150

const closing: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

const optionsFor = (role: 'prefill' | 'decode', key = KEY) => ({
  ...optionsOf(role),
  random: nodeRandom,
  channel: { kind: 'tcp', key } as const,
  handshakeMs: HANDSHAKE_MS,
})
const decodeEnd = async (to: Told): Promise<Listener> => {
  const end = await listenForLink(optionsFor('decode'), to.events)
  closing.push(end.close)
  return end
}
const prefillEnd = (from: Told, port: () => number | null, key = KEY): Endpoint => {
  const end = connectLink(optionsFor('prefill', key), from.events, port)
  closing.push(end.close)
  return end
}

/** A connection that is cut when the test is over, with what it was sent. */
const follow = <S extends Socket>(socket: S): { readonly socket: S; readonly got: () => Buffer; closed: boolean } => {
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
const dial = (port: number) => follow(connect(port, '127.0.0.1'))
const dialTls = (port: number, change: object = {}) =>
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
const listening = async (server: Server): Promise<number> => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  closing.push(() => server.close())
  return (server.address() as { port: number }).port
}

/** A relay that shows, and may change, what prefill says. */
const relay = async (to: number, change: (chunk: Buffer) => Buffer): Promise<{ port: number; said: Buffer[] }> => {
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

describe('the channel', () => {
  test('is TLS 1.3 with keys made anew for each connection', async () => {
    const { port } = await decodeEnd(told())
    const { socket } = dialTls(port!)
    await until(() => socket.authorized)
    expect([socket.getProtocol(), socket.getCipher().name]).toEqual(['TLSv1.3', SUITE])
    expect(socket.getEphemeralKeyInfo()).toMatchObject({ name: 'X25519' })
    expect(socket.getPeerCertificate()).toEqual({})
  })

  test('shows nothing of a page on the wire', async () => {
    const [from, to] = [told(), told()]
    const decode = await decodeEnd(to)
    const { port, said } = await relay(decode.port!, (chunk) => chunk)
    const prefill = prefillEnd(from, () => port)
    await until(() => from.log.includes('up'))
    prefill.link()!.sendPage(page(0), rowsOf(4, 0x5a))
    await until(() => to.heard.pages.length === 1)
    const wire = Buffer.concat(said)
    expect(wire.length).toBeGreaterThan(rowsOf(4, 0).length)
    for (const clear of [Buffer.alloc(8, 0x5a), 'req_é1', optionsOf('prefill').own.weights]) {
      expect(wire.includes(clear)).toBe(false)
    }
  })

  test('one bit changed on the way ends the connection, with an event and without a page; the next one works', async () => {
    const [from, to] = [told(), told()]
    const decode = await decodeEnd(to)
    let tamper = false
    const { port } = await relay(decode.port!, (chunk) => {
      if (!tamper) return chunk
      tamper = false
      const changed = Buffer.from(chunk)
      changed[20]! ^= 1
      return changed
    })
    const prefill = prefillEnd(from, () => port)
    await until(() => from.log.includes('up'))
    tamper = true
    prefill.link()!.sendPage(page(0), rowsOf(4, 1))
    await until(() => to.log.includes('violation tls_refused'))
    expect(to.log.slice(0, 3)).toEqual(['up', 'violation tls_refused', 'down tls_refused'])
    expect(to.heard.pages).toEqual([])
    await until(() => from.log.filter((line) => line === 'up').length === 2)
    prefill.link()!.sendPage(page(0), rowsOf(4, 1))
    await until(() => to.heard.pages.length === 1)
  })

  test('a recorded connection cannot be played again', async () => {
    const to = told()
    const decode = await decodeEnd(to)
    const { port, said } = await relay(decode.port!, (chunk) => chunk)
    const prefill = prefillEnd(told(), () => port)
    await until(() => to.log.includes('up'))
    prefill.link()!.sendPage(page(0), rowsOf(4, 1))
    await until(() => to.heard.pages.length === 1)
    const again = dial(decode.port!)
    again.socket.write(Buffer.concat(said))
    await until(() => again.closed)
    expect(to.log).toEqual(['up', 'violation tls_refused'])
    expect(to.heard.pages).toHaveLength(1)
  })

  test('listens on the loopback interface alone', async () => {
    const { port } = await decodeEnd(told())
    const others = Object.values(networkInterfaces())
      .flatMap((addresses) => addresses ?? [])
      .filter(({ address, scopeid }) => address !== '127.0.0.1' && !scopeid)
      .map(({ address }) => address)
    for (const host of [...others, '127.0.0.2']) {
      const { socket } = follow(connect(port!, host))
      let refused = ''
      socket.on('error', (error: NodeJS.ErrnoException) => {
        refused = error.code!
      })
      await until(() => refused !== '')
      expect(refused, host).toBe('ECONNREFUSED')
    }
  })
})

/** A prefill that holds the link key and says it all in the clear. */
const plainPrefill = (socket: Socket): void => {
  const protocol = new LinkProtocol(optionsOf('prefill'), listener().events, (bytes) => socket.write(bytes))
  socket.on('data', (chunk: Buffer) => protocol.receive(chunk))
  protocol.start()
}

describe('decode lets go, in time and with an event, of a peer that', () => {
  const { cert, key } = selfSigned('decode')
  test.each<[string, string, (port: number) => { readonly closed: boolean }]>([
    [
      'speaks the link’s own protocol without TLS',
      'tls_refused',
      (port) => {
        const peer = dial(port)
        plainPrefill(peer.socket)
        return peer
      },
    ],
    [
      'holds another key',
      'tls_refused',
      (port) => dialTls(port, { pskCallback: () => ({ psk: WRONG, identity: IDENTITY }) }),
    ],
    ['names another key', 'tls_refused', (port) => dialTls(port, { pskCallback: () => ({ psk: KEY, identity: 'x' }) })],
    ['holds no key', 'tls_refused', (port) => dialTls(port, { pskCallback: undefined })],
    ['shows a certificate', 'tls_refused', (port) => dialTls(port, { pskCallback: undefined, cert, key })],
    [
      'wants an older TLS, with the key',
      'tls_refused',
      (port) => dialTls(port, { minVersion: 'TLSv1.2', maxVersion: 'TLSv1.2', ciphers: 'PSK-AES128-GCM-SHA256' }),
    ],
    ['asks for a page by HTTP', 'tls_refused', (port) => saying(port, Buffer.from('GET / HTTP/1.1\r\n\r\n'))],
    ['sends noise', 'tls_refused', (port) => saying(port, Buffer.alloc(5000, 255))],
    ['sends zeros', 'tls_refused', (port) => saying(port, Buffer.alloc(5000, 0))],
    ['claims a record of 64 KiB', 'tls_refused', (port) => saying(port, Buffer.from('160301ffff0100', 'hex'))],
    ['begins a record and stops', 'handshake_timeout', (port) => saying(port, Buffer.from('160301020001', 'hex'))],
    ['says nothing', 'handshake_timeout', dial],
    ['has the key and says nothing after it', 'handshake_timeout', (port) => dialTls(port)],
    [
      'has the key, and not the link’s',
      'bad_proof',
      (port) => {
        const peer = dialTls(port)
        const own = optionsOf('prefill', { linkKey: WRONG })
        const protocol = new LinkProtocol(own, listener().events, (bytes) => peer.socket.write(bytes))
        peer.socket.on('data', (chunk: Buffer) => protocol.receive(chunk))
        // It says its proof although decode's is none to it.
        peer.socket.on('data', () => peer.socket.write(Buffer.concat([proofFrame])))
        protocol.start()
        return peer
      },
    ],
    [
      'has the key and sends noise',
      'frame_too_long',
      (port) => {
        const peer = dialTls(port)
        peer.socket.write(Buffer.alloc(5000, 255))
        return peer
      },
    ],
  ])('%s: %s', async (_name, violation, strange) => {
    const [from, to] = [told(), told()]
    const decode = await decodeEnd(to)
    const prefill = prefillEnd(from, () => decode.port)
    await until(() => to.log.includes('up') && from.log.includes('up'))
    const began = performance.now()
    const peer = strange(decode.port!)
    await until(() => peer.closed && to.log.length > 1)
    expect(performance.now() - began).toBeLessThan(HANDSHAKE_MS + 1000)
    expect(to.log).toEqual(['up', `violation ${violation}`])
    prefill.link()!.sendPage(page(0), rowsOf(4, 1))
    await until(() => to.heard.pages.length === 1)
  })
})

const proofFrame = Buffer.concat([Buffer.from('3c00000001022000', 'hex'), Buffer.alloc(24 + 32)])
const saying = (port: number, bytes: Buffer) => {
  const peer = dial(port)
  peer.socket.write(bytes)
  return peer
}

test('300 handshakes changed at random come to nothing, and the link they were tried on works', async () => {
  const to = told()
  const decode = await decodeEnd(to)
  const { port, said } = await relay(decode.port!, (chunk) => chunk)
  const from = told()
  const prefill = prefillEnd(from, () => port)
  await until(() => from.log.includes('up'))
  const whole = Buffer.concat(said)
  const random = createRandom(3)
  for (let at = 0; at < 300; at += 1) {
    const bytes = Buffer.from(whole.subarray(0, 1 + random(whole.length)))
    for (let times = random(4); times >= 0; times -= 1) bytes[random(bytes.length)]! ^= 1 << random(8)
    const peer = saying(decode.port!, bytes)
    if (at % 6 === 5) peer.socket.end()
    if (at % 10 === 9) await until(() => peer.closed)
  }
  await until(() => to.log.length > 100)
  prefill.link()!.sendPage(page(0), rowsOf(4, 1))
  await until(() => to.heard.pages.length === 1)
  expect(to.log.filter((line) => !line.startsWith('violation'))).toEqual(['up'])
})

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
