import type { DecodeToPrefill, Lease, ManifestFrame, PageFrame } from '../../cluster/index.ts'
import type { LeaseSink, PageSink } from './ports.ts'

/** What either worker hears of its link to the other. */
interface LinkEvents {
  /** The other side is known to be there as well; once for each time the link opens. */
  joined(): void
  down(): void
  violation(reason: string): void
}

export interface PrefillLinkEvents extends LinkEvents {
  /** `from`: see `OpenLeasesEffect`; transport `shared` alone has one. */
  up(sink: PageSink, from?: Lease): void
  /** The link takes more again. */
  drained(): void
  leaseClosed(message: DecodeToPrefill): void
}

export interface DecodeLinkEvents extends LinkEvents {
  up(sink: LeaseSink): void
  /** Over `shared` the bytes stand in the page already and don't come along. `rows` need to be good until this returns. */
  page(frame: PageFrame, rows?: Uint8Array): void
  manifest(frame: ManifestFrame): void
  /** Over `shared`: the writer's last word on this lease. */
  acknowledged(lease: Lease): void
}

/** How a worker reaches the other one. It opens, and opens again, by itself; a worker opens one of the two, once. */
export interface Links {
  prefill(events: PrefillLinkEvents): void
  /** Resolves once prefill can find it. `cut` ends the link that is up, now. */
  decode(events: DecodeLinkEvents): Promise<{ cut(reason: string): void }>
}
