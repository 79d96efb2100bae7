import { describe, expect, it } from 'vitest'
import { type CellCode, cellStates } from '../feed.ts'
import { countCells, drawCell, drawPool, heightOf, layoutCells } from './cells.ts'
import { createEventParser } from './event-stream.ts'
import { keyFromFragment } from './key.ts'

/** Notes what is drawn, colours left out: what remains must tell the states apart. */
const recordingContext = (): {
  readonly context: CanvasRenderingContext2D
  readonly shapes: string[]
  readonly texts: string[]
} => {
  const shapes: string[] = []
  const texts: string[] = []
  const note =
    (name: string) =>
    (...numbers: number[]): void => {
      shapes.push(`${name} ${numbers.join(' ')}`)
    }
  const context = {
    fillRect: note('fill'),
    strokeRect: note('edge'),
    beginPath: () => undefined,
    moveTo: note('move'),
    lineTo: note('line'),
    stroke: () => undefined,
    fillText: (text: string) => texts.push(text),
  }
  return { context: context as unknown as CanvasRenderingContext2D, shapes, texts }
}

const shapeOf = (code: string): string => {
  const { context, shapes } = recordingContext()
  drawCell(context, code, 0, 0, 11)
  return shapes.join('; ')
}

describe('cells', () => {
  it.each([1, 64, 256, 1024, 1536, 6000, 20_000])('%i cells fit any width', (count) => {
    for (const width of [60, 320, 613, 1400]) {
      const layout = layoutCells(count, width)
      expect(layout.columns * (layout.size + layout.gap) - layout.gap).toBeLessThanOrEqual(width)
      expect(layout.columns * layout.rows).toBeGreaterThanOrEqual(count)
      expect(layout.columns * (layout.rows - 1)).toBeLessThan(count)
      expect(heightOf(layout)).toBe(layout.rows * (layout.size + layout.gap) - layout.gap)
    }
  })

  it.each([340, 470, 640, 1200])('1,024 cells stay within one look at %i pixels', (width) => {
    expect(heightOf(layoutCells(1024, width))).toBeLessThanOrEqual(270)
    expect(layoutCells(1024, width).size).toBeGreaterThanOrEqual(6)
  })

  it('a handful of cells is large enough for letters', () => {
    expect(layoutCells(8, 400).size).toBe(44)
  })

  it('an empty pool has no height', () => {
    expect(heightOf(layoutCells(0, 300))).toBe(0)
  })

  it('every state has a shape of its own, so colour is not the only sign', () => {
    const shapes = Object.keys(cellStates).map((code) => shapeOf(code))
    expect(new Set(shapes).size).toBe(Object.keys(cellStates).length)
  })

  it('a state that the page does not know looks quarantined, never free', () => {
    for (const code of ['?', '', '__proto__', 'constructor'])
      expect(shapeOf(code)).toBe(shapeOf('q' satisfies CellCode))
  })

  it('counts each state', () => {
    expect([...countCells('..rs.')]).toEqual([
      ['.', 3],
      ['r', 1],
      ['s', 1],
    ])
  })

  it('writes marks where a letter can be read', () => {
    const wide = recordingContext()
    drawPool(wide.context, 's!..', 'BA  ', { columns: 4, rows: 1, size: 16, gap: 2 })
    expect(wide.texts).toEqual(['B', 'A'])
    const small = recordingContext()
    drawPool(small.context, 's!..', 'BA  ', { columns: 4, rows: 1, size: 7, gap: 2 })
    expect(small.texts).toEqual([])
  })
})

describe('createEventParser', () => {
  it('finds the events however the bytes were cut', () => {
    const stream = 'data: {"a":1}\n\n: comment\n\ndata: x\ndata: y\n\ndata: rest'
    for (let cut = 1; cut < stream.length; cut++) {
      const seen: string[] = []
      const parse = createEventParser((data) => seen.push(data))
      for (let at = 0; at < stream.length; at += cut) parse(stream.slice(at, at + cut))
      expect(seen).toEqual(['{"a":1}', 'x\ny'])
    }
  })
})

describe('keyFromFragment', () => {
  it.each([
    ['#key=abc', 'abc'],
    ['#key=a%2Bb', 'a+b'],
    ['#key=', null],
    ['#other=1', null],
    ['', null],
  ])('%s', (fragment, key) => {
    expect(keyFromFragment(fragment)).toBe(key)
  })
})
