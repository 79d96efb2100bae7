import { describe, expect, it } from 'vitest'
import { auditRecords } from './audit.ts'
import { fullPageFences } from './fences.ts'
import { PageRecords } from './records.ts'

/** Three pages, page 1 claimed for owner 5. */
const records = (): PageRecords => {
  const made = new PageRecords(3, 2)
  made.claim(1, 5)
  return made
}
const messageOf = (of: PageRecords, free: readonly number[]): string | undefined =>
  auditRecords(of, Uint32Array.from(free), fullPageFences)?.message

describe('the audit', () => {
  it('finds nothing where states, owners and the free list agree', () => {
    expect(auditRecords(records(), Uint32Array.of(2, 0), fullPageFences)).toBe(null)
  })

  it('finds a page that is on the free list twice', () => {
    expect(messageOf(records(), [2, 0, 2])).toBe('page 2 is on the free list twice')
  })

  it('finds a page on the free list that is not free, and one that is free and not on it', () => {
    expect(messageOf(records(), [2, 0, 1])).toBe('page 1: state and free list differ')
    expect(messageOf(records(), [2])).toBe('page 0: state and free list differ')
  })

  it('finds a free page with an owner, and one without that is not free', () => {
    const owned = records()
    owned.owner[0] = 7
    expect(messageOf(owned, [2, 0])).toBe('page 0: state and owner differ')
    const lost = records()
    lost.owner[1] = 0
    expect(messageOf(lost, [2, 0])).toBe('page 1: state and owner differ')
  })

  it('finds a free page that somebody holds', () => {
    const held = records()
    held.holders.writer[2] = 1
    expect(messageOf(held, [2, 0])).toBe('page 2 is free and held')
  })
})
