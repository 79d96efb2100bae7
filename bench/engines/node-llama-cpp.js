/** node-llama-cpp on the same file and threads, batches through its own sequences and queue. One JSON line as ours.js. */
import { getLlama } from 'node-llama-cpp'
import { median, readJob } from './job.js'

const { model: modelPath, threads, batches, contexts, prefills, steps } = readJob()
const llama = await getLlama({ gpu: false, build: 'never', maxThreads: threads, logLevel: 'error' })
const model = await llama.loadModel({ modelPath })
const vocab = model.fileInfo.metadata.llama.vocab_size ?? 1000
const tokensOf = (count, seed) => Array.from({ length: count }, (_, i) => (7919 * (i + 1) + 104_729 * seed) % vocab)

const decode = []
for (const context of contexts) {
  for (const batch of batches) decode.push({ batch, context, tokensPerSecond: await decodeSpeed(batch, context) })
}
const prefill = []
for (const tokens of prefills) prefill.push({ tokens, tokensPerSecond: await prefillSpeed(tokens) })
console.log(JSON.stringify({ decode, prefill, peakBytes: process.resourceUsage().maxRSS * 1024 }))
process.exit(0)

/**
 * Each sequence in a loop of its own, as a server would drive them; tokens per second over all of them together, from when
 * each has its first token. (Stepped in lock-step from outside, batches fill better: see docs/performance.md.)
 */
async function decodeSpeed(batch, context) {
  const options = { contextSize: context + steps + 8, sequences: batch, batchSize: 512, threads, flashAttention: true }
  const created = await model.createContext(options)
  let started = 0
  let open
  const gate = new Promise((resolve) => {
    open = resolve
  })
  let start
  const loop = async (sequence, i) => {
    let made = 0
    for await (const _ of sequence.evaluate(tokensOf(context, i), { temperature: 0, yieldEogToken: true })) {
      if (made === 0) {
        if (++started === batch) {
          start = performance.now()
          open()
        }
        await gate
      }
      if (++made > steps) break
    }
  }
  const sequences = Array.from({ length: batch }, () => created.getSequence())
  await Promise.all(sequences.map(loop))
  const ms = performance.now() - start
  await created.dispose()
  return (batch * steps * 1000) / ms
}

async function prefillSpeed(tokens) {
  const created = await model.createContext({ contextSize: tokens + 8, batchSize: 512, threads, flashAttention: true })
  const sequence = created.getSequence()
  const times = []
  for (let repeat = 0; repeat < 3; repeat++) {
    await sequence.clearHistory()
    const start = performance.now()
    await sequence.evaluateWithoutGeneratingNewTokens(tokensOf(tokens, repeat))
    times.push(performance.now() - start)
  }
  await created.dispose()
  return (tokens * 1000) / median(times)
}
