import type { DecodeToPrefill, ManifestFrame, PageFrame } from '../../cluster/index.ts'
import type { DigestTools } from '../../host/index.ts'
import {
  FRAME_TYPES,
  type FrameType,
  leaseClosedHeader,
  manifestHeader,
  pageHeader,
  type RawFrame,
  readLeaseClosedHeader,
  readManifestHeader,
  readPageHeader,
} from './frame.ts'
import {
  helloHeader,
  type LinkHello,
  type LinkMismatch,
  type LinkParty,
  linkProof,
  NONCE_BYTES,
  proofHeader,
  readHello,
  readProof,
  sessionKeys,
} from './handshake.ts'
import { FrameParser, type FramingViolation } from './parser.ts'
import { createOpener, createSealer, frameHead } from './session.ts'

/** Why a peer's bytes were not taken; the connection is over and no page was touched. */
export type LinkViolation =
  | FramingViolation
  | LinkMismatch
  | 'malformed_hello'
  | 'bad_proof'
  | 'unexpected_frame'
  | 'bad_tag'
  | 'out_of_order'
  | 'malformed_header'
  | 'wrong_payload_length'

export interface LinkEvents {
  /** Both sides have proved the link key and agree on model, weights, shape and layout. Decode is up before prefill. */
  up(peer: LinkHello): void
  /** The other side is up too: whoever hears of this side from now on may use the link from both ends. */
  joined(): void
  /** `rows` is a view that is good until this returns. */
  page(frame: PageFrame, rows: Uint8Array): void
  manifest(frame: ManifestFrame): void
  leaseClosed(message: DecodeToPrefill): void
}

export interface LinkOptions {
  readonly own: LinkParty
  /** 32 bytes, the same on both sides. */
  readonly linkKey: Uint8Array
  readonly digests: DigestTools
  /** 32 fresh random bytes for each connection. */
  readonly nonce: Uint8Array
}

/**
 * Takes bytes in order; they must not change until `written` is called, which it is even where the channel ends first.
 * False: the bytes are taken, but the channel wants no more for now.
 */
export type LinkWriter = (bytes: Uint8Array, written?: () => void) => boolean

type Phase = 'hello' | 'proof' | 'joining' | 'up' | 'over'

/**
 * One side of one transfer connection, bytes in and bytes out. Whatever arrives, `receive` does not throw and calls an event
 * only for a frame that is the next one of this session, unchanged, and in bounds.
 */
export class LinkProtocol {
  readonly #options: LinkOptions
  readonly #events: LinkEvents
  readonly #write: LinkWriter
  readonly #parser: FrameParser
  readonly #ownHello: Buffer
  readonly #rowBytes: number
  #peerHello: Uint8Array = new Uint8Array(0)
  #peer: LinkHello | null = null
  #phase: Phase = 'hello'
  #joined = false
  #violation: LinkViolation | null = null
  #seal: ReturnType<typeof createSealer> | null = null
  #open: ReturnType<typeof createOpener> | null = null

  constructor(options: LinkOptions, events: LinkEvents, write: LinkWriter) {
    if (options.nonce.length !== NONCE_BYTES) throw new RangeError(`a nonce has ${NONCE_BYTES} bytes`)
    const { shape } = options.own
    this.#options = options
    this.#events = events
    this.#write = write
    this.#rowBytes = shape.kvHeads * shape.headDim * 2 * 4
    this.#parser = new FrameParser(shape.pageSize * this.#rowBytes)
    this.#ownHello = helloHeader(options.own, options.nonce)
  }

  get up(): boolean {
    return this.#phase === 'up'
  }

