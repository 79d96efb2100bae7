// R1, R10, R12 and R13 where a client is answered.
const exchange = 'src/gateway/exchange/exchange.ts'
const answer = 'src/gateway/output/answer.ts'
const frames = 'src/gateway/output/frame-stream.ts'
const failures = 'src/gateway/surfaces/failures.ts'
const errors = 'src/gateway/errors.ts'

/** @type {readonly import('./index.js').Mutant[]} */
export const gateway = [
  {
    id: 'R1-refused-lives-on',
    rule: 'R1',
    file: exchange,
    find: "        if (event.verdict.kind === 'refused') return end({ kind: 'refused', verdict: event.verdict })\n        state = 'judged'\n        contract = event.verdict.contract\n",
    replace:
      "        state = 'judged'\n        contract = event.verdict.kind === 'refused' ? { promptTokens: 1, maxOutput: 1, n: 1, prefillPages: 1, decodePages: 1 } : event.verdict.contract\n",
    why: 'the fault of 2026: a refused request goes on with a placeholder',
  },
  {
    id: 'R1-unjudged-submitted',
    rule: 'R1',
    file: exchange,
    find: "        return state === 'judged' && contract ? submit(contract) : []\n",
    replace: '        return contract ? submit(contract) : []\n',
    why: 'a request that has ended is handed to the engine',
  },
  {
    id: 'R12-any-length-will-do',
    rule: 'R12',
    file: 'src/gateway/exchange/ending-rule.ts',
    find: "reason !== 'length' || tokens === maxOutput",
    replace: "reason !== 'length' || tokens <= maxOutput",
    why: 'an answer that was cut short ends as a success',
  },
  {
    id: 'R12-short-is-complete',
    rule: 'R12',
    file: exchange,
    find: "        return sequences.some((sequence) => sequence.open()) ? broken() : end({ kind: 'complete', usage: usage() })\n",
    replace: "        return end({ kind: 'complete', usage: usage() })\n",
    why: 'an answer that lacks its end is called complete',
  },
  {
    id: 'R12-failure-is-complete',
    rule: 'R12',
    file: exchange,
    find: '        return fail(event.code, event.retryAfterSeconds)\n',
    replace: "        return end({ kind: 'complete', usage: usage() })\n",
    why: 'a failure reaches the client as a success',
  },
  {
    id: 'R12-words-after-the-end',
    rule: 'R12',
    file: exchange,
    find: "        return state === 'waiting' || state === 'streaming' ? onEngine(event.event) : []\n",
    replace: '        return onEngine(event.event)\n',
    why: 'something follows the ending',
  },
  {
    id: 'R12-abort-unsaid',
    rule: 'R12',
    file: exchange,
    find: "        return live ? [{ kind: 'abort' }, ...ended] : ended\n",
    replace: '        return live ? ended : ended\n',
    why: 'a client that is gone keeps its pages to the end of its contract',
  },
  {
    id: 'R12-goes-on-after-stop',
    rule: 'R12',
    file: exchange,
    find: '    if (!sequence.open()) return []\n    if (position',
    replace: '    if (position',
    why: 'text follows the end of its sequence',
  },
  {
    id: 'R10-token-position',
    rule: 'R10',
    file: exchange,
    find: 'if (position !== sequence.count() || position >= contract.maxOutput) return broken()',
    replace: 'if (position >= contract.maxOutput) return broken()',
    why: 'a missing or doubled token becomes text',
  },
  {
    id: 'R10-token-beyond-contract',
    rule: 'R10',
    file: exchange,
    find: 'if (position !== sequence.count() || position >= contract.maxOutput) return broken()',
    replace: 'if (position !== sequence.count()) return broken()',
    why: 'an engine that does not stop is listened to',
  },
  {
    id: 'R12-done-after-failure',
    rule: 'R12',
    file: answer,
    find: '      send(openaiError(error))\n      frames.reset()\n',
    replace: '      send(openaiError(error))\n      frames.write(sseDone)\n      frames.close()\n',
    why: 'a stream that failed ends as one that is complete',
  },
  {
    id: 'R12-silent-failure',
    rule: 'R12',
    file: answer,
    find: '      send(openaiError(error))\n      frames.reset()\n',
    replace: '      frames.close()\n',
    why: 'a stream that failed is silently short',
  },
  {
    id: 'R12-no-reset',
    rule: 'R12',
    file: frames,
    find: "    if (ending === 'reset') controller.error(new Error('stream_reset'))\n",
    replace: "    if (ending === 'reset') controller.close()\n",
    why: 'the host cannot tell a failed stream from one that ended',
  },
  {
    id: 'R12-error-before-text',
    rule: 'R12',
    file: answer,
    find: '      if (!begun) {\n        respond(errorResponse(error))\n        return\n      }\n',
    replace: '      if (!begun) this.begin()\n',
    why: 'a failure before the first token is a 200',
  },
  {
    id: 'R12-integrity-is-pressure',
    rule: 'R12',
    file: failures,
    find: "      return integrity('R5', 'its KV cache failed verification')\n",
    replace: "      return errorBody({ code: 'unavailable', message: 'The model is not available now.', retryAfterSeconds })\n",
    why: 'an integrity fault looks like a busy server',
  },
  {
    id: 'R12-legality-status',
    rule: 'R12',
    file: errors,
    find: '  context_length_exceeded: invalidRequest(400),\n',
    replace: '  context_length_exceeded: notNow,\n',
    why: 'what can never fit is told to try again',
  },
]
