import { availableParallelism } from 'node:os'
import { hasDied, judgesFor } from './judge.js'
import { mutants } from './mutants/index.js'
import { openTree } from './tree.js'

const USAGE = 'usage: npm run mutate [-- --list | --only ID]'
/** More would slow each other down: a judge keeps a core busy. */
const MOST_WORKERS = 2

/**
 * @param {readonly string[]} args
 * @returns {Promise<number>} 0: all died. 1: some live. 2: wrong call, or a judge objects to the sources as they are.
 */
export async function main(args) {
  const [option, id, ...rest] = args
  if (option === '--list' && id === undefined) {
    for (const mutant of mutants) console.log(mutant.id)
    return 0
  }
  const chosen = option === undefined ? mutants : mutants.filter((mutant) => mutant.id === id)
  if ((option !== undefined && option !== '--only') || rest.length > 0 || (option === '--only' && id === undefined)) {
    console.error(USAGE)
    return 2
  }
  if (chosen.length === 0) {
    console.error(`no mutant is called ${id}; npm run mutate -- --list names them`)
    return 2
  }
  process.once('SIGINT', () => process.exit(130))
  process.once('SIGTERM', () => process.exit(143))
  try {
    return report(await judgeAll(chosen))
  } catch (error) {
    console.error(`bulkhead: ${error.message}`)
    return 2
  }
}

/** @returns {Promise<{ mutant: import('./mutants/index.js').Mutant, by: string | null }[]>} in the order of `chosen` */
async function judgeAll(chosen) {
  const verdicts = new Array(chosen.length)
  let next = 0
  const work = async () => {
    const tree = openTree()
    try {
      while (next < chosen.length) {
        const at = next++
        const mutant = chosen[at]
        const began = performance.now()
        const by = await judge(tree, mutant)
        const seconds = ((performance.now() - began) / 1000).toFixed(1)
        console.log(by === null ? `SURVIVED ${mutant.id} (${seconds} s)` : `killed ${mutant.id} by ${by} (${seconds} s)`)
        verdicts[at] = { mutant, by }
      }
    } finally {
      tree.close()
    }
  }
  await Promise.all(Array.from({ length: Math.min(MOST_WORKERS, availableParallelism(), chosen.length) }, work))
  return verdicts
}

/** The first judge who objects to the mutant and not to the sources as they are; null if none does. */
async function judge(tree, mutant) {
  await tree.apply(mutant)
  try {
    for (const one of judgesFor(mutant)) {
      if (!(await hasDied(tree.folder, one))) continue
      await tree.restore()
      if (!(await hasDied(tree.folder, one, { remembered: true }))) return one.name
      console.error(`bulkhead: ${one.name} fails on the sources as they are, so its word does not count`)
      await tree.apply(mutant)
    }
    return null
  } finally {
    await tree.restore()
  }
}

function report(verdicts) {
  const survivors = verdicts.filter(({ by }) => by === null)
  for (const { mutant } of survivors)
    console.log(`survivor ${mutant.id} (${mutant.rule}) in ${mutant.file}: ${mutant.why}`)
  console.log(`mutants killed: ${verdicts.length - survivors.length} of ${verdicts.length}`)
  return survivors.length === 0 ? 0 : 1
}