  /** Sends what is sealed and has no content. */
  #sendJoined(): void {
    this.#write(this.#sealed(FRAME_TYPES.joined, new Uint8Array(0), 0))
  }

  /** Prefill speaks first; decode shows nothing before it has seen a hello. */
  start(): void {
    if (this.#options.own.role === 'prefill') this.#writePlain(FRAME_TYPES.hello, this.#ownHello)
  }

  /** Takes bytes from the peer; a violation is final and is returned again by every later call. */
  receive(chunk: Buffer): LinkViolation | null {
    if (this.#phase === 'over') return this.#violation
    const framing = this.#parser.push(chunk, (frame) => {
      this.#violation = this.#take(frame)
      return this.#violation === null && this.#phase !== 'over'
    })
    this.#violation ??= framing
    if (this.#violation !== null) this.#phase = 'over'
    return this.#violation
  }

  /** Nothing that arrives from here on, or lies in the same chunk, becomes an event. */
  stop(): void {
    this.#phase = 'over'
  }

  /** False: taken, but hold the next one until the channel drains. `rows` must not change until `written`. */
  sendPage(frame: PageFrame, rows: Uint8Array, written?: () => void): boolean {
    this.#write(this.#sealed(FRAME_TYPES.page, pageHeader(frame), rows.length))
    return this.#write(rows, written)
  }

  sendManifest(frame: ManifestFrame): boolean {
    return this.#write(this.#sealed(FRAME_TYPES.manifest, manifestHeader(frame), 0))
  }

  sendLeaseClosed(message: DecodeToPrefill): boolean {
    return this.#write(this.#sealed(FRAME_TYPES.leaseClosed, leaseClosedHeader(message), 0))
  }

  #sealed(type: FrameType, header: Uint8Array, payloadLength: number): Buffer {
    if (!this.#seal) throw new Error('the link is not up')
    return this.#seal(type, header, payloadLength)
  }

  #writePlain(type: FrameType, header: Uint8Array): void {
    this.#write(frameHead(type, 0, header, 0, () => null))
  }

  #take(frame: RawFrame): LinkViolation | null {
    switch (this.#phase) {
      case 'hello':
        return this.#takeHello(frame)
      case 'proof':
        return this.#takeProof(frame)
      case 'joining':
        return this.#takeJoined(frame)
      case 'up':
        return this.#joined ? this.#takeSealed(frame) : this.#takeJoined(frame)
      case 'over':
        return 'unexpected_frame'
    }
  }

  #takeHello(frame: RawFrame): LinkViolation | null {
    if (frame.type !== FRAME_TYPES.hello || frame.payload.length > 0) return 'unexpected_frame'
    const peer = readHello(frame.header, this.#options.own)
    if (peer === null) return 'malformed_hello'
    if (typeof peer === 'string') return peer
    this.#peer = peer
    this.#peerHello = Uint8Array.from(frame.header)
    this.#phase = 'proof'
    if (this.#options.own.role === 'decode') {
      this.#writePlain(FRAME_TYPES.hello, this.#ownHello)
      this.#writePlain(FRAME_TYPES.proof, proofHeader(this.#proofOf('decode')))
    }
    return null
  }

  #takeProof(frame: RawFrame): LinkViolation | null {
    if (frame.type !== FRAME_TYPES.proof || frame.payload.length > 0) return 'unexpected_frame'
    const { own, digests, linkKey } = this.#options
    const proof = readProof(frame.header)
    if (proof === null || !digests.equal(proof, this.#proofOf(own.role === 'prefill' ? 'decode' : 'prefill'))) {
      return 'bad_proof'
    }
    const [prefillHello, decodeHello] = this.#hellos()
    const keys = sessionKeys(digests, linkKey, own.role, prefillHello, decodeHello)
    this.#seal = createSealer(keys.send, digests)
    this.#open = createOpener(keys.receive, digests)
    if (own.role === 'prefill') {
      this.#writePlain(FRAME_TYPES.proof, proofHeader(this.#proofOf('prefill')))
      this.#phase = 'joining'
      return null
    }
    this.#phase = 'up'
    this.#events.up(this.#peer!)
    this.#sendJoined()
    return null
  }

  /** Decode says so when it is up; prefill is up when it has heard it, and says so in turn. */
  #takeJoined(frame: RawFrame): LinkViolation | null {
    const opened = this.#open!(frame)
    if (opened !== 'ok') return opened
    if (frame.type !== FRAME_TYPES.joined || frame.header.length + frame.payload.length > 0) return 'unexpected_frame'
    this.#joined = true
    if (this.#phase === 'joining') {
      this.#phase = 'up'
      this.#sendJoined()
      this.#events.up(this.#peer!)
    }
    this.#events.joined()
    return null
  }

  #takeSealed(frame: RawFrame): LinkViolation | null {
    const opened = this.#open!(frame)
    if (opened !== 'ok') return opened
    if (this.#options.own.role === 'prefill') return this.#takeAnswer(frame)
    if (frame.type === FRAME_TYPES.page) {
      const page = readPageHeader(frame.header)
      if (page === null) return 'malformed_header'
      const { pageSize } = this.#options.own.shape
      const fits = page.rows > 0 && page.rows <= pageSize && frame.payload.length === page.rows * this.#rowBytes
      if (!fits) return 'wrong_payload_length'
      this.#events.page(page, frame.payload)
      return null
    }
    if (frame.type !== FRAME_TYPES.manifest) return 'unexpected_frame'
    if (frame.payload.length > 0) return 'wrong_payload_length'
    const manifest = readManifestHeader(frame.header)
    if (manifest === null) return 'malformed_header'
    this.#events.manifest(manifest)
    return null
  }

  #takeAnswer(frame: RawFrame): LinkViolation | null {
    if (frame.type !== FRAME_TYPES.leaseClosed) return 'unexpected_frame'
    if (frame.payload.length > 0) return 'wrong_payload_length'
    const message = readLeaseClosedHeader(frame.header)
    if (message === null) return 'malformed_header'
    this.#events.leaseClosed(message)
    return null
  }

  #hellos(): readonly [Uint8Array, Uint8Array] {
    const prefill = this.#options.own.role === 'prefill'
    return prefill ? [this.#ownHello, this.#peerHello] : [this.#peerHello, this.#ownHello]
  }

  #proofOf(role: LinkParty['role']): Uint8Array {
    const { digests, linkKey } = this.#options
    return linkProof(digests, linkKey, role, ...this.#hellos())
  }
}
