import type { EngineRequest } from '../../../cluster/index.ts'
import { type SoloSequence, soloAnswer } from '../solo.ts'
import type { Checker } from './checker.ts'

interface Answer {
  readonly solo: readonly SoloSequence[]
  readonly given: number[]
  readonly finished: (string | null)[]
  readonly stopped: boolean[]
  aborted: boolean
}

/**
 * R15: every token delivered is the one that the request gets when it is alone, and an answer that is done is whole: all
 * tokens of all sequences, each with the finish reason it has alone. What the gateway itself stopped may be shorter.
 */
export const nonInterference = (layers: number): Checker => {
  const answers = new Map<string, Answer>()
  const expectation = (request: EngineRequest): Answer => {
    const { n } = request.contract
    const solo = soloAnswer(request, layers)
    return {
      solo,
      given: Array(n).fill(0),
      finished: Array(n).fill(null),
      stopped: Array(n).fill(false),
      aborted: false,
    }
  }
  return {
    name: 'non_interference',
    submitted: (request) => {
      answers.set(request.requestId, expectation(request))
    },
    stopped: (requestId, sequence) => {
      const answer = answers.get(requestId)
      if (answer === undefined) return
      if (sequence === null) answer.aborted = true
      else answer.stopped[sequence] = true
    },
    delivered: (requestId, event) => {
      const answer = answers.get(requestId)
      if (answer === undefined) return null
      if (event.kind === 'token') {
        const { sequence, sampled } = event
        const wanted = answer.solo[sequence]?.tokens[answer.given[sequence]!++]
        return sampled.token === wanted ? null : `${requestId} got token ${sampled.token} where it gets ${wanted} alone`
      }
      if (event.kind === 'sequence_finished') {
        const wanted = answer.solo[event.sequence]
        answer.finished[event.sequence] = event.reason
        const whole = wanted?.reason === event.reason && wanted.tokens.length === answer.given[event.sequence]
        return whole
          ? null
          : `${requestId} finished with ${event.reason}, ${answer.given[event.sequence]} tokens; alone it does not`
      }
      if (event.kind === 'done' && !answer.aborted) {
        const short = answer.solo.findIndex((_, i) => answer.finished[i] === null && !answer.stopped[i])
        if (short >= 0) return `${requestId} is done without the end of sequence ${short}`
      }
      return null
    },
  }
}
