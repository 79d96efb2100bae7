import type { Tenant } from './types.ts'

/** Compares two digests in time that depends on their lengths alone. */
export const equalDigests = (a: Uint8Array, b: Uint8Array): boolean => {
  if (a.length !== b.length) return false
  let difference = 0
  for (let i = 0; i < a.length; i++) difference |= (a[i] ?? 0) ^ (b[i] ?? 0)
  return difference === 0
}

/** The token of `Authorization: Bearer …`, or null. No other header and no query carries a key. */
export const bearerToken = (headers: Headers): string | null => {
  const match = /^Bearer +([\x21-\x7e]{1,512})$/i.exec(headers.get('authorization') ?? '')
  return match?.[1] ?? null
}

/** Who holds a key. Every stored digest is compared, so the time says nothing of which one matched or how nearly. */
export interface KeyRing {
  tenant(key: string): Tenant | null
  isAdmin(key: string): boolean
}

export const createKeyRing = (
  tenants: readonly Tenant[],
  adminKeys: readonly Uint8Array[],
  sha256: (data: Uint8Array) => Uint8Array,
): KeyRing => {
  const digest = (key: string): Uint8Array => sha256(new TextEncoder().encode(key))
  return {
    tenant(key): Tenant | null {
      const presented = digest(key)
      let found: Tenant | null = null
      for (const tenant of tenants) {
        for (const stored of tenant.keys) {
          if (equalDigests(presented, stored)) found = tenant
        }
      }
      return found
    },
    isAdmin(key): boolean {
      const presented = digest(key)
      let found = false
      for (const stored of adminKeys) {
        if (equalDigests(presented, stored)) found = true
      }
      return found
    },
  }
}
