import type { FeedOutcome, FeedPane, FeedTone } from '../feed.ts'
import { element, setText } from './dom.ts'
import { createPool, type PoolView } from './pool-view.ts'

/** A tone's sign, so that it is told without colour too. */
export const signs: Readonly<Record<FeedTone, string>> = { good: '✓', warn: '!', bad: '✕', idle: '·' }

const outcomeNodes = (outcome: FeedOutcome): readonly Node[] => {
  const { heading, text, highlight } = outcome
  const at = highlight === null || highlight === '' ? -1 : text.indexOf(highlight)
  const said =
    highlight === null || at < 0
      ? [document.createTextNode(text)]
      : [
          document.createTextNode(text.slice(0, at)),
          element('mark', '', highlight),
          document.createTextNode(text.slice(at + highlight.length)),
        ]
  return [element('p', 'heading', heading), element('p', 'said', said)]
}

export interface PaneView {
  readonly root: HTMLElement
  update(pane: FeedPane): void
  resize(): void
}

/** One model, or one engine of a comparison. */
export const createPane = (): PaneView => {
  const title = element('h2', '')
  const pill = element('span', 'pill')
  const subtitle = element('p', 'subtitle')
  const figures = element('dl', 'figures')
  const pools = element('div', 'pools')
  const outcome = element('div', 'outcome')
  const root = element('section', 'pane', [
    element('div', 'pane-head', [title, pill, subtitle]),
    figures,
    outcome,
    pools,
  ])
  const views = new Map<string, PoolView>()
  let lastFigures = ''
  let lastOutcome = ''
  return {
    root,
    update(pane): void {
      root.className = 'pane'
      root.classList.toggle('bad', pane.status.tone === 'bad')
      setText(title, pane.title)
      pill.className = `pill ${pane.status.tone}`
      setText(pill, `${signs[pane.status.tone]} ${pane.status.label}`)
      subtitle.hidden = pane.subtitle === null
      setText(subtitle, pane.subtitle ?? '')
      const nextFigures = JSON.stringify(pane.figures)
      if (nextFigures !== lastFigures) {
        lastFigures = nextFigures
        figures.replaceChildren(
          ...pane.figures.map(({ label, value }) =>
            element('div', '', [element('dt', '', label), element('dd', '', value)]),
          ),
        )
      }
      const nextOutcome = JSON.stringify(pane.outcome)
      if (nextOutcome !== lastOutcome) {
        lastOutcome = nextOutcome
        outcome.hidden = pane.outcome === null
        outcome.className = `outcome ${pane.outcome?.tone ?? 'idle'}`
        outcome.replaceChildren(...(pane.outcome === null ? [] : outcomeNodes(pane.outcome)))
      }
      const present = new Set(pane.pools.map(({ name }) => name))
      for (const [name, view] of views) {
        if (present.has(name)) continue
        view.root.remove()
        views.delete(name)
      }
      for (const pool of pane.pools) {
        let view = views.get(pool.name)
        if (!view) {
          view = createPool()
          views.set(pool.name, view)
          pools.append(view.root)
        }
        view.update(pool)
      }
    },
    resize(): void {
      for (const view of views.values()) view.resize()
    },
  }
}
