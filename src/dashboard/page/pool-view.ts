import type { FeedPool } from '../feed.ts'
import { countCells, drawCell, drawPool, heightOf, layoutCells } from './cells.ts'
import { element, setText } from './dom.ts'

const legend: readonly (readonly [code: string, name: string])[] = [
  ['.', 'free'],
  ['r', 'reserved'],
  ['f', 'filling'],
  ['s', 'sealed'],
  ['d', 'draining'],
  ['q', 'quarantined'],
  ['!', "a stranger's"],
]

/** A canvas at the screen's own resolution, in CSS pixels. */
const sized = (canvas: HTMLCanvasElement, width: number, height: number): CanvasRenderingContext2D | null => {
  const scale = window.devicePixelRatio || 1
  canvas.width = Math.round(width * scale)
  canvas.height = Math.round(height * scale)
  const context = canvas.getContext('2d')
  context?.setTransform(scale, 0, 0, scale, 0, 0)
  return context
}

export interface PoolView {
  readonly root: HTMLElement
  update(pool: FeedPool): void
  resize(): void
}

/** One pool: its cells, and a legend that says every count in words. */
export const createPool = (): PoolView => {
  const name = element('h3', '')
  const total = element('span', '')
  const canvas = element('canvas', 'cells')
  canvas.setAttribute('role', 'img')
  const items = legend.map(([code, label]) => {
    const swatch = element('canvas', '')
    swatch.setAttribute('aria-hidden', 'true')
    const count = element('b', '')
    const context = sized(swatch, 14, 14)
    if (context) drawCell(context, code, 1, 1, 12)
    return { code, label, count, root: element('li', '', [swatch, element('span', '', label), count]) }
  })
  const root = element('div', 'pool', [
    element('div', 'pool-head', [name, total]),
    canvas,
    element(
      'ul',
      'legend',
      items.map((item) => item.root),
    ),
  ])
  let shown: FeedPool | null = null

  const draw = (): void => {
    if (shown === null || root.clientWidth === 0) return
    const layout = layoutCells(shown.cells.length, root.clientWidth)
    const height = heightOf(layout)
    canvas.style.height = `${height}px`
    const context = sized(canvas, root.clientWidth, height)
    if (context) drawPool(context, shown.cells, shown.marks, layout)
  }

  const tell = (pool: FeedPool): void => {
    const counts = countCells(pool.cells)
    setText(name, `${pool.name} pool`)
    setText(total, `${pool.cells.length.toLocaleString('en')} pages`)
    const spoken: string[] = []
    for (const { code, label, count, root: item } of items) {
      const found = counts.get(code) ?? 0
      setText(count, found.toLocaleString('en'))
      item.classList.toggle('none', found === 0)
      // Only an unguarded engine has such pages; elsewhere the word would only frighten.
      item.hidden = code === '!' && found === 0
      if (found > 0) spoken.push(`${found} ${label}`)
    }
    canvas.setAttribute('aria-label', `${pool.name} pool: ${spoken.join(', ')}`)
  }

  return {
    root,
    update(pool): void {
      const same = shown !== null && shown.cells === pool.cells && shown.marks === pool.marks
      shown = pool
      if (same) return
      tell(pool)
      draw()
    },
    resize: draw,
  }
}
