/** Whose prefix it is: one tenant's, or everybody's where the operator has declared it public. */
export type PrefixTenant = { readonly kind: 'tenant'; readonly id: string } | { readonly kind: 'public' }
/** Weights put over the model's. This engine loads none yet, and says so in the key rather than leaving it out. */
export type PrefixAdapter = { readonly kind: 'none' } | { readonly kind: 'adapter'; readonly id: string }
/** A client's own division of its cache. None is taken from clients yet. */
export type PrefixSalt = { readonly kind: 'none' } | { readonly kind: 'salt'; readonly value: string }

/** Everything but tokens that must be equal before one request may read rows that another computed (R9). */
export interface PrefixScope {
  readonly tenant: PrefixTenant
  readonly model: string
  /** Hex digest of the weights as loaded. */
  readonly weights: string
  /** Of the rows in the pool. */
  readonly dtype: string
  readonly adapter: PrefixAdapter
  readonly salt: PrefixSalt
}

/** Who a page counts for, and whose pages make way for it: one group a tenant, one for what is public. */
export const groupOf = (tenant: PrefixTenant): string => (tenant.kind === 'public' ? 'public' : `tenant ${tenant.id}`)
export const PUBLIC_GROUP = groupOf({ kind: 'public' })
