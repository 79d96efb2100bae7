/**
 * Every decision of a simulation comes from here, so a seed replays a whole cluster. `label` names what is decided; it takes
 * no part in the draw.
 */
export interface Oracle {
  /** A whole number from 0 to n - 1. */
  choose(label: string, n: number): number
  /** True with this probability; nothing is asked where it is 0. */
  chance(label: string, probability: number): boolean
}

/** One decision: what was decided, out of how many, and what came out. A chance is one out of 2, and 1 if it came true. */
export type Choice = readonly [label: string, n: number, value: number]

/** sfc32, Chris Doty-Humphrey's small fast counting generator (PractRand), 128 bits of state, seeded by one number. */
export const seededOracle = (seed: number): Oracle => {
  let a = 0x9e3779b9
  let b = seed >>> 0
  let c = Math.floor(seed / 4_294_967_296) >>> 0
  let counter = 1
  const next = (): number => {
    const sum = (a + b + counter++) | 0
    a = b ^ (b >>> 9)
    b = (c + (c << 3)) | 0
    c = (((c << 21) | (c >>> 11)) + sum) | 0
    return sum >>> 0
  }
  for (let i = 0; i < 15; i++) next()
  return {
    choose: (_label, n) => next() % n,
    chance: (_label, probability) => probability > 0 && next() < probability * 4_294_967_296,
  }
}

/** Writes down what another oracle decides. */
export const recorded = (oracle: Oracle, choices: Choice[]): Oracle => ({
  choose: (label, n) => {
    const value = oracle.choose(label, n)
    choices.push([label, n, value])
    return value
  },
  chance: (label, probability) => {
    if (probability <= 0) return false
    const came = oracle.chance(label, probability)
    choices.push([label, 2, came ? 1 : 0])
    return came
  },
})

/** A replayed list was asked for something else than it holds: the code or the list is another one than it was made with. */
export class Divergence extends Error {
  override readonly name = 'Divergence'
}

/** Decides as the list says, one after the other; throws `Divergence` where it is asked for anything else. */
export const listedOracle = (choices: readonly Choice[]): Oracle => {
  let at = 0
  const next = (label: string, n: number): number => {
    const choice = choices[at]
    if (choice === undefined) throw new Divergence(`choice ${at}: asked for "${label}", the list is at its end`)
    if (choice[0] !== label || choice[1] !== n || !(choice[2] >= 0 && choice[2] < n))
      throw new Divergence(`choice ${at}: asked for "${label}" of ${n}, the list has "${choice[0]}" of ${choice[1]}`)
    at++
    return choice[2]
  }
  return { choose: next, chance: (label, probability) => probability > 0 && next(label, 2) === 1 }
}

/**
 * Decides by label: each label's choices in their order, and the least (0, no) where a label has none left. A list that was
 * changed a little still says something, which is what shrinking lives on.
 */
export const labelledOracle = (choices: readonly Choice[]): Oracle => {
  const values = new Map<string, number[]>()
  for (const [label, , value] of choices) {
    const known = values.get(label)
    if (known === undefined) values.set(label, [value])
    else known.push(value)
  }
  for (const queue of values.values()) queue.reverse()
  const next = (label: string, n: number): number => Math.min(values.get(label)?.pop() ?? 0, n - 1)
  return { choose: next, chance: (label, probability) => probability > 0 && next(label, 2) === 1 }
}
