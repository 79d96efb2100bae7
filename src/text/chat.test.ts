import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type ChatMessage, createChatTemplate, createTokenizer, encodeChat, TextError, trialTemplate } from './index.ts'
import { byteLevel, ENGLISH, sentencePiece } from './testing/vocabularies.ts'

const tokens = { bosToken: '<s>', eosToken: '</s>' }
const CHATML =
  "{% for m in messages %}{{ '<|im_start|>' + m.role + '\n' + m.content + '<|im_end|>\n' }}{% endfor %}" +
  "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
/** Writes BOS itself, trims, and looks into an answer, as many published templates do. */
const TRIMMING =
  "{{ bos_token }}{% for m in messages %}{% set c = m['content'] | trim %}" +
  "{% if m.role == 'assistant' and '</think>' in c %}{% set c = c.split('</think>')[-1].lstrip('\n') %}{% endif %}" +
  '<|im_start|>{{ m.role }}{% if m.name is defined %} {{ m.name }}{% endif %}: {{ c }}<|im_end|>{% endfor %}<|im_start|>assistant:'

const user = (content: string): ChatMessage => ({ role: 'user', content })
const code = (action: () => unknown): string => {
  try {
    action()
  } catch (error) {
    if (error instanceof TextError) return error.code
    throw error
  }
  return 'no error'
}

describe('createChatTemplate', () => {
  it('renders up to where the answer begins', () => {
    expect(createChatTemplate(CHATML, tokens).render([user('Hi')])).toBe(
      '<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n',
    )
  })

  it('gives developer messages the name the template knows', () => {
    const message: ChatMessage = { role: 'developer', content: 'x' }
    const render = (source: string): string => createChatTemplate(source, tokens).render([message])
    expect(render('{{ messages[0].role }}')).toBe('system')
    expect(render('{% if messages[0].role == "developer" %}yes{% endif %}')).toBe('yes')
  })

  it('has a date only where a clock is given', () => {
    const source = '{% if strftime_now is defined %}{{ strftime_now("%d %b %Y, %-d %B") }}{% else %}none{% endif %}'
    expect(createChatTemplate(source, tokens).render([user('')])).toBe('none')
    const wall = (): number => Date.UTC(2026, 8, 9)
    expect(createChatTemplate(source, { ...tokens, wall }).render([user('')])).toBe('09 Sep 2026, 9 September')
  })

  it("passes on a template's own words of refusal, never text made from a prompt", () => {
    const refuse = (source: string): unknown => {
      try {
        return createChatTemplate(source, tokens).render([user('my secret')])
      } catch (error) {
        return error instanceof TextError ? [error.code, error.message] : error
      }
    }
    expect(refuse("{{ raise_exception('Only user and assistant roles are supported') }}")).toEqual([
      'template_failed',
      'the chat template refuses these messages: Only user and assistant roles are supported',
    ])
    expect(refuse("{{ raise_exception('two\nlines \x1b[31mand a colour') }}")).toEqual([
      'template_failed',
      'the chat template refuses these messages: two lines  [31mand a colour',
    ])
    expect(refuse("{{ raise_exception('bad: ' + messages[0].content) }}")).toEqual([
      'template_failed',
      'the chat template refuses these messages',
    ])
    expect(refuse('{{ messages[0].content.nothing() }}')).toEqual([
      'template_failed',
      'the chat template fails on these messages',
    ])
  })

  it('refuses what does not parse', () => {
    for (const source of [
      '{% for m in messages %}',
      '{{ (',
      `${'('.repeat(10)}{{${'('.repeat(200_000)}`,
      ' '.repeat(5000),
      'x'.repeat(300_000),
    ]) {
      expect(code(() => createChatTemplate(source, tokens))).toBe('template_invalid')
    }
  })

  it('renders a conversation of thousands of messages and megabytes within its budget', () => {
    const messages = Array.from(
      { length: 5000 },
      (_, i): ChatMessage => ({ role: i % 2 ? 'assistant' : 'user', content: 'words '.repeat(100) }),
    )
    for (const source of [CHATML, TRIMMING]) {
      expect(createChatTemplate(source, tokens).render(messages).length).toBeGreaterThan(2_900_000)
    }
  })
})

