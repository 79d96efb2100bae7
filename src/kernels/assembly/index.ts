// What the host calls. Built by ../build.js; the result, kernels.wasm, is committed beside it.
export { configure } from './layout'
export { claimPage, copyPage, retirePage, scanGuards } from './pages'
export { useScratch } from './attend'
export { plan, work } from './job'
export { seal } from './seal'
export { serve, share } from './crew'
