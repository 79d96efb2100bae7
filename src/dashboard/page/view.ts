import type { FeedEvent, FeedSnapshot } from '../feed.ts'
import { byId, element, setText } from './dom.ts'
import { createPane, type PaneView, signs } from './pane-view.ts'

const eventNode = ({ at, tone, text }: FeedEvent): HTMLElement => {
  const time = element('time', '', new Date(at).toLocaleTimeString('en-GB'))
  return element('li', `event ${tone}`, [time, element('span', 'sign', signs[tone]), element('span', '', text)])
}

export interface PageView {
  show(snapshot: FeedSnapshot): void
  resize(): void
}

/** Everything below the header, brought from one snapshot to the next with as little change as possible. */
export const createView = (): PageView => {
  const panes = new Map<string, PaneView>()
  let lastEvents = ''
  let lastSteps = ''
  return {
    show(snapshot): void {
      setText(byId('title'), snapshot.title)
      byId('story').hidden = snapshot.caption === null && snapshot.steps.length === 0
      setText(byId('caption'), snapshot.caption ?? '')
      const nextSteps = JSON.stringify(snapshot.steps)
      if (nextSteps !== lastSteps) {
        lastSteps = nextSteps
        byId('steps').replaceChildren(
          ...snapshot.steps.map(({ text, state }) => element('li', state, [element('span', '', text)])),
        )
      }
      const present = new Set(snapshot.panes.map(({ id }) => id))
      for (const [id, view] of panes) {
        if (present.has(id)) continue
        view.root.remove()
        panes.delete(id)
      }
      for (const pane of snapshot.panes) {
        let view = panes.get(pane.id)
        if (!view) {
          view = createPane()
          panes.set(pane.id, view)
          byId('panes').append(view.root)
        }
        view.update(pane)
      }
      const nextEvents = JSON.stringify(snapshot.events)
      if (nextEvents === lastEvents) return
      lastEvents = nextEvents
      byId('events-box').hidden = snapshot.events.length === 0
      byId('events').replaceChildren(...snapshot.events.map(eventNode))
    },
    resize(): void {
      for (const view of panes.values()) view.resize()
    },
  }
}
