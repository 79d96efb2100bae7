import type { Ticket, TicketCheck, TicketCrypto, TicketLeg } from '../admission/index.ts'
import type { KernelChecks } from '../kernels/index.ts'
import type { Lineage, PageFences, PrefixKeys, PublishRule, Sha256 } from '../kv/index.ts'
import type { Identity } from './messages.ts'

/**
 * The rules a machine enforces, as values handed to its constructor: each rule's check stands in one member, and nowhere
 * else. `fullFences` is what a server runs with; partial sets are built by lab and tests alone (a test proves that).
 */
export interface Fences {
  /** R3: a gate per machine, since a ticket admits once per leg. */
  readonly ticket: TicketFence
  /** R4: the first way in which what was delivered falls short of what was contracted; null if it does not. */
  readonly contract: ContractFence
  /** R5, R6, R7. */
  readonly pages: PageFences
  /** R5 and guard rows inside the attention kernel; the runtime hands them to the kernels. */
  readonly kernel: KernelChecks
  /** R8: lineage keys for seals, and whether every contracted page carries a verified one. */
  readonly seals: SealFence
  /** R9: what tells two cached prefixes apart. */
  readonly key: PrefixKeys
  /** R11: may this page enter the prefix index? */
  readonly publish: PublishRule
  /** R10: does a message, frame or result name the request it is taken for? */
  readonly identity: IdentityFence
}

/** What a leg holds of a request, to be compared with what its ticket says. */
export interface HeldPrompt extends Identity {
  readonly ids: Int32Array
  readonly model: string
  readonly weights: string
  readonly now: number
}

export interface TicketGate {
  admit(ticket: Ticket, held: HeldPrompt): TicketCheck
}
export type TicketFence = (leg: TicketLeg, crypto: TicketCrypto) => TicketGate

/** Prompt pages of a contract and, per page and layer, the rows that arrived. */
export interface Delivery {
  readonly pageSize: number
  readonly layers: number
  readonly promptRows: number
  /** Rows delivered of page `ordinal` in `layer`; 0 if none. */
  readonly rowsOf: (ordinal: number, layer: number) => number
  /** What the manifest says was sent. */
  readonly manifest: {
    readonly pages: number
    readonly rows: number
    readonly layers: number
    readonly tokenDigest: string
  }
  readonly tokenDigest: string
}

/** `ordinal` is the first page at fault, null where no single page is. */
export interface Shortfall {
  readonly what: 'pages' | 'rows' | 'layers' | 'digest' | 'page_rows' | 'seal'
  readonly ordinal: number | null
  readonly layer: number | null
  readonly expected: number
  readonly received: number
}
export type ContractFence = (delivery: Delivery) => Shortfall | null

export interface SealFence {
  /** 32 bytes, or null: pages travel unsealed and are not verified. */
  readonly key: (lineage: Lineage, sha256: Sha256) => Uint8Array | null
  /** First contracted page without a verified seal, by ordinal and layer; null if there is none. */
  readonly missing: (
    pages: number,
    layers: number,
    verified: (ordinal: number, layer: number) => boolean,
  ) => Shortfall | null
}

/** Rows of a batch name their sequence too: two of one request that changed places would be another answer. */
export interface SequenceIdentity extends Identity {
  readonly sequence?: number | null
}

export type IdentityFence = (expected: SequenceIdentity, named: SequenceIdentity) => boolean
