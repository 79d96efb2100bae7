import type { Socket } from 'node:net'
import { createServer, type SecureContextOptions, type TLSSocket, connect as tlsConnect } from 'node:tls'

/**
 * TLS 1.3 with an external pre-shared key (RFC 8446, 2.2) and nothing else: no certificate is held, shown or believed. A
 * server without a certificate can end a handshake only with the key, and so can a client that trusts no authority; both
 * therefore prove it. `psk_dhe_ke` is the only mode OpenSSL offers unasked, so each connection has fresh X25519 keys: a key
 * that becomes known later opens no recording. OpenSSL ties such a key to SHA-256, and that to this suite.
 */
const VERSION = 'TLSv1.3'
const TERMS: SecureContextOptions = {
  minVersion: VERSION,
  maxVersion: VERSION,
  ciphers: 'TLS_AES_128_GCM_SHA256',
  ecdhCurve: 'X25519',
  ca: [],
}

/** Names the key, and so the version of these terms; it is seen in the clear. */
const IDENTITY = 'bulkhead/1'

/**
 * Opens TLS on a connection that was made: `open` when the peer has proved the key, or `refuse` when it spoke and did not.
 * A peer that only goes away is neither.
 */
export type Lift = (raw: Socket, open: (socket: Socket) => void, refuse: () => void) => void

/** The listening end. Its terms are made for each connection (0.1 ms), so that what becomes of it is told to nobody else. */
export const acceptTls =
  (key: Uint8Array): Lift =>
  (raw, open, refuse) => {
    const server = createServer({
      ...TERMS,
      pskCallback: (_socket, identity) => (identity === IDENTITY ? Buffer.from(key) : null),
    })
    server.once('secureConnection', (socket) => judge(socket, open, refuse))
    server.once('tlsClientError', (error, socket) => {
      socket.destroy()
      raw.destroy()
      if (!isParting(error)) refuse()
    })
    server.emit('connection', raw)
  }

/** The dialling end. */
export const dialTls =
  (key: Uint8Array, highWaterMark: number): Lift =>
  (raw, open, refuse) => {
    const options = {
      ...TERMS,
      socket: raw,
      highWaterMark,
      // Said here, since the environment could say otherwise.
      rejectUnauthorized: true,
      // Asked only where a certificate was shown in place of the key.
      checkServerIdentity: () => new Error('a certificate, where a pre-shared key was due'),
      pskCallback: () => ({ psk: key, identity: IDENTITY }),
    }
    const socket = tlsConnect(options)
    let secure = false
    socket.once('secureConnect', () => {
      secure = true
      judge(socket, open, refuse)
    })
    socket.on('error', (error) => {
      if (!secure && !isParting(error)) refuse()
    })
  }

/** What the terms leave no other way for is looked at all the same: a later OpenSSL might find one. */
const judge = (socket: TLSSocket, open: (socket: Socket) => void, refuse: () => void): void => {
  // In TLS 1.3 a session begun by a pre-shared key counts as one taken up again; one begun by a certificate does not.
  if (socket.getProtocol() === VERSION && socket.isSessionReused()) open(socket)
  else {
    socket.destroy()
    refuse()
  }
}

/** Gone, as any peer may go: nothing that it said was wrong. */
const isParting = (error: Error): boolean => {
  const { code } = error as NodeJS.ErrnoException
  return code === 'ECONNRESET' || code === 'EPIPE' || code === 'ECONNREFUSED'
}
