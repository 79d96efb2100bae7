import { mkdtempSync, rmSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { nodeRandom } from '../../host/node/index.ts'
import type { LinkChannel } from './channel.ts'
import { connectLink, type Endpoint, type EndpointEvents, listenForLink } from './endpoint.ts'
import { told, until } from './testing/ends.ts'
import { optionsOf, page, rowsOf } from './testing/pair.ts'

let directory = ''
let port: number | null = null
const ends: Endpoint[] = []
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'bh-'))
  port = null
})
afterEach(async () => {
  for (const end of ends.splice(0)) await end.close()
  rmSync(directory, { recursive: true })
})

const path = (): string => join(directory, 's')
const key = new Uint8Array(32).fill(5)
const channelOf = (kind: LinkChannel['kind']): LinkChannel =>
  kind === 'socket' ? { kind, path: path() } : { kind, key }

describe.each(['socket', 'tcp'] as const)('over %s', (kind) => {
  const decodeEnd = async (events: EndpointEvents, handshakeMs = 2000): Promise<Endpoint> => {
    const own = { ...optionsOf('decode'), random: nodeRandom, channel: channelOf(kind), handshakeMs }
    const end = await listenForLink(own, events)
    port = end.port
    ends.push(end)
    return end
  }
  const prefillEnd = (events: EndpointEvents): Endpoint => {
    const own = { ...optionsOf('prefill'), random: nodeRandom, channel: channelOf(kind) }
    const end = connectLink(own, events, () => port)
    ends.push(end)
    return end
  }
  const stranger = (): Socket => (port === null ? connect(path()) : connect(port, '127.0.0.1'))

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
    // Long enough for all twenty to come before the first is out of time, on a machine that is busy too.
    await decodeEnd(to.events, 800)
    await until(() => to.log.includes('up'))
    const strangers = Array.from({ length: 20 }, stranger)
    for (const socket of strangers) socket.on('error', () => undefined)
    strangers[19]!.write(Buffer.alloc(100, 255))
    await until(
      () =>
        to.log.includes(`violation ${kind === 'tcp' ? 'tls_refused' : 'frame_too_long'}`) &&
        to.log.includes('violation handshake_timeout'),
    )
    prefill.link()!.sendPage(page(0), rowsOf(4, 5))
    await until(() => to.heard.pages.length === 1)
    expect(to.log.filter((line) => line.startsWith('down'))).toEqual([])
    expect(to.log.filter((line) => line === 'violation crowded_out')).toHaveLength(12)
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

  test('what was handed over is given back, also where the connection ends first', async () => {
    const from = told()
    const prefill = prefillEnd(from.events)
    await decodeEnd(told().events)
    await until(() => from.log.includes('up'))
    let [given, back] = [0, 0]
    const written = (): void => {
      back += 1
    }
    for (let more = true; more; given += 1) more = prefill.link()!.sendPage(page(0), rowsOf(4, 5), written)
    prefill.cut('enough')
    await until(() => back === given)
  })
})
