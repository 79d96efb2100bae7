import { connect, type NetConnectOpts, type Server, type Socket } from 'node:net'
import { acceptTls, dialTls, type Lift } from './tls.ts'

/** What the frames of a link travel on. */
export type LinkChannel =
  /** A Unix socket; its directory must be private (0700). */
  | { readonly kind: 'socket'; readonly path: string }
  /** TLS over TCP on the loopback interface; `key` is 32 bytes, the same on both sides. */
  | { readonly kind: 'tcp'; readonly key: Uint8Array }

/** Nothing here is ever reachable from another machine. */
const LOOPBACK = '127.0.0.1'

/** Starts to listen; resolves with the port that the system chose, or null where there is none. */
export const listenOn = (server: Server, channel: LinkChannel): Promise<number | null> =>
  new Promise((resolve, reject) => {
    // Stays: a connection that cannot be accepted later on is its peer's loss and no end of this process.
    server.on('error', reject)
    const listening = (): void => {
      const address = server.address()
      resolve(typeof address === 'object' && address !== null ? address.port : null)
    }
    if (channel.kind === 'socket') server.listen(channel.path, listening)
    else server.listen({ host: LOOPBACK, port: 0 }, listening)
  })

/** Begins a connection; null while the port is not known. */
export const dialOn = (channel: LinkChannel, port: number | null, highWaterMark: number): Socket | null => {
  if (channel.kind === 'socket') return connect({ path: channel.path, highWaterMark } as NetConnectOpts)
  return port === null ? null : connect({ host: LOOPBACK, port, noDelay: true })
}

/** What makes an accepted connection one that frames may travel on. */
export const liftAccepted = (channel: LinkChannel): Lift =>
  channel.kind === 'socket' ? (raw, open) => open(raw) : acceptTls(channel.key)

/** The same for one that was dialled. */
export const liftDialled = (channel: LinkChannel, highWaterMark: number): Lift => {
  const lift: Lift = channel.kind === 'socket' ? (raw, open) => open(raw) : dialTls(channel.key, highWaterMark)
  return (raw, open, refuse) => raw.once('connect', () => lift(raw, open, refuse))
}
