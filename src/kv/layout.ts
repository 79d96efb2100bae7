/** How the pages of one contract are laid out: full prompt pages are shared by the n sequences, the rest is each one's own. */
export interface ContractLayout {
  readonly promptPages: number
  /** Full prompt pages: the same first entries in every sequence's table. */
  readonly sharedPages: number
  /** Pages each sequence has to itself; the first of them begins with `tailRows` prompt rows. */
  readonly ownPages: number
  /** Prompt rows in the partly filled last prompt page; 0 if the prompt ends with a page. */
  readonly tailRows: number
  readonly totalPages: number
}

/** Pages come in this order: shared ones, then the own pages of sequence 0, of sequence 1 and so on. */
export const contractLayout = (
  contract: { readonly promptTokens: number; readonly maxOutput: number; readonly n: number },
  pageSize: number,
): ContractLayout => {
  const sharedPages = Math.floor(contract.promptTokens / pageSize)
  const ownPages = Math.ceil((contract.promptTokens + contract.maxOutput) / pageSize) - sharedPages
  return {
    promptPages: Math.ceil(contract.promptTokens / pageSize),
    sharedPages,
    ownPages,
    tailRows: contract.promptTokens % pageSize,
    totalPages: sharedPages + contract.n * ownPages,
  }
}

/** Where the pages of sequence `s` stand among the contract's pages, in order of position. */
export const sequencePages = (layout: ContractLayout, sequence: number): readonly number[] => [
  ...Array.from({ length: layout.sharedPages }, (_, i) => i),
  ...Array.from({ length: layout.ownPages }, (_, i) => layout.sharedPages + sequence * layout.ownPages + i),
]

/** Each page's place in its table, in the contract's order. */
export const layoutOrdinals = (layout: ContractLayout): Uint32Array =>
  Uint32Array.from({ length: layout.totalPages }, (_, i) =>
    i < layout.sharedPages ? i : layout.sharedPages + ((i - layout.sharedPages) % layout.ownPages),
  )
