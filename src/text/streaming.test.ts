import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createDetokenizer, createStopScanner, createTokenizer, displayToken, type Tokenizer } from './index.ts'
import { byteLevel, ENGLISH } from './testing/vocabularies.ts'

/** Every byte is a token of its own, so characters fall apart as far as they can. */
const bytes = createTokenizer(byteLevel([]))
const words = createTokenizer(byteLevel(ENGLISH))
const idsOf = (tokenizer: Tokenizer, text: string): number[] => [
  ...tokenizer.encode(text, { addSpecial: false, parseSpecial: false }).ids,
]
const raw = (...values: number[]): number[] => values.map((value) => idOfByte(value))

function idOfByte(value: number): number {
  for (let id = 0; id < bytes.vocabSize; id++) {
    const of = bytes.tokenBytes(id)
    if (of.length === 1 && of[0] === value) return id
  }
  throw new Error(`no token for byte ${value}`)
}

describe('createDetokenizer', () => {
  it('lets a character leave with its last byte and no part of it before', () => {
    const detokenizer = createDetokenizer(bytes)
    expect(idsOf(bytes, '🙂!').map((id) => detokenizer.push(id))).toEqual(['', '', '', '🙂', '!'])
    expect(detokenizer.flush()).toBe('')
  })

  it('shows an unfinished character only at the end, as U+FFFD', () => {
    const detokenizer = createDetokenizer(bytes)
    expect(raw(0xf0, 0x9f).map((id) => detokenizer.push(id))).toEqual(['', ''])
    expect(detokenizer.flush()).toBe('\ufffd')
  })

  it('shows bytes that are no text as U+FFFD and goes on', () => {
    const detokenizer = createDetokenizer(bytes)
    expect(
      raw(0xff, 0x41, 0xc3, 0x41)
        .map((id) => detokenizer.push(id))
        .join(''),
    ).toBe('\ufffdA\ufffdA')
  })

  it('adds up to the text of all bytes, and no piece splits a character', () => {
    const byte = fc.oneof(fc.integer({ min: 0, max: 255 }), fc.constantFrom(0xf0, 0x9f, 0x99, 0x82, 0xc3, 0xa9, 0x41))
    const values = fc.oneof(
      fc.array(byte, { maxLength: 40 }),
      fc.string({ unit: 'binary' }).map((text) => [...Buffer.from(text)]),
    )
    const property = fc.property(values, (of) => {
      const detokenizer = createDetokenizer(bytes)
      const pieces = [...raw(...of).map((id) => detokenizer.push(id)), detokenizer.flush()]
      expect(pieces.join('')).toBe(new TextDecoder('utf-8', { ignoreBOM: true }).decode(Uint8Array.from(of)))
      for (const piece of pieces) expect(piece).not.toMatch(/\p{Surrogate}/u)
    })
    fc.assert(property, { numRuns: 500 })
  })

  it('adds nothing for control tokens', () => {
    const detokenizer = createDetokenizer(words)
    expect(detokenizer.push(words.endIds[0]!)).toBe('')
  })
})

describe('createStopScanner', () => {
  /** Character by character: where the first stop is complete, and which of those complete there began earliest. */
  function cutNaively(text: string, stops: readonly string[]): string | null {
    for (let end = 1; end <= text.length; end++) {
      const starts = stops.filter((stop) => text.slice(0, end).endsWith(stop)).map((stop) => end - stop.length)
      if (starts.length > 0) return text.slice(0, Math.min(...starts))
    }
    return null
  }

  function run(
    chunks: readonly string[],
    stops: readonly string[],
  ): { text: string; stopped: boolean; pieces: string[] } {
    const scanner = createStopScanner(stops)
    const pieces: string[] = []
    let stopped = false
    for (const chunk of chunks) {
      const result = scanner.push(chunk)
      pieces.push(result.text)
      stopped = result.stopped
    }
    pieces.push(scanner.flush())
    return { text: pieces.join(''), stopped, pieces }
  }

  const unit = fc.constantFrom('a', 'b', '.', '🙂')
  const stop = fc.string({ unit, minLength: 1, maxLength: 5 })
  const chunk = fc.string({ unit, maxLength: 6 })

  it('lets out exactly what stands before the stop, however the text is cut', () => {
    const property = fc.property(
      fc.array(chunk, { maxLength: 12 }),
      fc.array(stop, { maxLength: 4 }),
      (chunks, stops) => {
        const whole = chunks.join('')
        const expected = cutNaively(whole, stops)
        const { text, stopped } = run(chunks, stops)
        expect(stopped).toBe(expected !== null)
        expect(text).toBe(expected ?? whole)
      },
    )
    fc.assert(property, { numRuns: 1500 })
  })

  it('withholds no more than may yet become a stop', () => {
    const property = fc.property(
      fc.array(chunk, { maxLength: 12 }),
      fc.array(stop, { maxLength: 4 }),
      (chunks, stops) => {
        const scanner = createStopScanner(stops)
        let seen = ''
        let out = ''
        for (const part of chunks) {
          const result = scanner.push(part)
          seen += part
          out += result.text
          if (result.stopped) return
          expect(seen.startsWith(out)).toBe(true)
          const held = seen.slice(out.length)
          // the longest end of the text that a stop begins with; a pair's first half may stay with its second
          expect(held === '' || stops.some((of) => of.startsWith(held) || of.startsWith(held.slice(1)))).toBe(true)
          expect(out).not.toMatch(/\p{Surrogate}/u)
        }
      },
    )
    fc.assert(property, { numRuns: 2000 })
  })

  it('knows a stop that overlaps its own beginning or another stop', () => {
    expect(run(['aaa', 'b'], ['aab'])).toMatchObject({ text: 'a', stopped: true })
    expect(run(['xab', 'c'], ['bc', 'abcd'])).toMatchObject({ text: 'xa', stopped: true })
    expect(run(['xabc'], ['abc', 'c'])).toMatchObject({ text: 'x', stopped: true })
  })

  it('stays stopped and silent', () => {
    const scanner = createStopScanner(['END'])
    expect(scanner.push('so EN')).toEqual({ text: 'so ', stopped: false })
    expect(scanner.push('D and more')).toEqual({ text: '', stopped: true })
    expect(scanner.push('more')).toEqual({ text: '', stopped: true })
    expect(scanner.flush()).toBe('')
  })

  it('lets everything through at once without stops', () => {
    const scanner = createStopScanner([''])
    expect(scanner.push('all of it')).toEqual({ text: 'all of it', stopped: false })
  })
})

describe('displayToken', () => {
  it('shows text and bytes, and bytes that are no text as OpenAI does', () => {
    const [the] = idsOf(words, 'the')
    expect(displayToken(words, the!)).toEqual({ token: 'the', bytes: [116, 104, 101] })
    expect(displayToken(bytes, idOfByte(0xf0))).toEqual({ token: 'bytes:\\xf0', bytes: [0xf0] })
    expect(displayToken(words, words.endIds[0]!)).toEqual({ token: '', bytes: [] })
  })
})
