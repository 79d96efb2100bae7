import { describe, expect, it } from 'vitest'
import { greeting } from './greeting.ts'
import type { PlannedModel } from './plan-model.ts'

const model = { wanted: { id: 'tiny' }, limits: { advertisedWindow: 2048 } } as PlannedModel
const lines = (url: string, tenantKey: string | null) =>
  greeting({ url, pageKey: 'page-key', tenantKey, model }).split('\n')

describe('greeting', () => {
  it('begins with the ready line, then the page, then two requests to paste', () => {
    const [ready, page, ...rest] = lines('http://127.0.0.1:8790', 'key')
    expect(ready).toBe('bulkhead ready http://127.0.0.1:8790')
    expect(page).toBe('page: http://127.0.0.1:8790/#key=page-key')
    expect(rest.filter((line) => line.includes('curl -s http://127.0.0.1:8790/v1/chat/completions'))).toHaveLength(2)
  })

  it('gives an address that can be reached where the server listens on all of them', () => {
    expect(lines('http://0.0.0.0:8790', 'key')[0]).toBe('bulkhead ready http://0.0.0.0:8790')
    expect(lines('http://0.0.0.0:8790', 'key')[1]).toContain('http://127.0.0.1:8790/')
    expect(lines('http://[::]:8790', 'key')[1]).toContain('http://[::1]:8790/')
  })

  it("prints no key of the operator's own tenants", () => {
    expect(lines('http://127.0.0.1:1', null).join('\n')).toContain('Bearer YOUR_KEY')
  })
})