describe('trialTemplate', () => {
  it('takes templates that work', () => {
    for (const source of [CHATML, TRIMMING]) expect(trialTemplate(source, tokens).kind).toBe('ok')
  })

  it("lets a template refuse system messages, but not a user's question", () => {
    const noSystem = `{% if messages[0].role == 'system' %}{{ raise_exception('no system') }}{% endif %}${CHATML}`
    expect(trialTemplate(noSystem, tokens).kind).toBe('ok')
    expect(trialTemplate("{{ raise_exception('no') }}", tokens)).toMatchObject({
      kind: 'refused',
      code: 'template_failed',
    })
  })

  it('refuses a template that loses the question', () => {
    expect(trialTemplate('Hello!', tokens)).toMatchObject({ kind: 'refused', code: 'template_invalid' })
  })

  const hostile: readonly [string, string][] = [
    ['loops in loops', `${'{% for a in range(1000) %}'.repeat(6)}x${'{% endfor %}'.repeat(6)}`],
    ['empty loops in loops', `${'{% for a in range(10000) %}'.repeat(3)}${'{% endfor %}'.repeat(3)}`],
    ['an endless range', '{% for a in range(10 ** 12) %}x{% endfor %}'],
    ['a range to infinity', '{% for a in range(1 // 0) %}x{% endfor %}'],
    [
      'a text that doubles',
      `{% set ns = namespace(s='x') %}{% for a in range(100) %}{% set ns.s = ns.s ~ ns.s %}{% endfor %}`,
    ],
    [
      'a list that doubles',
      `{% set ns = namespace(s=[1]) %}{% for a in range(100) %}{% set ns.s = ns.s + ns.s %}{% endfor %}`,
    ],
    [
      'a list that nests and is written',
      `{% set ns = namespace(s=[1]) %}{% for a in range(60) %}{% set ns.s = [ns.s, ns.s] %}{% endfor %}{{ ns.s }}`,
    ],
    [
      'a list that nests and is made JSON',
      `{% set ns = namespace(s=[1]) %}{% for a in range(60) %}{% set ns.s = [ns.s, ns.s] %}{% endfor %}{{ ns.s | tojson }}`,
    ],
    [
      'a list that nests and is compared',
      `{% set ns = namespace(s=[1]) %}{% for a in range(60) %}{% set ns.s = [ns.s, ns.s] %}{% endfor %}{% if ns.s == 'x' %}{% endif %}`,
    ],
    ['a macro that calls itself', '{% macro f(x) %}{{ f(x) }}{{ f(x) }}{% endmacro %}{{ f(1) }}'],
    [
      'a text that replaces itself',
      `{% set ns = namespace(s='aaaaaaaaaaaaaaaa') %}{% for a in range(30) %}{% set ns.s = ns.s.replace('a', ns.s) %}{% endfor %}`,
    ],
    ['a large indent', "{{ 'a\nb\nc' | indent(500000000) }}"],
  ]

  it.each(hostile)('ends %s', (_name, source) => {
    const started = performance.now()
    const result = trialTemplate(`${source}${CHATML}`, tokens)
    expect(result).toMatchObject({ kind: 'refused', code: 'template_too_costly' })
    // most take some 50 ms; one step that is only then seen to be too much may take a second
    expect(performance.now() - started).toBeLessThan(10_000)
  })

  it('holds its deadline by the clock it is given', () => {
    let now = 0
    const slow = { ...tokens, now: () => (now += 10), deadline: 50 }
    const source = `{% for a in range(1000) %}{% for b in range(20) %}{% endfor %}{% endfor %}${CHATML}`
    expect(trialTemplate(source, slow)).toMatchObject({
      kind: 'refused',
      message: 'the chat template ran past its deadline',
    })
  })
})

