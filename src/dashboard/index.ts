export { loadPage, type PageModule, pageModules } from './assets.ts'
export {
  type CellCode,
  cellStates,
  type FeedEvent,
  type FeedOutcome,
  type FeedPane,
  type FeedPool,
  type FeedSnapshot,
  type FeedStep,
  type FeedTone,
} from './feed.ts'
export { createServeFeed, type ServeFeed, type ServeFeedOptions } from './serve-feed.ts'
