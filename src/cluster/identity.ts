import type { Identity, Lease } from './messages.ts'

/** One string per life of a request on the workers; also the namespace of its pages until they are published (R8). */
export const identityKey = (identity: Identity): string => `${identity.requestId}/${identity.attempt}`

export const identityOf = (value: Identity): Identity => ({ requestId: value.requestId, attempt: value.attempt })

/** A lease as frames name it: without its target. */
export const leaseName = ({ id, epoch }: Lease): Lease => ({ id, epoch })
