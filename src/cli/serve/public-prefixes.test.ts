import { describe, expect, it } from 'vitest'
import type { PromptModel } from '../../gateway/index.ts'
import { TextError } from '../../text/index.ts'
import { publicPrefixIds } from './public-prefixes.ts'

/** One id a letter; a chat is `[system]user>`. */
const idsOf = (text: string): Int32Array => Int32Array.from(text, (letter) => letter.charCodeAt(0))
const prompt = (encodeLimit: number, chat: PromptModel['encodeChat'] = null): PromptModel => ({
  id: 'm',
  encodeLimit,
  encodeText: (text, limit) => ({ ids: idsOf(text), complete: text.length <= limit }),
  encodeChat: chat,
})
const chat: NonNullable<PromptModel['encodeChat']> = ([system, user], limit) => {
  const text = `[${system!.content}]${user!.content}>`
  return { ids: idsOf(text), complete: text.length <= limit }
}
const texts = (prefixes: readonly Int32Array[]): string[] => prefixes.map((ids) => String.fromCharCode(...ids))

describe('public prefixes', () => {
  it('are the text as a prompt begins with it, and a chat up to the user’s first word', () => {
    expect(texts(publicPrefixIds(['be kind', 'be brief'], prompt(100, chat)))).toEqual([
      'be kind',
      '[be kind]',
      'be brief',
      '[be brief]',
    ])
  })

  it('are the text alone where there is no template, or it knows no system message', () => {
    const refuses = (): never => {
      throw new TextError({ code: 'template_failed', message: 'no system message' })
    }
    expect(texts(publicPrefixIds(['be kind'], prompt(100)))).toEqual(['be kind'])
    expect(texts(publicPrefixIds(['be kind'], prompt(100, refuses)))).toEqual(['be kind'])
  })

  it('leave out what is longer than any prompt that is counted: its ids are a count and no ids', () => {
    expect(publicPrefixIds(['be kind'], prompt(6, chat))).toEqual([])
  })
})
