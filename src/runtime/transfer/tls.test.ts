import { connect, type Socket } from 'node:net'
import { networkInterfaces } from 'node:os'
import { afterEach, describe, expect, test } from 'vitest'
import { LinkProtocol } from './protocol.ts'
import { selfSigned } from './testing/certificate.ts'
import { told, until } from './testing/ends.ts'
import { listener, optionsOf, page, rowsOf } from './testing/pair.ts'
import { createRandom } from './testing/random.ts'
import {
  closeAll,
  decodeEnd,
  dial,
  dialTls,
  follow,
  HANDSHAKE_MS,
  IDENTITY,
  KEY,
  prefillEnd,
  relay,
  SUITE,
  WRONG,
} from './testing/tls-ends.ts'

afterEach(closeAll)

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
