import type { Contract } from '../../admission/index.ts'
import type { EngineEvent } from '../../cluster/index.ts'
import { wholeLength } from './ending-rule.ts'
import { createSequence, type Release, type Sequence } from './sequence.ts'
import type {
  Ending,
  Exchange,
  ExchangeEffect,
  ExchangeEvent,
  ExchangeFailure,
  ExchangeOptions,
  ExchangeState,
  FinishReason,
  Usage,
} from './types.ts'

type EngineToken = Extract<EngineEvent, { kind: 'token' }>

/**
 * One request's life as a state machine without I/O: received → judged → waiting → streaming → ended. It guarantees that a refused
 * request is never submitted (R1), that legality is answered before pressure (R13), that nothing is released before the first
 * verified token, and that there is exactly one ending, after which it has no effects (R12).
 */
export const createExchange = (options: ExchangeOptions): Exchange => {
  const endIds = new Set(options.endIds)
  const endingRule = options.endingRule ?? wholeLength
  let state: ExchangeState = 'received'
  let contract: Contract | null = null
  let sequences: readonly Sequence[] = []
  let cachedTokens = 0

  const usage = (): Usage => ({
    promptTokens: contract?.promptTokens ?? 0,
    cachedTokens,
    completionTokens: sequences.reduce((sum, sequence) => sum + sequence.count(), 0),
  })

  const end = (ending: Ending): ExchangeEffect[] => {
    state = 'ended'
    return [{ kind: 'end', ending }]
  }

  const fail = (code: ExchangeFailure, retryAfterSeconds: number | null): ExchangeEffect[] =>
    end({ kind: 'failed', code, retryAfterSeconds, begun: state === 'streaming', usage: usage() })

  /** The engine contradicted itself: it is told to stop, and the client gets an error rather than a guess. */
  const broken = (): ExchangeEffect[] => [{ kind: 'abort' }, ...fail('broken_stream', null)]

  const begin = (): ExchangeEffect[] => {
    if (state === 'streaming') return []
    state = 'streaming'
    return [{ kind: 'begin' }]
  }

  const released = (index: number, release: Release): ExchangeEffect[] =>
    release.text === '' && release.tokens.length === 0
      ? []
      : [{ kind: 'text', sequence: index, text: release.text, tokens: release.tokens }]

  const finish = (index: number, sequence: Sequence, reason: FinishReason): ExchangeEffect[] => {
    sequence.close()
    return [{ kind: 'finish', sequence: index, reason }]
  }

  const onToken = ({ sequence: index, index: position, sampled }: EngineToken): ExchangeEffect[] => {
    const sequence = sequences[index]
    if (!sequence || !contract) return broken()
    // Tokens already under way when a stop string was found.
    if (!sequence.open()) return []
    if (position !== sequence.count() || position >= contract.maxOutput) return broken()
    const began = begin()
    const release = sequence.push(sampled)
    const effects = [...began, ...released(index, release)]
    if (!release.stopped) return effects
    return [...effects, ...finish(index, sequence, 'stop'), { kind: 'finish_sequence', sequence: index }]
  }

  const onFinished = (index: number, reason: FinishReason): ExchangeEffect[] => {
    const sequence = sequences[index]
    if (!sequence || !contract) return broken()
    if (!sequence.open()) return []
    if (!endingRule(reason, sequence.count(), contract)) return broken()
    const began = begin()
    const release = sequence.finish()
    return [...began, ...released(index, release), ...finish(index, sequence, release.stopped ? 'stop' : reason)]
  }

  const onEngine = (event: EngineEvent): ExchangeEffect[] => {
    switch (event.kind) {
      case 'queued':
      case 'started':
        return []
      case 'cached':
        // More than the prompt has would be an engine that contradicts itself.
        if (event.tokens > (contract?.promptTokens ?? 0)) return broken()
        cachedTokens = event.tokens
        return []
      case 'token':
        return onToken(event)
      case 'sequence_finished':
        return onFinished(event.sequence, event.reason)
      case 'done':
        return sequences.some((sequence) => sequence.open()) ? broken() : end({ kind: 'complete', usage: usage() })
      case 'failed':
        return fail(event.code, event.retryAfterSeconds)
      default:
        return broken()
    }
  }

  const submit = (admitted: Contract): ExchangeEffect[] => {
    state = 'waiting'
    sequences = Array.from({ length: admitted.n }, () =>
      createSequence(options.detokenizer(), options.stopScanner(), endIds, options.logprobs),
    )
    return [{ kind: 'submit', contract: admitted }]
  }

  const step = (event: ExchangeEvent): ExchangeEffect[] => {
    switch (event.kind) {
      case 'verdict':
        if (state !== 'received') return []
        if (event.verdict.kind === 'refused') return end({ kind: 'refused', verdict: event.verdict })
        state = 'judged'
        contract = event.verdict.contract
        return []
      case 'held_back':
        return state === 'judged' ? end({ kind: 'held_back', error: event.error }) : []
      case 'cleared':
        return state === 'judged' && contract ? submit(contract) : []
      case 'engine':
        return state === 'waiting' || state === 'streaming' ? onEngine(event.event) : []
      case 'client_gone': {
        if (state === 'ended') return []
        const live = state === 'waiting' || state === 'streaming'
        const ended = end({ kind: 'abandoned', usage: usage() })
        return live ? [{ kind: 'abort' }, ...ended] : ended
      }
    }
  }

  return { state: () => state, step }
}
