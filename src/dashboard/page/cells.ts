import type { CellCode } from '../feed.ts'

export interface CellLayout {
  readonly columns: number
  readonly rows: number
  /** Side of a cell and the space between two, in CSS pixels. */
  readonly size: number
  readonly gap: number
}

/** Taller than this, a pool would push the next one out of sight. In CSS pixels. */
const comfortableHeight = 270
const smallest = 4

const largest = (count: number): number => {
  if (count <= 16) return 44
  if (count <= 64) return 22
  return count <= 256 ? 16 : 13
}

const layoutOf = (count: number, width: number, size: number): CellLayout => {
  const gap = size >= 30 ? 5 : size >= 11 ? 3 : size >= 7 ? 2 : 1
  const columns = Math.max(1, Math.floor((width + gap) / (size + gap)))
  return { columns, rows: Math.ceil(count / columns), size, gap }
}

/** Cells as large as their number and the width allow without the pool growing tall; very large pools grow tall all the same. */
export const layoutCells = (count: number, width: number): CellLayout => {
  for (let size = largest(count); size > smallest; size--) {
    const layout = layoutOf(count, width, size)
    if (heightOf(layout) <= comfortableHeight) return layout
  }
  return layoutOf(count, width, smallest)
}

export const heightOf = ({ rows, size, gap }: CellLayout): number => Math.max(0, rows * (size + gap) - gap)

/** How often each state occurs in a pool. */
export const countCells = (cells: string): ReadonlyMap<string, number> => {
  const counts = new Map<string, number>()
  for (const cell of cells) counts.set(cell, (counts.get(cell) ?? 0) + 1)
  return counts
}

interface Brush {
  readonly context: CanvasRenderingContext2D
  readonly x: number
  readonly y: number
  readonly size: number
}

const box = ({ context, x, y, size }: Brush, fill: string | null, edge: string | null): void => {
  if (fill !== null) {
    context.fillStyle = fill
    context.fillRect(x, y, size, size)
  }
  if (edge !== null) {
    context.strokeStyle = edge
    context.lineWidth = 1
    context.strokeRect(x + 0.5, y + 0.5, size - 1, size - 1)
  }
}

const line = (
  { context }: Brush,
  colour: string,
  width: number,
  points: readonly (readonly [number, number])[],
): void => {
  context.strokeStyle = colour
  context.lineWidth = width
  context.beginPath()
  points.forEach(([px, py], i) => {
    if (i % 2 === 0) context.moveTo(px, py)
    else context.lineTo(px, py)
  })
  context.stroke()
}

/** Each state has a shape besides its colour: hollow, dot, half, full, stripe, cross, and full with a bar. */
const drawers: Readonly<Record<CellCode, (brush: Brush) => void>> = {
  '.': (brush) => box(brush, null, '#3a4c61'),
  r: (brush) => {
    box(brush, null, '#566d86')
    const { context, x, y, size } = brush
    const dot = Math.max(1, Math.round(size / 4))
    context.fillStyle = '#93abc4'
    context.fillRect(x + Math.round((size - dot) / 2), y + Math.round((size - dot) / 2), dot, dot)
  },
  f: (brush) => {
    const { context, x, y, size } = brush
    box(brush, '#14283d', '#5fa8ee')
    context.fillStyle = '#5fa8ee'
    context.fillRect(x, y + Math.floor(size / 2), size, Math.ceil(size / 2))
  },
  s: (brush) => box(brush, '#35a27d', null),
  d: (brush) => {
    const { x, y, size } = brush
    box(brush, '#3a2a0e', '#e0ab4c')
    line(brush, '#e0ab4c', Math.max(1, size / 7), [
      [x + 1, y + size - 1],
      [x + size - 1, y + 1],
    ])
  },
  q: (brush) => {
    const { x, y, size } = brush
    box(brush, '#c2407c', '#f6a5cd')
    line(brush, '#ffffff', Math.max(1, size / 8), [
      [x + 2, y + 2],
      [x + size - 2, y + size - 2],
      [x + 2, y + size - 2],
      [x + size - 2, y + 2],
    ])
  },
  '!': (brush) => {
    const { x, y, size } = brush
    box(brush, '#ff4d61', '#ffd0d6')
    line(brush, '#14060a', Math.max(1, size / 6), [
      [x + 2, y + size / 2],
      [x + size - 2, y + size / 2],
    ])
  },
}

const isCode = (code: string): code is CellCode => Object.hasOwn(drawers, code)

/** One cell; a state that this page does not know is drawn as quarantined, since unknown is never green (R14). */
export const drawCell = (context: CanvasRenderingContext2D, code: string, x: number, y: number, size: number): void =>
  drawers[isCode(code) ? code : 'q']({ context, x, y, size })

const drawMark = (
  context: CanvasRenderingContext2D,
  mark: string,
  code: string,
  x: number,
  y: number,
  size: number,
): void => {
  context.font = `700 ${Math.round(size * 0.62)}px ui-monospace, "DejaVu Sans Mono", monospace`
  context.textAlign = 'center'
  context.textBaseline = 'middle'
  context.fillStyle = code === '.' ? '#7d98b5' : code === 's' || code === '!' ? '#06120d' : '#ffffff'
  context.fillText(mark, x + size / 2, y + size / 2 + 1)
}

/** Draws a whole pool into a canvas of the layout's size. Cells too small for a letter show none. */
export const drawPool = (
  context: CanvasRenderingContext2D,
  cells: string,
  marks: string | null,
  layout: CellLayout,
): void => {
  const step = layout.size + layout.gap
  for (let i = 0; i < cells.length; i++) {
    const x = (i % layout.columns) * step
    const y = Math.floor(i / layout.columns) * step
    const code = cells[i] ?? '.'
    const mark = marks?.[i] ?? ' '
    const marked = mark !== ' ' && layout.size >= 11
    // A letter takes the place of the shape; the ground keeps the colour.
    if (marked && code !== '.' && code !== 's')
      box({ context, x, y, size: layout.size }, ground[code] ?? '#c2407c', null)
    else drawCell(context, code, x, y, layout.size)
    if (marked) drawMark(context, mark, code, x, y, layout.size)
  }
}

const ground: Readonly<Record<string, string>> = {
  r: '#2c3b4d',
  f: '#2f6fae',
  d: '#7a5617',
  q: '#c2407c',
  '!': '#ff4d61',
}
