export { nodeClock, nodeTimers } from './clock.ts'
export { createSecrets, nodeDigests, nodeRandom } from './crypto.ts'
export { nodePrivateFiles } from './files.ts'
export { createOffload, type OffloadOptions, type StoppableOffload } from './offload.ts'
