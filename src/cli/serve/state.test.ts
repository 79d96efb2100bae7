import { expect, it } from 'vitest'
import { demoTenants, type ServerState } from './state.ts'

const state: ServerState = {
  secret: new Uint8Array(32),
  demoTenants: [
    { id: 'demo-a', key: 'bh-1' },
    { id: 'demo-b', key: 'bh-2' },
  ],
}

it("serves demo tenants beside the operator's, but none under a name that the operator uses", () => {
  expect(demoTenants(state, [{ id: 'acme' }])).toEqual(state.demoTenants)
  expect(demoTenants(state, [{ id: 'demo-a' }])).toEqual([{ id: 'demo-b', key: 'bh-2' }])
})
