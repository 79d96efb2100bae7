/** What is known of a page when it might enter the index. */
export interface PublishCandidate {
  /** Of the request that computed it. `complete`: all rows of its prompt stand, and it was neither aborted nor failed. */
  readonly ending: 'running' | 'complete' | 'aborted'
  /** Rows that stand in every layer. */
  readonly rows: number
  readonly pageSize: number
  /** No more rows can come. */
  readonly sealed: boolean
}

/** R11, as a value: may this page enter an index? */
export type PublishRule = (candidate: PublishCandidate) => boolean

/** Only what a whole, unaborted request left behind, and of that only full pages that take no more rows. */
export const publishAfterCommit: PublishRule = ({ ending, rows, pageSize, sealed }) =>
  ending === 'complete' && rows === pageSize && sealed
