import type { MessagePort } from 'node:worker_threads'
import type { Links } from '../worker/links.ts'
import type { LeaseSink, PageSink } from '../worker/ports.ts'
import type { LinkChange, ToDecodeSide, ToPrefillSide } from './messages.ts'

/** Posts what one turn says as one message: pages go by the thousand, and each message has its price. */
const batched = <Message>(port: MessagePort): ((message: Message) => true) => {
  let batch: Message[] = []
  const flush = (): void => {
    port.postMessage(batch)
    batch = []
  }
  return (message) => {
    if (batch.push(message) === 1) queueMicrotask(flush)
    return true
  }
}

/** Prefill's end: it says that it is there, and is up when decode has said from which lease on it may store. */
export const prefillLink =
  (port: MessagePort): Links['prefill'] =>
  (events) => {
    const say = batched<ToDecodeSide[number]>(port)
    const sink: PageSink = {
      sendPage: (frame) => say(frame),
      sendManifest: (frame) => say(frame),
      sendAcknowledge: (lease) => say({ kind: 'lease_acknowledged', lease }),
    }
    port.on('message', (messages: ToPrefillSide) => {
      for (const message of messages) {
        if (message.kind === 'lease_closed') events.leaseClosed(message)
        else {
          events.up(sink, message.from)
          events.joined()
        }
      }
    })
    say({ kind: 'here' })
  }

/** What decode's thread hears of prefill's lives, and says of them. */
export interface PrefillLives {
  listen(listener: (change: LinkChange) => void): void
  /** Ends that life, if it is still the present one. */
  end(life: number, reason: string): void
}

/**
 * Decode's end: it opens with each life of prefill, when that one is there, and is down when that life is known ended, not before.
 * What stood unread in the channel by then is dropped: frames under way are lost.
 */
export const decodeLink =
  (lives: PrefillLives): Links['decode'] =>
  async (events) => {
    let current: MessagePort | null = null
    let life = 0
    let up = false
    const hear = (message: ToDecodeSide[number], sink: LeaseSink): void => {
      switch (message.kind) {
        case 'here':
          up = true
          events.up(sink)
          events.joined()
          return
        case 'page':
          events.page(message)
          return
        case 'manifest':
          events.manifest(message)
          return
        case 'lease_acknowledged':
          events.acknowledged(message.lease)
          return
      }
    }
    const open = (port: MessagePort): void => {
      current = port
      const say = batched<ToPrefillSide[number]>(port)
      const sink: LeaseSink = {
        sendLeaseClosed: (message) => say(message),
        openLeases: (from) => void say({ kind: 'open_leases', from }),
      }
      port.on('message', (messages: ToDecodeSide) => {
        for (const message of messages) if (current === port) hear(message, sink)
      })
    }
    const close = (): void => {
      current?.close()
      current = null
      if (up) events.down()
      up = false
    }
    lives.listen((change) => {
      if (change.kind === 'link_down') return close()
      life = change.life
      open(change.port)
    })
    return { cut: (reason) => lives.end(life, reason) }
  }