describe('encodeChat', () => {
  const vocabularies = {
    bpe: byteLevel(ENGLISH, { pre: 'llama-bpe' }),
    spm: sentencePiece([
      ['▁', -1],
      ['▁t', -2],
      ['th', -3],
    ]),
  }
  const content = fc.string({
    unit: fc.constantFrom(
      'a',
      'the',
      ' ',
      '\n',
      '<',
      '|',
      '>',
      '<|im',
      's',
      'é',
      '🙂',
      '\ufdd0',
      '\ufdd1',
      '\ufdd2',
      '[think]',
      '</think>',
      '{{',
    ),
    maxLength: 20,
  })
  const hostileContent = fc.string({
    unit: fc.oneof(content, fc.constantFrom('<|im_end|>', '<|im_start|>', '<s>', '</s>', '<|im_start|>system:')),
    maxLength: 8,
  })
  const role = fc.constantFrom('user', 'assistant', 'system' as const)
  const conversation = (of: fc.Arbitrary<string>): fc.Arbitrary<ChatMessage[]> =>
    fc.array(fc.record({ role, content: of, name: fc.option(of, { nil: undefined }) }), { minLength: 1, maxLength: 4 })

  for (const [family, meta] of Object.entries(vocabularies)) {
    const tokenizer = createTokenizer(meta)
    const controls = ['<s>', '</s>', '<|im_start|>', '<|im_end|>'].map((text) => meta.tokens.indexOf(text))
    const countControls = (ids: Int32Array): number => [...ids].filter((id) => controls.includes(id)).length

    it(`gives harmless messages the ids of their rendered text (${family})`, () => {
      for (const source of [CHATML, TRIMMING]) {
        const template = createChatTemplate(source, tokens)
        const property = fc.property(conversation(content), (messages) => {
          const spelled = messages.some((of) =>
            [of.content, of.name ?? ''].some((text) => tokenizer.controlsIn(text).length > 0),
          )
          fc.pre(!spelled)
          const text = template.render(messages)
          const bos = !text.startsWith('<s>')
          const rest = tokenizer.encode(text, { addSpecial: bos, parseSpecial: true })
          expect(encodeChat(template, tokenizer, messages)).toEqual(rest)
        })
        fc.assert(property, { numRuns: 200 })
      }
    })

    it(`never reads a control token that a message spells, alone or with its neighbours (${family})`, () => {
      for (const source of [
        CHATML,
        TRIMMING,
        '{% for m in messages %}{{ m.content }}{% endfor %}',
        '{{ messages[0].content | replace("s", "") }}',
      ]) {
        const template = createChatTemplate(source, tokens)
        const property = fc.property(conversation(hostileContent), (messages) => {
          const blank = messages.map((of) => ({ ...of, content: of.content === '' ? '' : 'x', name: of.name && 'x' }))
          const own = countControls(encodeChat(template, tokenizer, blank).ids)
          expect(countControls(encodeChat(template, tokenizer, messages).ids)).toBe(own)
        })
        fc.assert(property, { numRuns: 200 })
      }
    })

    it(`puts BOS in front once (${family})`, () => {
      for (const source of [CHATML, TRIMMING]) {
        const { ids } = encodeChat(createChatTemplate(source, tokens), tokenizer, [user('a')])
        expect([ids[0], [...ids].filter((id) => id === controls[0]).length]).toEqual([controls[0], 1])
      }
      const bare = createChatTemplate('{{ messages[0].content }}', tokens)
      expect(countControls(encodeChat(bare, tokenizer, [user('<s>a')]).ids)).toBe(1)
      expect(countControls(encodeChat(bare, createTokenizer({ ...meta, addBos: false }), [user('<s>a')]).ids)).toBe(0)
    })

    it(`keeps a spelled control token as text (${family})`, () => {
      const template = createChatTemplate('{{ messages[0].content }}', tokens)
      const { ids } = encodeChat(template, tokenizer, [user('a<|im_end|>b')])
      expect(Buffer.concat([...ids].map((id) => tokenizer.tokenBytes(id))).toString()).toContain('a<|im_end|>b')
    })

    it(`stops early on hopeless conversations (${family})`, () => {
      const template = createChatTemplate(CHATML, tokens)
      const started = performance.now()
      const { ids, complete } = encodeChat(template, tokenizer, [user('<|im_end|>'.repeat(1_000_000))], { limit: 2048 })
      expect(complete).toBe(false)
      expect(ids.length).toBeGreaterThan(2048)
      expect(performance.now() - started).toBeLessThan(2000)
    })
  }
})
