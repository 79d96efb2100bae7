/** The house rules that a compiler does not know: who may import whom, and who may touch time and chance. */
import { readdirSync, readFileSync } from 'node:fs'
import { join, relative, resolve } from 'node:path'
import { describe, expect, it } from 'vitest'

const src = resolve(import.meta.dirname, '../src')

/** From top to bottom: a room imports only from rooms below it. */
const ROOMS = [
  'cli',
  'lab',
  'audit',
  'dashboard',
  'gateway',
  'upstream',
  'runtime',
  'cluster',
  'engine',
  'model',
  'text',
  'admission',
  'kv',
  'kernels',
  'host',
  'telemetry',
]
const WITHOUT_IO = ['kv', 'admission', 'engine', 'cluster', 'gateway/exchange']

interface Source {
  readonly path: string
  readonly room: string
  readonly text: string
  readonly imports: readonly string[]
  readonly isTest: boolean
}

const sources: readonly Source[] = readdirSync(src, { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.ts') && !name.startsWith('kernels/assembly'))
  .map((path) => {
    const text = readFileSync(join(src, path), 'utf8')
    const imports = [
      ...text.matchAll(
        /(?:^|\n)\s*(?:import|export)\b[^'"`;]*?\bfrom\s+'([^']+)'|\bimport\(\s*'([^']+)'|(?:^|\n)import '([^']+)'/g,
      ),
    ].map((match) => match[1] ?? match[2] ?? match[3] ?? '')
    return {
      path,
      room: path.split('/')[0] ?? '',
      text,
      imports,
      isTest: path.endsWith('.test.ts') || path.includes('/testing/'),
    }
  })

const product = sources.filter((source) => !source.isTest)

function target(source: Source, specifier: string): string {
  return relative(src, resolve(src, source.path, '..', specifier))
}

function offences(of: readonly Source[], judge: (source: Source, specifier: string) => string | null): string[] {
  return of.flatMap((source) =>
    source.imports.map((specifier) => judge(source, specifier)).filter((found) => found !== null),
  )
}

describe('the house', () => {
  it('has only the rooms of the map', () => {
    expect([...new Set(sources.map((source) => source.room))].filter((room) => !ROOMS.includes(room))).toEqual([])
  })

  it('lets arrows point down only, through the door', () => {
    const found = offences(product, (source, specifier) => {
      if (!specifier.startsWith('.')) return null
      const to = target(source, specifier)
      const room = to.split('/')[0] ?? ''
      if (room === source.room) return null
      if (ROOMS.indexOf(room) <= ROOMS.indexOf(source.room)) return `${source.path} -> ${to}: points up`
      const doors = room === 'host' ? ['host/index.ts', 'host/node/index.ts'] : [`${room}/index.ts`]
      return doors.includes(to) || isPartialBuilder(to) ? null : `${source.path} -> ${to}: not the door`
    })
    expect(found).toEqual([])
  })

  it('keeps kernels and telemetry free of other rooms', () => {
    expect(
      offences(product, (source, specifier) =>
        ['kernels', 'telemetry'].includes(source.room) &&
        specifier.startsWith('.') &&
        !target(source, specifier).startsWith(source.room)
          ? `${source.path} -> ${specifier}`
          : null,
      ),
    ).toEqual([])
  })

  it('keeps rooms without I/O away from host and Node.js', () => {
    const silent = product.filter((source) => WITHOUT_IO.some((room) => source.path.startsWith(`${room}/`)))
    expect(silent.length).toBeGreaterThan(10)
    expect(
      offences(silent, (source, specifier) =>
        specifier.startsWith('node:') || (specifier.startsWith('.') && target(source, specifier).startsWith('host/'))
          ? `${source.path} -> ${specifier}`
          : null,
      ),
    ).toEqual([])
  })

  it('keeps the gateway on web standards', () => {
    expect(
      offences(
        product.filter((source) => source.room === 'gateway'),
        (source, specifier) => (specifier.startsWith('node:') ? `${source.path} -> ${specifier}` : null),
      ),
    ).toEqual([])
  })

  it('gives Node versions of host to runtime and cli alone', () => {
    expect(
      offences(product, (source, specifier) =>
        specifier.startsWith('.') &&
        target(source, specifier).startsWith('host/node') &&
        !['runtime', 'cli', 'host'].includes(source.room)
          ? `${source.path} -> ${specifier}`
          : null,
      ),
    ).toEqual([])
  })

  it('lets only lab and tests build a partial set of fences', () => {
    expect(product.some((source) => isPartialBuilder(source.path))).toBe(true)
    expect(
      offences(product, (source, specifier) =>
        specifier.startsWith('.') && isPartialBuilder(target(source, specifier)) && source.room !== 'lab'
          ? `${source.path} -> ${specifier}`
          : null,
      ),
    ).toEqual([])
  })

  it('touches time and chance only in host, runtime and cli', () => {
    const banned =
      /\b(Date\.now|new Date\(\)|Math\.random|performance\.now|Promise\.race)\b|\b(setTimeout|setInterval|setImmediate)\(/
    const found = product
      .filter((source) => !['host', 'runtime', 'cli'].includes(source.room))
      .flatMap((source) => source.text.split('\n').map((line, index) => ({ line, at: `${source.path}:${index + 1}` })))
      .filter(({ line }) => banned.test(line) && !/^\s*(\*|\/\/|\/\*)/.test(line))
      .map(({ at }) => at)
    expect(found).toEqual([])
  })

  it('keeps a file to one idea: over 300 lines only with the reason at its head', () => {
    const long = sources.filter(
      (source) => source.text.split('\n').length > 301 && !/long because/i.test(source.text.slice(0, 1500)),
    )
    expect(long.map((source) => source.path)).toEqual([])
  })

  it('leaves nothing half done', () => {
    const words = new RegExp(['TO', 'DO|FIX', 'ME|HA', 'CK\\b'].join(''))
    expect(sources.filter((source) => words.test(source.text)).map((source) => source.path)).toEqual([])
  })
})

function isPartialBuilder(path: string): boolean {
  return path.endsWith('partial-fences.ts')
}
