import type { ForwardResult, SampledToken, SequenceResult } from '../../model/index.ts'
import type { DecodeEffect } from '../effects.ts'
import type { DecodeOptions } from '../options.ts'
import type { WorkerPages } from '../worker/pages.ts'
import { type Pass, type PassEntry, resultFor } from '../worker/passes.ts'
import type { DecodeRequest, DecodeSequence } from './request.ts'
import { checkStep, pickSteps, type Step, stepPlan } from './steps.ts'

/** What the machine does with what a pass brings to light. */
export interface StepperHost {
  /** Ends this request alone; `page` -1 where no single page is at fault. */
  fault(request: DecodeRequest, rule: string, fault: string, page: number): void
  /** One more sequence of the request is finished. */
  finished(request: DecodeRequest): void
}

/** Continuous batching: one pass at a time, planned anew after each from whoever is running then. */
export class Stepper {
  readonly #options: DecodeOptions
  readonly #pages: WorkerPages
  readonly #emit: (effect: DecodeEffect) => void
  readonly #host: StepperHost
  #pass: Pass<Step> | null = null
  #nextPlan = 1

  constructor(options: DecodeOptions, pages: WorkerPages, emit: (effect: DecodeEffect) => void, host: StepperHost) {
    this.#options = options
    this.#pages = pages
    this.#emit = emit
    this.#host = host
  }

  /** Plans a pass if none is in flight and somebody is running. */
  plan(requests: Iterable<DecodeRequest>): void {
    if (this.#pass !== null) return
    const { pageSize } = this.#options.shape
    const entries: PassEntry<Step>[] = []
    for (const step of pickSteps(requests, this.#options.maxBatch)) {
      if (step.request.phase !== 'running') continue // a fault in an earlier sequence of it has just ended it
      const plan = stepPlan(step, pageSize)
      const fault = checkStep(this.#pages, plan, step, pageSize)
      if (fault === null) entries.push({ plan, grants: step.sequence.visible.grants, of: step })
      else this.#host.fault(step.request, 'R5', fault.code, fault.details.page ?? -1)
    }
    const live = entries.filter((entry) => entry.of.request.phase === 'running')
    if (live.length === 0) return
    const id = this.#nextPlan++
    for (const { grants, of } of live) {
      of.sequence.lastPass = id
      this.#pages.hold(grants, 'step')
    }
    this.#pass = { plan: { id, sequences: live.map((entry) => entry.plan) }, entries: live }
    this.#emit({ kind: 'forward', plan: this.#pass.plan })
  }

  done(result: ForwardResult, seconds: number): void {
    const pass = this.#pass
    if (pass?.plan.id !== result.id) {
      this.#pages.telemetry({ kind: 'transfer_violation', reason: 'unknown_pass' })
      return
    }
    this.#pass = null
    const { model, fences } = this.#options
    const sequences = pass.entries.length
    this.#pages.telemetry({ kind: 'step', role: 'decode', model, sequences, rows: sequences, seconds })
    for (const [i, entry] of pass.entries.entries()) {
      if (entry.of.request.phase === 'running')
        this.#take(entry, resultFor(entry.plan, result.results[i], fences.identity))
    }
    // Only now: what the results have ended drains until here, and goes home below.
    for (const { grants } of pass.entries) this.#pages.release(grants, 'step')
    this.#pages.passed()
  }

  #take({ plan, of: { request, sequence } }: PassEntry<Step>, result: SequenceResult | null): void {
    if (result === null) {
      this.#host.fault(request, 'R10', 'row_misnamed', -1)
      return
    }
    if (result.fault !== null || result.sampled === null) {
      this.#host.fault(request, 'R5', result.fault?.kind ?? 'no_sample', result.fault?.page ?? -1)
      return
    }
    if (plan.write === 'append') {
      const { pageSize } = this.#options.shape
      const refused = this.#pages.fillAll(sequence.grants[Math.floor(plan.start / pageSize)]!, plan.start % pageSize, 1)
      if (refused !== null) {
        this.#host.fault(request, 'R5', refused.code, refused.details.page ?? -1)
        return
      }
    }
    // Ended from outside while the pass ran: the row was computed, the token is nobody's.
    if (!sequence.finished) this.#draw(request, sequence, result.sampled)
  }

  #draw(request: DecodeRequest, sequence: DecodeSequence, sampled: SampledToken): void {
    const { requestId, attempt } = request
    const { index } = sequence
    if (request.endIds.has(sampled.token)) {
      sequence.finished = true
      this.#emit({ kind: 'send', message: { kind: 'finished', requestId, attempt, sequence: index, reason: 'stop' } })
    } else {
      this.#emit({
        kind: 'send',
        message: { kind: 'token', requestId, attempt, sequence: index, index: sequence.drawn, sampled },
      })
      sequence.drawn++
      sequence.lastToken = sampled.token
      sequence.finished = sequence.drawn === request.claims.maxOutput
      if (sequence.finished)
        this.#emit({
          kind: 'send',
          message: { kind: 'finished', requestId, attempt, sequence: index, reason: 'length' },
        })
    }
    if (sequence.finished) this.#host.finished(request)
  }
}
