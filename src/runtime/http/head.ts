import { REFUSALS, type Refusal } from './refusal.ts'

/** A request's head as it came, before anything normalises it. */
export interface RawHead {
  readonly method: string
  readonly target: string
  readonly version: string
  /** Alternating names and values, in order, duplicates kept. */
  readonly rawHeaders: readonly string[]
}

export interface HeadRules {
  readonly allowedHosts: ReadonlySet<string>
  readonly bodyBytes: number
}

export type HeadVerdict =
  | { readonly kind: 'accepted'; readonly host: string; readonly method: string; readonly hasBody: boolean }
  | { readonly kind: 'refused'; readonly refusal: Refusal }

// RFC 3986 pchar without percent-encoding; segments are not empty, so `//` and a trailing slash do not match either.
const PATH = /^\/$|^(?:\/[A-Za-z0-9\-._~!$&'()*+,;=:@]+)+$/
const DOTTED = /\/\.{1,2}(?:\/|$)/
const HOST = /^(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9\-._]+)(?::(\d{1,5}))?$/
const METHODS = new Set(['GET', 'POST', 'HEAD', 'OPTIONS', 'PUT', 'PATCH', 'DELETE'])

const values = (head: RawHead, name: string): string[] => {
  const found: string[] = []
  for (let at = 0; at + 1 < head.rawHeaders.length; at += 2) {
    if (head.rawHeaders[at]!.toLowerCase() === name) found.push(head.rawHeaders[at + 1]!.trim())
  }
  return found
}

const isHost = (host: string): boolean => {
  const parts = HOST.exec(host)
  return parts !== null && Number(parts[2] ?? 0) <= 65_535
}

const hostAllowed = (host: string, allowed: ReadonlySet<string>): boolean => {
  const name = HOST.exec(host)![1]!
  // A list entry without a port stands for every port: only the name can be forged by rebinding a foreign domain.
  return allowed.has(name.toLowerCase()) || allowed.has(host.toLowerCase())
}

/**
 * Judges the head on the raw bytes of the request line, since `Request` would fold `/v1/../x`, `%63hat` and backslashes into
 * paths that look listed. Order: version, Host, path, method, framing, coding, length.
 */
export const judgeHead = (head: RawHead, rules: HeadRules): HeadVerdict => {
  const refused = (refusal: Refusal): HeadVerdict => ({ kind: 'refused', refusal })
  if (head.version !== '1.1' && head.version !== '1.0') return refused(REFUSALS.version)
  const hosts = values(head, 'host')
  if (hosts.length !== 1 || !isHost(hosts[0]!)) return refused(REFUSALS.badHost)
  const host = hosts[0]!
  if (!hostAllowed(host, rules.allowedHosts)) return refused(REFUSALS.foreignHost)

  const query = head.target.indexOf('?')
  const path = query < 0 ? head.target : head.target.slice(0, query)
  if (!PATH.test(path) || DOTTED.test(path) || head.target.includes('#')) return refused(REFUSALS.notFound)
  if (!METHODS.has(head.method)) return refused(REFUSALS.method)

  const codings = values(head, 'transfer-encoding')
  const lengths = values(head, 'content-length')
  if (codings.length > 0 && (codings.length > 1 || codings[0]!.toLowerCase() !== 'chunked')) {
    return refused(REFUSALS.transferEncoding)
  }
  // RFC 9112 6.1: both at once, or chunked from an HTTP/1.0 client, is how requests are smuggled.
  if (codings.length > 0 && (lengths.length > 0 || head.version === '1.0')) return refused(REFUSALS.badRequest)
  if (lengths.length > 1 || (lengths.length === 1 && !/^\d{1,15}$/.test(lengths[0]!)))
    return refused(REFUSALS.badRequest)

  const encodings = values(head, 'content-encoding')
  if (encodings.some((value) => value !== '' && value.toLowerCase() !== 'identity')) return refused(REFUSALS.encoding)
  const length = Number(lengths[0] ?? '0')
  if (length > rules.bodyBytes) return refused(REFUSALS.tooLarge)
  return { kind: 'accepted', host, method: head.method, hasBody: codings.length > 0 || length > 0 }
}
