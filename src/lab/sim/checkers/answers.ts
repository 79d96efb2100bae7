import { soloAnswer } from '../solo.ts'
import { lettersOf } from '../text.ts'
import type { Checker } from './checker.ts'

interface Answer {
  /** What the client gets when the request is alone, per sequence. */
  solo: readonly { readonly text: string; readonly reason: 'stop' | 'length' }[]
  readonly stops: readonly string[]
  readonly given: string[]
  readonly finished: boolean[]
  ended: boolean
}

/**
 * R1, R12, R15 as the client sees them: text is what it is alone, up to the first stop string; a complete answer is whole;
 * every exchange ends once and says nothing afterwards; whatever was not submitted gets no text at all.
 */
export const clientAnswers = (layers: number): Checker => {
  const answers = new Map<string, Answer>()
  return {
    name: 'client_answers',
    asked: ({ requestId }, { n }, stops) => {
      answers.set(requestId, {
        solo: [],
        stops,
        given: Array(n).fill(''),
        finished: Array(n).fill(false),
        ended: false,
      })
    },
    submitted: (request) => {
      const answer = answers.get(request.requestId)!
      answer.solo = soloAnswer(request, layers).map(({ tokens, reason }) =>
        upToStop(lettersOf(tokens), reason, answer.stops),
      )
    },
    answered: (requestId, effect) => {
      const answer = answers.get(requestId)
      if (answer === undefined || answer.ended) return `${requestId} was answered ${effect.kind} after its end`
      if (effect.kind === 'text') {
        if (answer.finished[effect.sequence]) return `sequence ${effect.sequence} of ${requestId} goes on after its end`
        const text = (answer.given[effect.sequence] ?? '') + effect.text
        answer.given[effect.sequence] = text
        const wanted = answer.solo[effect.sequence]?.text
        return wanted?.startsWith(text) ? null : `${requestId} reads "${text}" where it reads "${wanted}" alone`
      }
      if (effect.kind === 'finish') {
        if (answer.finished[effect.sequence]) return `sequence ${effect.sequence} of ${requestId} is finished twice`
        answer.finished[effect.sequence] = true
        const wanted = answer.solo[effect.sequence]
        const whole =
          wanted !== undefined && answer.given[effect.sequence] === wanted.text && effect.reason === wanted.reason
        return whole
          ? null
          : `${requestId} is finished with ${effect.reason} at "${answer.given[effect.sequence]}"; alone it is not`
      }
      if (effect.kind !== 'end') return null
      answer.ended = true
      const short = effect.ending.kind === 'complete' && answer.finished.includes(false)
      return short ? `${requestId} is complete before all its sequences are` : null
    },
    reset: (requestId) => {
      const answer = answers.get(requestId)
      if (answer !== undefined) answer.ended = true
    },
    end: () => {
      const open = [...answers].find(([, answer]) => !answer.ended)
      return open === undefined ? null : `the exchange of ${open[0]} never ended`
    },
  }
}

/** Text before the first stop string to be complete, counting letter by letter as it is read. */
const upToStop = (text: string, reason: 'stop' | 'length', stops: readonly string[]): Answer['solo'][number] => {
  for (let length = 1; length <= text.length; length++) {
    const read = text.slice(0, length)
    const found = stops
      .map((stop) => (stop !== '' && read.endsWith(stop) ? length - stop.length : -1))
      .filter((at) => at >= 0)
    if (found.length > 0) return { text: text.slice(0, Math.min(...found)), reason: 'stop' }
  }
  return { text, reason }
}
