import { errorBody, errorResponse } from './errors.ts'
import type { FeedSource, GatewayHandler, StaticAsset } from './options.ts'
import { matchRoute } from './routes.ts'
import { showAsset, showFeed } from './surfaces/page.ts'
import { createKeyRing } from './tenants/index.ts'

export interface PageHandlerOptions {
  readonly adminKeys: readonly Uint8Array[]
  readonly sha256: (data: Uint8Array) => Uint8Array
  readonly page: readonly StaticAsset[]
  readonly feed: FeedSource
}

/** The operator's page and its feed alone, without models: for demonstrations that play on the same page as `serve`'s. */
export const createPageHandler = (options: PageHandlerOptions): GatewayHandler => {
  const keys = createKeyRing([], options.adminKeys, options.sha256)
  const assets = new Map(options.page.map((asset) => [asset.path, asset]))
  const paths = new Set(assets.keys())
  return async (request) => {
    const match = matchRoute(request.method, new URL(request.url).pathname, paths)
    if (match.kind === 'matched' && match.route.kind === 'admin_feed') return showFeed(request, keys, options.feed)
    const asset = match.kind === 'matched' && match.route.kind === 'asset' ? assets.get(match.route.path) : undefined
    if (!asset) return errorResponse(errorBody({ code: 'not_found', message: 'There is nothing at this path.' }))
    const response = showAsset(asset)
    return request.method === 'HEAD' ? new Response(null, response) : response
  }
}
