import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { pageModules } from './assets.ts'
import { pageHtml } from './html.ts'
import { loadPage } from './index.ts'
import { pageStyle } from './style.ts'

const folder = new URL('./page/', import.meta.url)
const source = (name: string): string => readFileSync(new URL(`${name}.ts`, folder), 'utf8')

describe("the page's files", () => {
  it('are the shell, the style and every module of page/', async () => {
    const modules = readdirSync(folder)
      .filter((name) => !name.includes('.test.'))
      .map((name) => name.replace(/\.ts$/, ''))
    expect([...pageModules].sort()).toEqual(modules.sort())
    const assets = await loadPage(async (name) => `// ${name}`)
    expect(assets.map(({ path }) => path)).toEqual([
      '/',
      '/page/style.css',
      ...pageModules.map((name) => `/page/${name}.js`),
    ])
    expect(assets.find(({ path }) => path === '/page/cells.js')?.body).toBe('// cells')
  })

  it('load nothing that is not served from here', () => {
    const served = new Set(['/page/style.css', ...pageModules.map((name) => `/page/${name}.js`), 'data:,'])
    for (const [, target] of pageHtml.matchAll(/(?:src|href)="([^"]*)"/g)) expect(served).toContain(target)
    for (const name of pageModules) {
      for (const [, imported] of source(name).matchAll(/^import (?!type)[^\n]* from '([^']*)'$/gm)) {
        expect(pageModules.map((other) => `./${other}.ts`)).toContain(imported)
      }
    }
    expect(pageStyle).not.toMatch(/url\(|@import/)
    expect(pageHtml + pageModules.map(source).join('')).not.toMatch(/https?:\/\//)
  })

  it('obey the strict policy: nothing inline, no markup from data', () => {
    expect(pageHtml).not.toMatch(/<style|\sstyle="|\son[a-z]+="|<script(?![^>]*src=)/)
    for (const name of pageModules)
      expect(source(name)).not.toMatch(/innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(/)
  })

  it('find every element they look for', () => {
    for (const name of pageModules) {
      for (const [, id] of source(name).matchAll(/byId\('([^']+)'\)/g)) expect(pageHtml).toContain(`id="${id}"`)
    }
  })
})

/** WCAG 2.2: relative luminance and contrast. */
const luminance = (hex: string): number => {
  const [r = 0, g = 0, b = 0] = [1, 3, 5].map((at) => {
    const channel = Number.parseInt(hex.slice(at, at + 2), 16) / 255
    return channel <= 0.04045 ? channel / 12.92 : ((channel + 0.055) / 1.055) ** 2.4
  })
  return 0.2126 * r + 0.7152 * g + 0.0722 * b
}
const contrast = (a: string, b: string): number => {
  const [low = 0, high = 0] = [luminance(a), luminance(b)].sort((x, y) => x - y)
  return (high + 0.05) / (low + 0.05)
}
const colour = (name: string): string => new RegExp(`--${name}: (#[0-9a-f]{6})`).exec(pageStyle)?.[1] ?? ''

describe('legibility', () => {
  it.each(['text', 'soft', 'good', 'warn', 'bad', 'idle'])('--%s is at least 7:1 on both grounds', (name) => {
    expect(contrast(colour(name), colour('ground'))).toBeGreaterThanOrEqual(7)
    expect(contrast(colour(name), colour('panel'))).toBeGreaterThanOrEqual(7)
  })
})
