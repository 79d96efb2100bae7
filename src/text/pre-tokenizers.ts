import { TextError } from './errors.ts'
import { classOf, LETTER, MARK, NUMBER, PUNCTUATION, SPACE } from './unicode.ts'

/**
 * Finds where the first pre-token of `text[start … end - 1]` ends; always past `start`. The text is well-formed.
 * Scanners by hand instead of regular expressions: those overflow their stack on a run of ten million letters.
 * Looking ahead never goes past `end`, as in llama.cpp, where a later stage sees only its piece.
 */
export type Stage = (text: string, start: number, end: number) => number

export interface PreTokenizer {
  /** Each stage splits the pieces of the one before. */
  readonly stages: readonly Stage[]
  /** llama.cpp's `ignore_merges`. */
  readonly wholeWords: boolean
}

const QUOTE = 0x27
const BLANK = 0x20
const LINE_FEED = 0x0a
const RETURN = 0x0d

/** Class of the character at `at`; 0 at or past `end`. */
function kind(text: string, at: number, end: number): number {
  return at < end ? classOf(text.codePointAt(at)!) : 0
}

function units(text: string, at: number): number {
  return text.codePointAt(at)! > 0xffff ? 2 : 1
}

/** End of the run of characters from `at` whose class is in `mask`. */
function run(text: string, at: number, end: number, mask: number): number {
  let to = at
  while (to < end && (classOf(text.codePointAt(to)!) & mask) !== 0) to += units(text, to)
  return to
}

/** End of `'s 't 'm 'd 're 've 'll` from `at`, or 0. */
function contraction(text: string, at: number, end: number, anyCase: boolean): number {
  if (text.charCodeAt(at) !== QUOTE) return 0
  const tail = text.slice(at + 1, Math.min(end, at + 3))
  const letters = anyCase ? tail.toLowerCase() : tail
  if (/^[stmd]/.test(letters)) return at + 2
  return /^(?:re|ve|ll)/.test(letters) ? at + 3 : 0
}

/** `\s+(?!\S)|\s+`: a run of white space leaves its last character to the word that follows. */
function blanks(text: string, start: number, end: number): number {
  const to = run(text, start, end, SPACE)
  if (to === start) return start + units(text, start)
  return to - start > 1 && to < end ? to - 1 : to
}

/** `'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+` */
const gpt2: Stage = (text, start, end) => {
  const short = contraction(text, start, end, false)
  if (short > 0) return short
  const from = text.charCodeAt(start) === BLANK ? start + 1 : start
  const first = kind(text, from, end)
  if (first === LETTER || first === NUMBER) return run(text, from, end, first)
  if (first !== 0 && first !== SPACE) return run(text, from, end, ~(SPACE | LETTER | NUMBER))
  return blanks(text, start, end)
}

/**
 * `(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,digits}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`,
 * where `letters` may take marks in with the letters.
 */
function modern(digits: number, letters: number): Stage {
  return (text, start, end) => {
    const short = contraction(text, start, end, true)
    if (short > 0) return short
    const unit = text.charCodeAt(start)
    const first = kind(text, start, end)
    if (unit !== RETURN && unit !== LINE_FEED && first !== NUMBER) {
      const second = start + units(text, start)
      if ((first & letters) !== 0 || (kind(text, second, end) & letters) !== 0) return run(text, second, end, letters)
    }
    if (first === NUMBER) {
      let to = start
      for (let i = 0; i < digits && kind(text, to, end) === NUMBER; i++) to += units(text, to)
      return to
    }
    const from = unit === BLANK ? start + 1 : start
    const other = ~(SPACE | NUMBER | letters)
    if ((kind(text, from, end) & other) !== 0) {
      let to = run(text, from, end, other)
      while (to < end && (text.charCodeAt(to) === RETURN || text.charCodeAt(to) === LINE_FEED)) to++
      return to
    }
    const to = run(text, start, end, SPACE)
    for (let at = to - 1; at >= start; at--) {
      const code = text.charCodeAt(at)
      if (code === RETURN || code === LINE_FEED) return at + 1
    }
    return blanks(text, start, end)
  }
}

