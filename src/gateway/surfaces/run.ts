import type { Contract, Verdict } from '../../admission/index.ts'
import type { EngineEvent, EngineHandle } from '../../cluster/index.ts'
import { createDetokenizer, createStopScanner } from '../../text/index.ts'
import type { Call, GatewayContext } from '../context.ts'
import { type ErrorBody, errorResponse } from '../errors.ts'
import {
  createExchange,
  type Ending,
  type ExchangeEffect,
  type ExchangeEvent,
  type FinishReason,
} from '../exchange/index.ts'
import type { Prepared } from '../input/index.ts'
import type { GatewayModel } from '../options.ts'
import { type AnswerWriter, streamedAnswer, wholeAnswer } from '../output/index.ts'
import { answerFormat } from './answer-format.ts'
import { openBooks } from './books.ts'
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
  { request, ids }: GenerationPrepared,
  verdict: Verdict,
  respond: (response: Response) => void,
): void => {
  const { engine, random } = context.options
  const { signal } = call.request
  const books = openBooks(context, call, model)
  const exchange = createExchange({
    endIds: model.tokenizer.endIds,
    logprobs: request.topLogprobs !== null,
    detokenizer: () => createDetokenizer(model.tokenizer),
    stopScanner: () => createStopScanner(request.stop),
    ...(context.options.endingRule && { endingRule: context.options.endingRule }),
  })
  const queue: ExchangeEvent[] = []
  const reasons = new Set<FinishReason>()
  let pumping = false
  let handle: EngineHandle | null = null

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
    if (event.kind === 'token') books.token(event.sequence)
    feed({ kind: 'engine', event })
  }

  const target = {
    format: answerFormat(context, model, request),
    headers: () => ({ 'x-bulkhead-receipt': receipt(model, ids.length), ...books.rateHeaders() }),
    respond,
  }
  const answer: AnswerWriter = request.stream
    ? streamedAnswer(target, request.includeUsage, onClientGone)
    : wholeAnswer(target, request.n)

  const submit = (contract: Contract): void => {
    const { temperature, topP, topK, topLogprobs } = request
    const sampling = { temperature, topP, topK, topLogprobs, seed: request.seed ?? random.uint32() }
    const { requestId, tenant } = call
    const { endIds } = model.tokenizer
    books.admitted(contract)
    try {
      handle = engine.submit(
        { requestId, tenant: tenant.id, model: model.id, ids, contract, sampling, endIds },
        onEngine,
      )
    } catch {
      feed({ kind: 'engine', event: { kind: 'failed', code: 'internal', retryAfterSeconds: null } })
    }
  }

  const refuse = (error: ErrorBody, headers?: Readonly<Record<string, string>>): void => {
    books.refused(error.code)
    respond(errorResponse(error, headers))
  }

  const onEnd = (ending: Ending): void => {
    signal.removeEventListener('abort', onClientGone)
    switch (ending.kind) {
      case 'refused':
        refuse(refusalError(ending.verdict, request.surface))
        break
      case 'held_back':
        refuse(ending.error, books.rateHeaders())
        break
      case 'complete':
        books.completed(ending.usage, reasons)
        answer.complete(ending.usage)
        break
      case 'failed': {
        const error = failureError(ending)
        books.failed(ending.usage, error.code)
        answer.fail(error)
        break
      }
      case 'abandoned':
        books.abandoned(ending.usage)
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
  const error = books.reserve(verdict.contract)
  feed(error === null ? { kind: 'cleared' } : { kind: 'held_back', error })
}
