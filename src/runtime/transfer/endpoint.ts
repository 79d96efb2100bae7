import { unlinkSync } from 'node:fs'
import { createServer, type Socket } from 'node:net'
import type { Random } from '../../host/index.ts'
import { dialOn, type LinkChannel, liftAccepted, liftDialled, listenOn } from './channel.ts'
import { type LinkEvents, type LinkOptions, LinkProtocol, type LinkViolation, type LinkWriter } from './protocol.ts'
import type { Lift } from './tls.ts'

/** Why a connection was ended from this side: what it said, or that it did not prove itself. */
export type ConnectionViolation = LinkViolation | 'handshake_timeout' | 'tls_refused' | 'crowded_out'

export interface EndpointOptions extends Omit<LinkOptions, 'nonce'> {
  readonly random: Random
  readonly channel: LinkChannel
  /** A connection that has not proved itself by then, from its first byte on, is closed. Default 2,000. */
  readonly handshakeMs?: number
}

export interface EndpointEvents extends LinkEvents {
  /** Follows every `up`, once: nothing more is read from or written to that connection. */
  down(reason: string): void
  /** The channel takes more again. */
  drained(): void
  violation(reason: ConnectionViolation): void
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

export interface Listener extends Endpoint {
  /** Where to dial, over TCP; null on a Unix socket. */
  readonly port: number | null
}

/** Decode's end. A proved new connection replaces the one before: a restarted prefill is not kept waiting by its own ghost. */
export const listenForLink = async (options: EndpointOptions, events: EndpointEvents): Promise<Listener> => {
  const slot = createSlot(events)
  const lift = liftAccepted(options.channel)
  // In the order they came.
  const strangers = new Map<Socket, (violation: ConnectionViolation) => void>()
  const server = createServer({ noDelay: true }, (raw) => {
    const [oldest] = strangers
    if (oldest !== undefined && strangers.size >= STRANGERS) {
      // Whoever was longest in proving nothing goes: turning newcomers away would let a few slow ones keep prefill out.
      strangers.delete(oldest[0])
      oldest[1]('crowded_out')
    }
    raw.once('close', () => strangers.delete(raw))
    const end = attach(raw, lift, options, events, slot, () => strangers.delete(raw))
    if (!raw.destroyed) strangers.set(raw, end)
  })
  const port = await listenOn(server, options.channel)
  return {
    port,
    link: slot.link,
    cut: slot.cut,
    close: async () => {
      slot.cut('closed')
      for (const raw of strangers.keys()) raw.destroy()
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

/**
 * Prefill's end: connects and, whenever the connection is lost, connects again. `port` is asked each time, where the channel
 * has one: a restarted decode has another.
 */
export const connectLink = (
  options: EndpointOptions,
  events: EndpointEvents,
  port: () => number | null = () => null,
): Endpoint => {
  const slot = createSlot(events)
  const lift = liftDialled(options.channel, SEND_AHEAD_BYTES)
  let closed = false
  let current: Socket | null = null
  let timer: NodeJS.Timeout | null = null
  const dial = (): void => {
    if (closed) return
    const again = (): void => {
      timer = setTimeout(dial, RETRY_MS)
    }
    current = dialOn(options.channel, port(), SEND_AHEAD_BYTES)
    if (current === null) {
      again()
      return
    }
    current.once('close', again)
    attach(current, lift, options, events, slot, () => undefined)
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

/** Follows one connection from its first byte to its end. Returns what ends it for a reason. */
const attach = (
  raw: Socket,
  lift: Lift,
  options: EndpointOptions,
  events: EndpointEvents,
  slot: Slot,
  proved: () => void,
): ((violation: ConnectionViolation) => void) => {
  let over = false
  const end = (violation: ConnectionViolation): void => {
    if (over) return
    over = true
    clearTimeout(timer)
    events.violation(violation)
    raw.destroy()
    slot.leave(raw, violation)
  }
  const timer = setTimeout(() => end('handshake_timeout'), options.handshakeMs ?? 2_000)
  raw.on('error', () => undefined)
  raw.on('close', () => {
    clearTimeout(timer)
    over = true
    slot.leave(raw, 'connection_lost')
  })
  const open = (socket: Socket): void => {
    if (over) {
      socket.destroy()
      return
    }
    carry(socket, options, events, end, (protocol) => {
      clearTimeout(timer)
      proved()
      slot.fill(raw, protocol)
    })
  }
  lift(raw, open, () => end('tls_refused'))
  return end
}

/** Lets the link's frames travel on a connection that is open. */
const carry = (
  socket: Socket,
  options: EndpointOptions,
  events: EndpointEvents,
  end: (violation: ConnectionViolation) => void,
  up: (protocol: LinkProtocol) => void,
): void => {
  const own: LinkEvents = {
    ...events,
    up: (peer) => {
      up(protocol)
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
  socket.on('data', (chunk: Buffer) => {
    if (socket.destroyed) return
    const violation = protocol.receive(chunk)
    if (violation) end(violation)
  })
  socket.on('drain', () => {
    if (protocol.up) events.drained()
  })
  socket.on('error', (error: NodeJS.ErrnoException) => {
    // A record that was changed on its way; whatever else ends a connection is no fault of what was said on it.
    if (error.code?.startsWith('ERR_SSL_')) end('tls_refused')
  })
  protocol.start()
}
