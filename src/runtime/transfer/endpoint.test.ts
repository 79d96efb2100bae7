import { mkdtempSync, rmSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { nodeRandom } from '../../host/node/index.ts'
import { connectLink, type Endpoint, type EndpointEvents, listenForLink } from './endpoint.ts'
import { type Heard, listener, optionsOf, page, rowsOf } from './testing/pair.ts'

let directory = ''
const ends: Endpoint[] = []
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'bh-'))
})
afterEach(async () => {
  for (const end of ends.splice(0)) await end.close()
  rmSync(directory, { recursive: true })
})

const told = (): { readonly events: EndpointEvents; readonly log: string[]; readonly heard: Heard } => {
  const heard = listener()
  const log: string[] = []
  const events: EndpointEvents = {
    ...heard.events,
    up: () => log.push('up'),
    down: (reason) => log.push(`down ${reason}`),
    drained: () => log.push('drained'),
    violation: (reason) => log.push(`violation ${reason}`),
  }
  return { events, log, heard }
}

const path = (): string => join(directory, 's')
const decodeEnd = async (events: EndpointEvents, handshakeMs = 2000): Promise<Endpoint> => {
  const end = await listenForLink({ ...optionsOf('decode'), random: nodeRandom, path: path(), handshakeMs }, events)
  ends.push(end)
  return end
}
const prefillEnd = (events: EndpointEvents): Endpoint => {
  const end = connectLink({ ...optionsOf('prefill'), random: nodeRandom, path: path() }, events)
  ends.push(end)
  return end
}
const until = async (condition: () => boolean): Promise<void> => {
  for (let tries = 0; !condition(); tries += 1) {
    if (tries > 200) throw new Error('waited in vain')
    await sleep(10)
  }
}

test('prefill finds a decode that comes up later, and pages cross', async () => {
  const to = told()
  const from = told()
  const prefill = prefillEnd(from.events)
  await sleep(60)
  await decodeEnd(to.events)
  await until(() => from.log.includes('up') && to.log.includes('up'))
  prefill.link()!.sendPage(page(0), rowsOf(4, 5))
  await until(() => to.heard.pages.length === 1)
  expect(to.heard.pages[0]!.rows).toEqual(rowsOf(4, 5))
})

test('when decode is restarted both sides are told and the link comes back', async () => {
  const to = told()
  const from = told()
  prefillEnd(from.events)
  const first = await decodeEnd(to.events)
  await until(() => from.log.includes('up') && to.log.includes('up'))
  await first.close()
  ends.splice(ends.indexOf(first), 1)
  expect(to.log).toEqual(['up', 'down closed'])
  await until(() => from.log.includes('down connection_lost'))
  await decodeEnd(to.events)
  await until(() => from.log.filter((line) => line === 'up').length === 2)
})

test('a second proved prefill replaces the first', async () => {
  const to = told()
  const from = told()
  const first = prefillEnd(from.events)
  await decodeEnd(to.events)
  await until(() => to.log.includes('up'))
  const second = told()
  prefillEnd(second.events)
  await until(() => to.log.length >= 3)
  expect(to.log.slice(0, 3)).toEqual(['up', 'down replaced', 'up'])
  await first.close()
})

test('strangers are let go in time and never disturb the link', async () => {
  const to = told()
  const from = told()
  const prefill = prefillEnd(from.events)
  await decodeEnd(to.events, 100)
  await until(() => to.log.includes('up'))
  const strangers = Array.from({ length: 20 }, () => connect(path()))
  for (const socket of strangers) socket.on('error', () => undefined)
  strangers[0]!.write(Buffer.alloc(100, 255))
  await until(() => to.log.includes('violation frame_too_long') && to.log.includes('violation handshake_timeout'))
  prefill.link()!.sendPage(page(0), rowsOf(4, 5))
  await until(() => to.heard.pages.length === 1)
  expect(to.log.filter((line) => line.startsWith('down'))).toEqual([])
  for (const socket of strangers) socket.destroy()
})

test('a full channel says so and says when it takes more', async () => {
  const to = told()
  const from = told()
  const prefill = prefillEnd(from.events)
  await decodeEnd(to.events)
  await until(() => from.log.includes('up'))
  let sent = 0
  while (prefill.link()!.sendPage(page(0), rowsOf(4, 5))) sent += 1
  await until(() => from.log.includes('drained') && to.heard.pages.length === sent + 1)
})
