import type { Checker } from './checker.ts'

/** No row reaches a sequence's arithmetic unless its own request wrote it, since its page was last claimed. */
export const ownReads = (): Checker => ({
  name: 'own_reads',
  read: (reader, writer, fresh, page, guarded) => {
    if (!fresh) return `a row of page ${page} was read before it was filled`
    if (!guarded) return `a row of page ${page} was read though its guard row is gone`
    return writer === reader
      ? null
      : `a row of page ${page} written for request ${writer} was read by request ${reader}`
  },
})
