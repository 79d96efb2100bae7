import type { ListenAddress } from './types.ts'

/** `HOST:PORT`, an IPv6 address in brackets; null if it is none. */
export function parseListen(text: string): ListenAddress | null {
  const match = /^(?:\[([0-9A-Fa-f:.]+)\]|([A-Za-z0-9.-]+)):(\d{1,5})$/.exec(text)
  if (match === null) return null
  const port = Number(match[3])
  return port <= 65_535 ? { host: match[1] ?? match[2]!, port } : null
}
