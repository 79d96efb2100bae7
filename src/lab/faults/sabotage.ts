import type { EnginePort, RouterToDecode, RouterToPrefill } from '../../cluster/index.ts'
import type { ForwardPlan, ForwardResult } from '../../model/index.ts'
import type { EngineSeams } from '../../runtime/index.ts'
import type { Role } from '../../telemetry/index.ts'
import type { Tenant } from './cast.ts'
import type { Rule } from './rules.ts'

/** What is wrong with an engine: parts put in at its seams. Everything that is not named is the product's own. */
export interface Sabotage
  extends Pick<EngineSeams, 'kernels' | 'neighbour' | 'prefill' | 'decode' | 'channel' | 'freeList'> {
  readonly toPrefill?: (message: RouterToPrefill) => RouterToPrefill
  readonly toDecode?: (message: RouterToDecode) => RouterToDecode
  readonly plan?: (role: Role, plan: ForwardPlan) => ForwardPlan
  /** Awaited before a pass begins. */
  readonly beforePass?: (role: Role, plan: ForwardPlan) => Promise<void>
  readonly result?: (role: Role, result: ForwardResult) => ForwardResult
  readonly engine?: (engine: EnginePort) => EnginePort
}

/** What a sabotage may ask about the engine that it is part of. */
export interface Wire {
  /** Whose request this is; undefined for one that was never submitted. */
  tenantOf(requestId: string): Tenant | undefined
  /** A check was seen to fire that reports nothing, since what it stopped was nobody's. */
  fired(rule: Rule): void
}
