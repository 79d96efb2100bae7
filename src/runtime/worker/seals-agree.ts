/**
 * Are the two seals the same, in a time that their bytes do not show in? One is compared for every page and layer that arrives,
 * and `timingSafeEqual` moves small arrays off the heap first: five times as slow. What proves who somebody is goes by that one.
 */
export const sealsAgree = (a: Uint8Array, b: Uint8Array): boolean => {
  let differing = a.length ^ b.length
  for (let i = 0; i < a.length; i++) differing |= a[i]! ^ b[i]!
  return differing === 0
}
