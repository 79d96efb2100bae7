import { unlinkSync } from 'node:fs'
import { connect, createServer, type NetConnectOpts, type Socket } from 'node:net'
import type { Random } from '../../host/index.ts'
import { type LinkEvents, type LinkOptions, LinkProtocol, type LinkViolation, type LinkWriter } from './protocol.ts'

export interface EndpointOptions extends Omit<LinkOptions, 'nonce'> {
  readonly random: Random
  /** Unix socket; its directory must be private (0700). */
  readonly path: string
  /** A connection that has not proved itself by then is closed. Default 2,000. */
  readonly handshakeMs?: number
}

export interface EndpointEvents extends LinkEvents {
  /** Follows every `up`, once: nothing more is read from or written to that connection. */
  down(reason: string): void
  /** The channel takes more again. */
  drained(): void
  violation(reason: LinkViolation | 'handshake_timeout'): void
}

/** The one link a worker has with its peer: at most one connection is up at a time. */
export interface Endpoint {
  /** The connection that is up, or null. */
  link(): LinkProtocol | null
  /** Ends the connection that is up; `down` follows at once. */
  cut(reason: string): void
  close(): Promise<void>
}

const RETRY_MS = 40
/** Pages that may stand outside the pool on their way to the channel; more wait inside it. */
const SEND_AHEAD_BYTES = 2 ** 20
const STRANGERS = 8

/** Decode's end. A proved new connection replaces the one before: a restarted prefill is not kept waiting by its own ghost. */
export const listenForLink = async (options: EndpointOptions, events: EndpointEvents): Promise<Endpoint> => {
  const slot = createSlot(events)
  const strangers = new Set<Socket>()
  const server = createServer((socket) => {
    if (strangers.size >= STRANGERS) {
      socket.destroy()
      return
    }
    strangers.add(socket)
    socket.once('close', () => strangers.delete(socket))
    attach(socket, options, events, slot, () => strangers.delete(socket))
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(options.path, () => resolve())
  })
  return {
    link: slot.link,
    cut: slot.cut,
    close: async () => {
      slot.cut('closed')
      for (const socket of strangers) socket.destroy()
      await new Promise<void>((resolve) => server.close(() => resolve()))
    },
  }
}

/** Removes what a killed listener left behind, so that the next one can take its place. */
export const removeStaleSocket = (path: string): void => {
  try {
    unlinkSync(path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
  }
}

/** Prefill's end: connects and, whenever the connection is lost, connects again. */
export const connectLink = (options: EndpointOptions, events: EndpointEvents): Endpoint => {
  const slot = createSlot(events)
  let closed = false
  let current: Socket | null = null
  let timer: NodeJS.Timeout | null = null
  const dial = (): void => {
    if (closed) return
    const socket = connect({ path: options.path, highWaterMark: SEND_AHEAD_BYTES } as NetConnectOpts)
    current = socket
    socket.once('close', () => {
      timer = setTimeout(dial, RETRY_MS)
    })
    attach(socket, options, events, slot, () => undefined)
  }
  dial()
  return {
    link: slot.link,
    cut: slot.cut,
    close: async () => {
      closed = true
      if (timer) clearTimeout(timer)
      slot.cut('closed')
      current?.destroy()
    },
  }
}

interface Slot {
  link(): LinkProtocol | null
  cut(reason: string): void
  fill(socket: Socket, protocol: LinkProtocol): void
  leave(socket: Socket, reason: string): void
}

const createSlot = (events: EndpointEvents): Slot => {
  let held: { readonly socket: Socket; readonly protocol: LinkProtocol } | null = null
  const drop = (reason: string): void => {
    if (!held) return
    const { socket, protocol } = held
    held = null
    protocol.stop()
    socket.destroy()
    events.down(reason)
  }
  return {
    link: () => held?.protocol ?? null,
    cut: drop,
    fill: (socket, protocol) => {
      drop('replaced')
      held = { socket, protocol }
    },
    leave: (socket, reason) => {
      if (held?.socket === socket) drop(reason)
    },
  }
}

const attach = (
  socket: Socket,
  options: EndpointOptions,
  events: EndpointEvents,
  slot: Slot,
  proved: () => void,
): void => {
  const end = (violation: LinkViolation | 'handshake_timeout'): void => {
    clearTimeout(timer)
    events.violation(violation)
    socket.destroy()
    slot.leave(socket, violation)
  }
  const timer = setTimeout(() => end('handshake_timeout'), options.handshakeMs ?? 2_000)
  const own: LinkEvents = {
    ...events,
    up: (peer) => {
      clearTimeout(timer)
      proved()
      slot.fill(socket, protocol)
      events.up(peer)
    },
  }
  // Frames of one turn leave in one system call.
  const write: LinkWriter = (bytes, written) => {
    if (socket.writableCorked === 0) {
      socket.cork()
      process.nextTick(() => socket.uncork())
    }
    return socket.write(bytes, written)
  }
  const protocol = new LinkProtocol({ ...options, nonce: options.random.bytes(32) }, own, write)
  socket.on('connect', () => protocol.start())
  socket.on('data', (chunk: Buffer) => {
    if (socket.destroyed) return
    const violation = protocol.receive(chunk)
    if (violation) end(violation)
  })
  socket.on('drain', () => {
    if (slot.link() === protocol) events.drained()
  })
  socket.on('error', () => undefined)
  socket.on('close', () => {
    clearTimeout(timer)
    slot.leave(socket, 'connection_lost')
  })
}
