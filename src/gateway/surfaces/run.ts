import type { Contract, Verdict } from '../../admission/index.ts'
import type { EngineEvent, EngineHandle } from '../../cluster/index.ts'
import { createDetokenizer, createStopScanner } from '../../text/index.ts'
import type { Call, GatewayContext } from '../context.ts'
import { type ErrorBody, errorResponse } from '../errors.ts'
import { createExchange, type Ending, type ExchangeEffect, type ExchangeEvent, type Usage } from '../exchange/index.ts'
import type { Prepared } from '../input/index.ts'
import type { GatewayModel } from '../options.ts'
import { type AnswerTarget, type AnswerWriter, streamedAnswer, wholeAnswer } from '../output/index.ts'
import type { Grant } from '../tenants/index.ts'
import { answerFormat } from './answer-format.ts'
import { failureError } from './failures.ts'
import { receipt } from './receipt.ts'
import { refusalError } from './refusal.ts'

export type GenerationPrepared = Extract<Prepared, { kind: 'generation' }>

/**
 * Drives one exchange: events come from the verdict, the limiter, the engine and the client, and its effects are carried out here.
 * `respond` is called exactly once, as soon as the status is certain.
 */
export const runExchange = (
  context: GatewayContext,
  call: Call,
  model: GatewayModel,
  prepared: GenerationPrepared,
  verdict: Verdict,
  respond: (response: Response) => void,
): void => {
  const { options, limiter } = context
  const { clock, engine, random, telemetry } = options
  const { request, ids } = prepared
  const { signal } = call.request
  const exchange = createExchange({
    endIds: model.tokenizer.endIds,
    logprobs: request.topLogprobs !== null,
    detokenizer: () => createDetokenizer(model.tokenizer),
    stopScanner: () => createStopScanner(request.stop),
  })
  const queue: ExchangeEvent[] = []
  const lastToken = new Map<number, number>()
  const reasons = new Set<string>()
  let pumping = false
  let handle: EngineHandle | null = null
  let grant: Grant | null = null

  /** One event at a time: an engine may call back while it is still being called. */
  const feed = (event: ExchangeEvent): void => {
    queue.push(event)
    if (pumping) return
    pumping = true
    for (let next = queue.shift(); next; next = queue.shift()) exchange.step(next).forEach(carryOut)
    pumping = false
  }

  const onClientGone = (): void => feed({ kind: 'client_gone' })

  const onEngine = (event: EngineEvent): void => {
    if (event.kind === 'token') noteToken(event.sequence)
    feed({ kind: 'engine', event })
  }

  /** Timed when the engine says it, not when it is carried out. */
  const noteToken = (sequence: number): void => {
    const now = clock.now()
    if (lastToken.size === 0)
      telemetry({ kind: 'first_token', model: model.id, seconds: (now - call.arrivedAt) / 1000 })
    const before = lastToken.get(sequence)
    lastToken.set(sequence, now)
    if (before !== undefined) telemetry({ kind: 'token_gap', model: model.id, seconds: (now - before) / 1000 })
  }

  const target: AnswerTarget = {
    format: answerFormat(context, model, request),
    headers: () => ({
      'x-bulkhead-receipt': receipt(model, ids.length),
      ...limiter.headers(call.tenant, clock.now()),
    }),
    respond,
  }
  const answer: AnswerWriter = request.stream
    ? streamedAnswer(target, request.includeUsage, onClientGone)
    : wholeAnswer(target, request.n)

  const refuse = (error: ErrorBody): void => {
    telemetry({ kind: 'request_refused', model: model.id, code: error.code })
    const pressed = error.code === 'rate_limit_exceeded' || error.code === 'kv_quota_exceeded'
    respond(errorResponse(error, pressed ? limiter.headers(call.tenant, clock.now()) : {}))
  }

  const submit = (contract: Contract): void => {
    const { temperature, topP, topK, topLogprobs } = request
    telemetry({
      kind: 'request_admitted',
      model: model.id,
      promptTokens: contract.promptTokens,
      pages: contract.decodePages,
    })
    try {
      handle = engine.submit(
        {
          requestId: call.requestId,
          tenant: call.tenant.id,
          model: model.id,
          ids,
          contract,
          sampling: { temperature, topP, topK, topLogprobs, seed: request.seed ?? random.uint32() },
          endIds: model.tokenizer.endIds,
        },
        onEngine,
      )
    } catch {
      feed({ kind: 'engine', event: { kind: 'failed', code: 'internal', retryAfterSeconds: null } })
    }
  }

  const settle = (usage: Usage): void => grant?.settle(usage.promptTokens + usage.completionTokens, clock.now())

  const onEnd = (ending: Ending): void => {
    signal.removeEventListener('abort', onClientGone)
    switch (ending.kind) {
      case 'refused':
        refuse(refusalError(ending.verdict, request.surface))
        break
      case 'held_back':
        refuse(ending.error)
        break
      case 'complete': {
        settle(ending.usage)
        const reason = [...reasons].sort().join('+')
        telemetry({ kind: 'request_finished', model: model.id, reason, outputTokens: ending.usage.completionTokens })
        answer.complete(ending.usage)
        break
      }
      case 'failed': {
        settle(ending.usage)
        const error = failureError(ending)
        telemetry({ kind: 'request_failed', model: model.id, code: error.code })
        answer.fail(error)
        break
      }
      case 'abandoned':
        settle(ending.usage)
        telemetry({ kind: 'request_aborted', model: model.id })
        answer.abandon()
    }
  }

  const carryOut = (effect: ExchangeEffect): void => {
    switch (effect.kind) {
      case 'submit':
        submit(effect.contract)
        break
      case 'begin':
        answer.begin()
        break
      case 'text':
        answer.text(effect.sequence, effect.text, effect.tokens)
        break
      case 'finish':
        reasons.add(effect.reason)
        answer.finish(effect.sequence, effect.reason)
        break
      case 'finish_sequence':
        handle?.finishSequence(effect.sequence)
        break
      case 'abort':
        handle?.abort()
        break
      case 'end':
        onEnd(effect.ending)
    }
  }

  feed({ kind: 'verdict', verdict })
  if (verdict.kind === 'refused') return
  if (signal.aborted) {
    onClientGone()
    return
  }
  signal.addEventListener('abort', onClientGone, { once: true })
  const { promptTokens, maxOutput, n, decodePages } = verdict.contract
  const cost = { tokens: promptTokens + maxOutput * n, kvBytes: decodePages * model.pageBytes }
  const decision = limiter.admit(call.tenant, cost, clock.now())
  if (decision.kind === 'granted') grant = decision.grant
  feed(decision.kind === 'granted' ? { kind: 'cleared' } : { kind: 'held_back', error: decision.error })
}
