/** A surface behind the gateway; its name is also the `route` label of metrics, so it never carries a client's text. */
export type Route =
  | { readonly kind: 'chat_completions' }
  | { readonly kind: 'completions' }
  | { readonly kind: 'models' }
  | { readonly kind: 'model'; readonly id: string }
  | { readonly kind: 'tokenize' }
  | { readonly kind: 'health' }
  | { readonly kind: 'ready' }
  | { readonly kind: 'metrics' }
  | { readonly kind: 'security_txt' }
  | { readonly kind: 'admin_feed' }
  | { readonly kind: 'asset'; readonly path: string }

export type RouteMatch =
  | { readonly kind: 'matched'; readonly route: Route }
  | { readonly kind: 'wrong_method'; readonly allow: string }
  | { readonly kind: 'not_found' }

const exact: Readonly<Record<string, { readonly allow: 'GET, HEAD' | 'POST'; readonly route: Route }>> = {
  '/v1/chat/completions': { allow: 'POST', route: { kind: 'chat_completions' } },
  '/v1/completions': { allow: 'POST', route: { kind: 'completions' } },
  '/v1/models': { allow: 'GET, HEAD', route: { kind: 'models' } },
  '/tokenize': { allow: 'POST', route: { kind: 'tokenize' } },
  '/health': { allow: 'GET, HEAD', route: { kind: 'health' } },
  '/ready': { allow: 'GET, HEAD', route: { kind: 'ready' } },
  '/metrics': { allow: 'GET, HEAD', route: { kind: 'metrics' } },
  '/.well-known/security.txt': { allow: 'GET, HEAD', route: { kind: 'security_txt' } },
  '/admin/feed': { allow: 'GET, HEAD', route: { kind: 'admin_feed' } },
}

const modelPrefix = '/v1/models/'

/** A model id in its one canonical spelling: as it is, or as `encodeURIComponent` writes it. Anything else is no path of ours. */
const modelId = (path: string): string | null => {
  const written = path.slice(modelPrefix.length)
  if (written.length === 0 || written.length > 512) return null
  const segments = written.split('/')
  if (segments.some((segment) => segment === '' || segment === '.' || segment === '..')) return null
  if (/^[A-Za-z0-9._@:/-]+$/.test(written)) return written
  try {
    const id = decodeURIComponent(written)
    return encodeURIComponent(id) === written ? id : null
  } catch {
    // Not a percent-encoding at all.
    return null
  }
}

/**
 * The exact list of what is served. `path` is compared as it was sent: encoded, dotted and trailing-slash spellings of a
 * listed path are not that path. `assets` are the page's own files, if there is a page.
 */
export const matchRoute = (method: string, path: string, assets: ReadonlySet<string>): RouteMatch => {
  const listed = Object.hasOwn(exact, path) ? exact[path] : undefined
  if (listed) return allowed(method, listed.allow, listed.route)
  if (assets.has(path)) return allowed(method, 'GET, HEAD', { kind: 'asset', path })
  if (path.startsWith(modelPrefix)) {
    const id = modelId(path)
    if (id !== null) return allowed(method, 'GET, HEAD', { kind: 'model', id })
  }
  return { kind: 'not_found' }
}

const allowed = (method: string, allow: string, route: Route): RouteMatch =>
  allow.split(', ').includes(method) ? { kind: 'matched', route } : { kind: 'wrong_method', allow }
