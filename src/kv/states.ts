/**
 * A page's life: free → reserved → filling → sealed → draining → free, and quarantined from any of them.
 * A page that is given up early drains from `reserved` or `filling`; a quarantined one goes back to `free` on proof alone.
 */
export const pageStates = ['free', 'reserved', 'filling', 'sealed', 'draining', 'quarantined'] as const
export type PageState = (typeof pageStates)[number]

export const FREE = 0
export const RESERVED = 1
export const FILLING = 2
export const SEALED = 3
export const DRAINING = 4
export const QUARANTINED = 5

/** One character a state, for the operator's page. */
export const stateCells = ['.', 'r', 'f', 's', 'd', 'q'] as const

/** Who may still touch a page. A page is reusable when none is left (R6). */
export const holderKinds = ['lease', 'step', 'writer', 'reader', 'copy'] as const
export type HolderKind = (typeof holderKinds)[number]
