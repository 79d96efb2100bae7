import type { FeedSnapshot } from '../feed.ts'
import { byId, setText } from './dom.ts'
import { readFeed } from './event-stream.ts'
import { forgetKey, keepKey, takeKey } from './key.ts'
import { createView } from './view.ts'

/** Beats missed until a feed counts as lost, whatever the connection claims. */
const patience = 10
/** And until it is given up and opened anew: a half-open connection would never end by itself. */
const giveUp = 30
/** Milliseconds without a frame that mean that nobody was looking. */
const asleep = 1_000
/** Milliseconds between two tries. */
const firstPause = 500
const longestPause = 8_000

const view = createView()
let lastHeard = 0
/** How often the feed promised news, in milliseconds. */
let beat = Number.POSITIVE_INFINITY
let pause = firstPause
let retryAt: number | null = null
let key = takeKey()
let reading = new AbortController()
/** The time of the frame being drawn; the page has no other clock. */
let now = 0

const showLink = (state: 'live' | 'lost' | 'waiting', text: string): void => {
  byId('lamp').className = state === 'waiting' ? 'lamp' : `lamp ${state}`
  setText(byId('link-text'), text)
  document.body.classList.toggle('stale', state === 'lost')
}

const openGate = (message: string): void => {
  forgetKey()
  key = null
  byId('gate').hidden = false
  setText(byId('gate-error'), message)
  showLink('waiting', 'waiting for the key')
  byId('key').focus()
}

const onData = (data: string): void => {
  lastHeard = now
  pause = firstPause
  byId('gate').hidden = true
  showLink('live', 'live')
  const snapshot = JSON.parse(data) as FeedSnapshot
  beat = snapshot.beat ?? Number.POSITIVE_INFINITY
  view.show(snapshot)
}

const connect = async (): Promise<void> => {
  if (key === null) return openGate('')
  lastHeard = now
  reading = new AbortController()
  const end = await readFeed(key, onData, reading.signal)
  if (end === 'wrong_key') return openGate('That is not the admin key.')
  showLink('lost', 'connection lost, trying again')
  retryAt = now + pause
  pause = Math.min(pause * 2, longestPause)
}

const frame = (time: number): void => {
  // A hidden tab draws no frames: what it did not see go by is no silence of the server's.
  if (time - now > asleep) lastHeard = time
  now = time
  if (retryAt !== null && now >= retryAt) {
    retryAt = null
    void connect()
  } else if (key !== null && retryAt === null && now - lastHeard > patience * beat) {
    showLink('lost', 'no news from the server')
    if (now - lastHeard > giveUp * beat) reading.abort()
  }
  requestAnimationFrame(frame)
}

byId('gate').addEventListener('submit', (event) => {
  event.preventDefault()
  const input = byId('key')
  if (!(input instanceof HTMLInputElement)) return
  key = input.value.trim()
  input.value = ''
  keepKey(key)
  void connect()
})

new ResizeObserver(() => view.resize()).observe(byId('panes'))
requestAnimationFrame(frame)
void connect()
