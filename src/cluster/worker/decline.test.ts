import { describe, expect, it } from 'vitest'
import { declineCode } from './decline.ts'

describe('declineCode', () => {
  it('calls a full ticket book pressure and everything else a bad ticket', () => {
    expect(declineCode({ kind: 'invalid', reason: 'book_full' })).toBe('no_room')
    for (const reason of ['forged', 'expired', 'reused', 'wrong_tokens', 'wrong_model', 'wrong_request'] as const) {
      expect(declineCode({ kind: 'invalid', reason })).toBe('bad_ticket')
    }
  })
})
