import { errorBody, errorResponse } from '../errors.ts'
import type { FeedSource, StaticAsset } from '../options.ts'
import { createFrameStream, sseFrame, sseHeaders } from '../output/index.ts'
import { bearerToken, type KeyRing } from '../tenants/index.ts'

/** Nothing from elsewhere, nothing inline, nobody may frame it; the page's own script may talk to this server alone. */
const pagePolicy =
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

/** One file of the operator's page. Public: it holds no data. */
export const showAsset = (asset: StaticAsset): Response =>
  new Response(asset.body, {
    headers: {
      'content-type': asset.contentType,
      'content-security-policy': pagePolicy,
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
      'cross-origin-opener-policy': 'same-origin',
      'cross-origin-resource-policy': 'same-origin',
      'cache-control': 'no-cache',
    },
  })

/**
 * `GET /admin/feed`: the page's data as server-sent events, for holders of the admin key in `Authorization`. A reader that is slower
 * than the feed misses states, not memory: only the newest one waits.
 */
export const showFeed = (request: Request, keys: Pick<KeyRing, 'isAdmin'>, feed: FeedSource): Response => {
  const key = bearerToken(request.headers)
  if (key === null || !keys.isAdmin(key)) {
    return errorResponse(errorBody({ code: 'invalid_api_key', message: 'This needs the admin key.' }))
  }
  if (request.method === 'HEAD') return new Response(null, { headers: { ...sseHeaders } })
  let leave: (() => void) | null = null
  const stop = (): void => {
    leave?.()
    leave = null
  }
  const frames = createFrameStream(stop)
  leave = feed.subscribe((json) => frames.replace(sseFrame(json)))
  const onAbort = (): void => {
    stop()
    frames.reset()
  }
  if (request.signal.aborted) onAbort()
  else request.signal.addEventListener('abort', onAbort, { once: true })
  return new Response(frames.body, { headers: { ...sseHeaders } })
}
