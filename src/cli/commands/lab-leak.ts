import { nodeClock, nodeDigests, nodeRandom } from '../../host/node/index.ts'
import { isAsClaimed, renderLeak, type StageModel, showLeak } from '../../lab/index.ts'
import { inspectModel } from '../../model/index.ts'
import { builtInModel } from '../built-in.ts'
import { type Command, type CommandInput, noOperands } from '../command.ts'
import { createTextSide } from '../serve/prompt-model.ts'

const NARROW = 80
const WIDE = 120

export const labLeak: Command = {
  name: 'lab leak',
  summary: 'show the fault of 2026 on an unguarded engine, and its end on Bulkhead',
  options: {
    json: { type: 'boolean', help: 'the report as JSON' },
  },
  examples: ['bulkhead lab leak', 'bulkhead lab leak --json', 'npm run leak'],
  run: async (input) => {
    noOperands(labLeak, input)
    const model = await stageModel()
    const host = { clock: nodeClock, random: nodeRandom, sha256: nodeDigests.sha256 }
    input.err('bulkhead: five engines play the same request …\n')
    const report = await showLeak(model, host)
    input.out(input.flags.json === true ? `${JSON.stringify(report)}\n` : renderLeak(report, lookOf(input)))
    return isAsClaimed(report) ? 0 : 1
  },
}

async function stageModel(): Promise<StageModel> {
  const weights = builtInModel('recall')
  const inspection = await inspectModel(weights)
  if (inspection.kind !== 'ok') throw new Error(inspection.message)
  const side = createTextSide('recall', inspection, inspection.shape.contextLength, nodeClock.now)
  if (side.kind !== 'ok') throw new Error(side.message)
  return {
    file: { weights, digest: inspection.digest, shape: inspection.shape },
    kvBytesPerToken: inspection.kvBytesPerToken,
    prompt: side.text.prompt,
    tokenizer: side.text.tokenizer,
  }
}

/** https://no-color.org and FORCE_COLOR; without either, colour where a person reads. */
function lookOf(input: CommandInput): { readonly colour: boolean; readonly width: number } {
  const { NO_COLOR, FORCE_COLOR } = input.env
  const colour =
    FORCE_COLOR !== undefined ? FORCE_COLOR !== '0' : (NO_COLOR ?? '') === '' && process.stdout.isTTY === true
  return { colour, width: process.stdout.columns ?? (process.stdout.isTTY === true ? NARROW : WIDE) }
}
