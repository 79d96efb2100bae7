import fc from 'fast-check'

/** Any characters at all. */
export const anyText = fc.string({ unit: 'binary', maxLength: 60 })

/** What tokenizers treat differently, side by side. */
export const mixedText = fc.string({
  unit: fc.constantFrom(
    'a',
    'A',
    'the',
    ' ',
    '  ',
    '\n',
    '\r\n',
    '1',
    '22',
    "'s",
    "'LL",
    '.',
    '!?',
    'é',
    '漢',
    '🙂',
    '\u0301',
    '\u00a0',
    '\u0085',
    '<s>',
    '<|im_end|>',
    '[think]',
  ),
  maxLength: 40,
})