/** Runs of what `inside` accepts stand alone; so do the gaps between them. */
function isolate(inside: (text: string, at: number) => boolean, longest = Number.POSITIVE_INFINITY): Stage {
  return (text, start, end) => {
    const wanted = inside(text, start)
    let to = start
    let count = 0
    while (to < end && inside(text, to) === wanted && (!wanted || count < longest)) {
      to += units(text, to)
      count++
    }
    return to
  }
}

const isNumber = (text: string, at: number): boolean => classOf(text.codePointAt(at)!) === NUMBER
const isPunctuation = (text: string, at: number): boolean =>
  classOf(text.codePointAt(at)!) === PUNCTUATION || '$+<=>^~|'.includes(text[at]!)

/** Every third digit of a run of ASCII digits ends a piece; a rest of one or two stays with what follows it. */
const isDigitGroup: Stage = (text, start, end) => {
  const grouped = (at: number): boolean => at + 3 <= end && /^[0-9]{3}$/.test(text.slice(at, at + 3))
  if (grouped(start)) return start + 3
  let to = start + units(text, start)
  while (to < end && !grouped(to)) to += units(text, to)
  return to
}

const splitters = {
  gpt2: { stages: [gpt2], wholeWords: false },
  digits: { stages: [isolate(isNumber, 1), gpt2], wholeWords: false },
  llama3: { stages: [modern(3, LETTER)], wholeWords: true },
  llama3Merged: { stages: [modern(3, LETTER)], wholeWords: false },
  qwen2: { stages: [modern(1, LETTER)], wholeWords: false },
  qwen35: { stages: [modern(1, LETTER | MARK)], wholeWords: false },
  plain: { stages: [isolate(isPunctuation), gpt2, isolate(isNumber), isDigitGroup], wholeWords: false },
} as const satisfies Record<string, PreTokenizer>

const BY_NAME: ReadonlyMap<string, PreTokenizer> = new Map<string, PreTokenizer>([
  ...names('gpt-2 phi-2 mpt olmo jais exaone4 trillion granite-docling', splitters.gpt2),
  ...names('smollm starcoder refact command-r codeshell exaone minerva-7b mellum2', splitters.digits),
  ...names('llama3 llama-v3 llama-bpe falcon3 pixtral midm-2.0 lfm2', splitters.llama3),
  ...names('dbrx smaug-bpe glm4 chatglm-bpe', splitters.llama3Merged),
  ...names('qwen2 deepseek-r1-qwen kormo f2llmv2 stablelm2 hunyuan solar-open megrez grok-2', splitters.qwen2),
  ...names('qwen35', splitters.qwen35),
  ...names('default', splitters.plain),
])

function names(list: string, splitter: PreTokenizer): [string, PreTokenizer][] {
  return list.split(' ').map((name) => [name, splitter])
}

/** The pre-tokenizer a file names in `tokenizer.ggml.pre`. Throws TextError `unsupported_pre_tokenizer`. */
export function preTokenizerOf(name: string | null): PreTokenizer {
  const found = BY_NAME.get(name ?? 'default')
  if (found !== undefined) return found
  throw new TextError({
    code: 'unsupported_pre_tokenizer',
    message: `pre-tokenizer "${name}" is not supported; supported are ${[...BY_NAME.keys()].join(', ')}`,
    details: { pre: name ?? 'default' },
  })
}

/** Calls `emit` with each pre-token's borders, in order, until it returns false. */
export function preTokenize(
  text: string,
  start: number,
  end: number,
  stages: readonly Stage[],
  emit: (from: number, to: number) => boolean,
  depth = 0,
): boolean {
  const stage = stages[depth]
  if (stage === undefined) return emit(start, end)
  for (let from = start; from < end; ) {
    const to = stage(text, from, end)
    if (!preTokenize(text, from, to, stages, emit, depth + 1)) return false
    from = to
  }
  return true
}
