/** What the documents say, as data: tables, fenced blocks, links, and the words in backticks. */
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'

export const root = resolve(import.meta.dirname, '../..')

export const readDocument = (path: string): string => readFileSync(join(root, path), 'utf8')

export const exists = (path: string): boolean => existsSync(join(root, path))

/** Rows of the table whose header has exactly these cells; throws where there is none, so that no check runs on nothing. */
export function tableRows(text: string, header: readonly string[]): readonly (readonly string[])[] {
  const lines = text.split('\n')
  const start = lines.indexOf(`| ${header.join(' | ')} |`)
  if (start < 0) throw new Error(`no table with the header ${header.join(', ')}`)
  const rows: string[][] = []
  for (let at = start + 2; lines[at]?.startsWith('|'); at++) {
    const cells = lines[at]!.split('|').slice(1, -1)
    if (cells.length !== header.length) throw new Error(`${cells.length} cells in: ${lines[at]}`)
    rows.push(cells.map((cell) => cell.trim()))
  }
  return rows
}

/** Words in backticks, in order. */
export const quoted = (text: string): readonly string[] => [...text.matchAll(/`([^`]+)`/g)].map((match) => match[1]!)

/** The contents of ``` blocks of one language. */
export const fencedBlocks = (text: string, language: string): readonly string[] =>
  [...text.matchAll(/^```(\w*)\n([\s\S]*?)^```$/gm)].filter((match) => match[1] === language).map((match) => match[2]!)

const withoutBlocks = (text: string): string => text.replace(/^```[\s\S]*?^```$/gm, '')

const ROOMS_OF_THE_REPOSITORY = /^(?:src|test|docs|formal|scripts|bin|tools|models|bench)\/[\w./-]*\w$/

export const isPath = (word: string): boolean => ROOMS_OF_THE_REPOSITORY.test(word)

/** Paths in backticks outside blocks; patterns such as `models/*.gguf` name no single file. */
export const namedPaths = (text: string): readonly string[] => quoted(withoutBlocks(text)).filter(isPath)

/** Relative links that lead nowhere: to no file, or to no heading of it. */
export function brokenLinks(path: string): readonly string[] {
  const links = [...withoutBlocks(readDocument(path)).matchAll(/\]\(([^)\s]+)\)/g)].map((match) => match[1]!)
  return links.filter((link) => {
    if (/^[a-z]+:/.test(link)) return false
    const [file = '', anchor] = link.split('#')
    const target = file === '' ? path : join(dirname(path), file)
    if (!exists(target)) return true
    return anchor !== undefined && !headings(readDocument(target)).includes(anchor)
  })
}

/** As GitHub makes anchors of headings. */
const headings = (text: string): readonly string[] =>
  [...withoutBlocks(text).matchAll(/^#+ (.+)$/gm)].map((match) =>
    match[1]!
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\s_-]/gu, '')
      .replaceAll(' ', '-'),
  )

const escaped = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')

/** Does a test of this very name stand in the file? `it.each` names stand as they are written, with their `%s` or `$name`. */
export const hasTest = (path: string, name: string): boolean =>
  new RegExp(`\\(\\s*(['"\`])${escaped(name)}\\1\\s*,`).test(readDocument(path))

/** Is the symbol declared in the file: a name, or `Class.member`, `Class.#member`? */
export const declares = (path: string, symbol: string): boolean => {
  const text = readDocument(path)
  return symbol.split('.').every((part) => {
    const name = escaped(part)
    const declared = new RegExp(`(?:function|class|const|let|interface|type)\\s+${name}(?![\\w$])`)
    const member = new RegExp(`^\\s*(?:(?:readonly|static|async|get|override)\\s+)*${name}\\??\\s*[(:<=]`, 'm')
    return declared.test(text) || member.test(text)
  })
}
