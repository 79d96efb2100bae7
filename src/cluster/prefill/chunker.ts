import { adaptChunkLimit, planChunks } from '../../engine/index.ts'
import type { LedgerFault } from '../../kv/index.ts'
import type { ForwardResult, SequenceResult } from '../../model/index.ts'
import type { ForwardEffect } from '../effects.ts'
import type { PrefillOptions } from '../options.ts'
import type { WorkerPages } from '../worker/pages.ts'
import { type Pass, type PassEntry, resultFor } from '../worker/passes.ts'
import { chunkPlan, type PrefillJob, remainingRows } from './job.ts'

/** What the machine does with what a pass brings to light. */
export interface ChunkerHost {
  /** Rows 0 … `rows` - 1 of the job stand in this layer. */
  advance(job: PrefillJob, layer: number, rows: number): void
  /** All rows of the prompt stand. */
  complete(job: PrefillJob): void
  /** Ends this request alone; `page` null where no single page is at fault. */
  fault(job: PrefillJob, rule: string, fault: string, page: number | null): void
}

/** Prompts in chunks: one pass at a time, planned anew after each from whoever waits then. */
export class Chunker {
  readonly #options: PrefillOptions
  readonly #pages: WorkerPages
  readonly #emit: (effect: ForwardEffect) => void
  readonly #host: ChunkerHost
  #pass: Pass<PrefillJob> | null = null
  #chunkRows: number
  #nextPlan = 1

  constructor(options: PrefillOptions, pages: WorkerPages, emit: (effect: ForwardEffect) => void, host: ChunkerHost) {
    this.#options = options
    this.#pages = pages
    this.#emit = emit
    this.#host = host
    this.#chunkRows = options.chunkRows
  }

  /** Plans a pass if none is in flight and somebody waits for one. */
  plan(jobs: Iterable<PrefillJob>): void {
    if (this.#pass !== null) return
    const waiting = [...jobs]
      .filter((job) => !job.over && job.verifying === 0 && remainingRows(job) > 0)
      .map((job) => ({ job, remaining: remainingRows(job), arrival: job.arrival }))
    const entries: PassEntry<PrefillJob>[] = []
    for (const { job: waiter, rows } of planChunks(waiting, this.#chunkRows)) {
      const { job } = waiter
      const plan = chunkPlan(job, rows, this.#options.shape.pageSize)
      const fault = this.#check(job, rows)
      if (fault !== null) this.#host.fault(job, 'R5', fault.code, fault.details.page)
      else entries.push({ plan, grants: job.handles.slice(0, plan.table.pages.length), of: job })
    }
    // A fault in a page that several read has ended all of them.
    const live = entries.filter((entry) => !entry.of.over)
    if (live.length === 0) return
    for (const { grants, of: job } of live) {
      job.busy++
      this.#pages.hold(grants, 'step')
    }
    this.#pass = { plan: { id: this.#nextPlan++, sequences: live.map((entry) => entry.plan) }, entries: live }
    this.#emit({ kind: 'forward', plan: this.#pass.plan })
  }

  layerDone(planId: number, layer: number): void {
    if (this.#pass?.plan.id !== planId || !(layer >= 0 && layer < this.#options.shape.layers)) return
    for (const { plan, of: job } of this.#pass.entries) this.#host.advance(job, layer, plan.start + plan.tokens.length)
  }

  done(result: ForwardResult, seconds: number): void {
    const pass = this.#pass
    if (pass?.plan.id !== result.id) {
      this.#pages.telemetry({ kind: 'transfer_violation', reason: 'unknown_pass' })
      return
    }
    this.#pass = null
    const { model, shape, layerBudgetSeconds, chunkRows, fences } = this.#options
    const rows = pass.entries.reduce((sum, entry) => sum + entry.plan.tokens.length, 0)
    this.#chunkRows = adaptChunkLimit(
      this.#chunkRows,
      { rows, seconds },
      { maxRows: chunkRows, layers: shape.layers, layerBudgetSeconds },
    )
    this.#pages.telemetry({ kind: 'step', role: 'prefill', model, sequences: pass.entries.length, rows, seconds })
    for (const [i, entry] of pass.entries.entries()) {
      if (!entry.of.over) this.#take(entry, resultFor(entry.plan, result.results[i], fences.identity))
    }
    for (const { grants, of: job } of pass.entries) {
      job.busy--
      this.#pages.release(grants, 'step')
    }
    this.#pages.passed()
  }

  /** R5 when the plan is built: rows before the chunk stand and are its own, and its rows follow them. */
  #check(job: PrefillJob, rows: number): LedgerFault | null {
    const { pageSize } = this.#options.shape
    const until = job.computed + rows
    let fault = this.#pages.checkRead(job.table, job.computed)
    for (let page = Math.floor(job.computed / pageSize); fault === null && page * pageSize < until; page++) {
      const from = Math.max(job.computed - page * pageSize, 0)
      const end = Math.min(pageSize, until - page * pageSize)
      // Chunks begin behind the borrowed pages, which are full.
      fault = this.#pages.checkWrite(job.holding.grants[page - job.borrowed.length]!, from, end - from)
    }
    return fault
  }

  #take({ plan, of: job }: PassEntry<PrefillJob>, result: SequenceResult | null): void {
    if (result === null) {
      this.#host.fault(job, 'R10', 'row_misnamed', null)
      return
    }
    if (result.fault !== null) {
      const { kind, page } = result.fault
      this.#host.fault(job, 'R5', kind, page < 0 ? null : page)
      return
    }
    const standing = plan.start + plan.tokens.length
    for (let layer = 0; layer < this.#options.shape.layers; layer++) this.#host.advance(job, layer, standing)
    job.computed = standing
    if (!job.over && remainingRows(job) === 0) this.#host.complete(job)
  }
}
