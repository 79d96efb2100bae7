import type { ControlRule } from './special-tokens.ts'
import type { ChatMessage, ChatTemplate } from './types.ts'

/** A rendered prompt that knows which of its text came from the messages. */
export interface RenderedChat {
  readonly text: string
  /** True where the template itself wrote the whole of `start … end - 1`: only there is a control token one. */
  readonly isTemplateText: ControlRule
}

/** Where control tokens stand written out in a text. */
type FindControls = (text: string) => readonly { readonly start: number; readonly end: number }[]

/**
 * Renders well-formed messages, whose plain rendering is given, so that no text of theirs can be read as a control token. The contents are rendered a second
 * time with invisible marks around them and inside every control token they spell; taking the marks out again must give
 * the plain rendering, and their places say which text is whose. Marks stand inside leading and trailing white space,
 * so that trimming templates treat marked and plain contents alike.
 *
 * Where a template looks into the contents so that the two differ, contents that spell no control token are rendered
 * plainly, and others keep their inner marks' places as walls: they may render otherwise, never as control tokens.
 */
export function renderMarked(
  template: ChatTemplate,
  messages: readonly ChatMessage[],
  plain: string,
  findControls: FindControls,
): RenderedChat {
  const marks = chooseMarks([plain, ...messages.flatMap(({ content, name }) => [content, name ?? ''])])
  let spelled = false
  const mark = (text: string): string => {
    const controls = findControls(text)
    spelled ||= controls.length > 0
    return markText(text, controls, marks)
  }
  const marked = messages.map((message) => ({
    ...message,
    content: mark(message.content),
    ...(message.name === undefined ? {} : { name: mark(message.name) }),
  }))
  const unspelled: RenderedChat = { text: plain, isTemplateText: () => true }
  let read: ReadMarks
  try {
    read = readMarks(template.render(marked), marks)
  } catch (error) {
    // the template takes the plain contents but not the marked ones
    if (spelled) throw error
    return unspelled
  }
  return read.text === plain || spelled ? { text: read.text, isTemplateText: outside(read) } : unspelled
}

interface Marks {
  readonly open: string
  readonly close: string
  readonly wall: string
}

const LEAD = '\ufdd0'
const DIGITS = 31
const WIDTH = 5

/** Three marks that occur in none of the texts. Made of noncharacters, which Unicode keeps for such internal use. */
function chooseMarks(texts: readonly string[]): Marks {
  const used = new Set<string>()
  for (const text of texts) {
    for (const [match] of text.matchAll(/\ufdd0[\ufdd1-\ufdef]{5}/g)) used.add(match)
  }
  const free: string[] = []
  for (let i = 0; free.length < 3; i++) {
    const candidate = spell(i)
    if (!used.has(candidate)) free.push(candidate)
  }
  return { open: free[0]!, close: free[1]!, wall: free[2]! }
}

function spell(index: number): string {
  let text = LEAD
  for (let i = 0, rest = index; i < WIDTH; i++, rest = Math.floor(rest / DIGITS)) {
    text += String.fromCharCode(0xfdd1 + (rest % DIGITS))
  }
  return text
}

function markText(text: string, controls: ReturnType<FindControls>, marks: Marks): string {
  const start = text.length - text.trimStart().length
  const end = Math.max(start, text.trimEnd().length)
  const core = text.slice(start, end)
  if (core === '') return text
  let inner = ''
  let at = start
  for (const control of controls) {
    // one wall after the first character of each breaks them all, overlapping ones too
    const cut = control.start + 1
    if (cut <= at || cut >= end) continue
    inner += text.slice(at, cut) + marks.wall
    at = cut
  }
  return text.slice(0, start) + marks.open + inner + text.slice(at, end) + marks.close + text.slice(end)
}

interface ReadMarks {
  readonly text: string
  /** Contents, as [start, end) of the text without marks. */
  readonly contents: readonly (readonly [number, number])[]
  /** Places that no control token may stand across. */
  readonly walls: readonly number[]
}

function readMarks(marked: string, marks: Marks): ReadMarks {
  const parts: string[] = []
  const contents: [number, number][] = []
  const walls: number[] = []
  let length = 0
  let opened = -1
  let from = 0
  for (let at = marked.indexOf(LEAD); at >= 0; ) {
    const mark = marked.slice(at, at + 1 + WIDTH)
    if (mark !== marks.open && mark !== marks.close && mark !== marks.wall) {
      at = marked.indexOf(LEAD, at + 1)
      continue
    }
    parts.push(marked.slice(from, at))
    length += at - from
    walls.push(length)
    if (mark === marks.open) opened = length
    else if (mark === marks.close && opened >= 0) {
      contents.push([opened, length])
      opened = -1
    }
    from = at + mark.length
    at = marked.indexOf(LEAD, from)
  }
  parts.push(marked.slice(from))
  return { text: parts.join(''), contents, walls }
}

/** True of ranges that touch no content and cross no wall. Both lists ascend; look-ups are binary. */
function outside({ contents, walls }: ReadMarks): ControlRule {
  return (start, end) => {
    const wall = firstAbove(walls.length, (i) => walls[i]! > start)
    if (wall < walls.length && walls[wall]! < end) return false
    const content = firstAbove(contents.length, (i) => contents[i]![1] > start)
    return content === contents.length || contents[content]![0] >= end
  }
}

/** The first index for which `above` holds, `count` if none. */
function firstAbove(count: number, above: (index: number) => boolean): number {
  let low = 0
  let high = count
  while (low < high) {
    const middle = (low + high) >> 1
    if (above(middle)) high = middle
    else low = middle + 1
  }
  return low
}
