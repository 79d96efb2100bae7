export { chatFormat } from './chat.ts'
export { completionsFormat } from './completions.ts'
export { createFrameStream, type FrameStream, sseDone, sseFrame, sseHeaders } from './frame-stream.ts'
export type { AnswerFormat, AnswerMeta, FinishedChoice } from './types.ts'
