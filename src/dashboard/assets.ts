import type { StaticAsset } from '../gateway/index.ts'
import { pageHtml } from './html.ts'
import { pageStyle } from './style.ts'

/** The page's script modules, which the build compiles from `page/`. */
export const pageModules = ['main', 'cells', 'dom', 'event-stream', 'key', 'pane-view', 'pool-view', 'view'] as const

export type PageModule = (typeof pageModules)[number]

/**
 * Every file of the page, held in memory. `readModule` returns the compiled text of a module of `page/` (from beside this file in the
 * build); it is injected because reading files is the host's.
 */
export const loadPage = async (readModule: (name: PageModule) => Promise<string>): Promise<readonly StaticAsset[]> => [
  { path: '/', contentType: 'text/html; charset=utf-8', body: pageHtml },
  { path: '/page/style.css', contentType: 'text/css; charset=utf-8', body: pageStyle },
  ...(await Promise.all(
    pageModules.map(async (name) => ({
      path: `/page/${name}.js`,
      contentType: 'text/javascript; charset=utf-8',
      body: await readModule(name),
    })),
  )),
]
