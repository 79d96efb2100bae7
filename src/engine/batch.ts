/** What the batch rule needs to know of a sequence that wants its next token. */
export interface Runnable {
  readonly tenant: string
  /** Number of the pass it was last part of; -1 if none. */
  readonly lastPass: number
  /** Order of arrival, unique. */
  readonly arrival: number
}

/**
 * Who takes part in the next decode pass. All, if they fit. Otherwise tenants take turns, one sequence each, those served
 * longest ago first; within a tenant the same rule picks the sequence. So nobody waits for ever, and a tenant with many
 * sequences gets no more than its share while others want theirs.
 */
export const pickBatch = <T extends Runnable>(runnable: readonly T[], maxBatch: number): readonly T[] => {
  if (runnable.length <= maxBatch) return runnable
  const byTenant = new Map<string, T[]>()
  for (const one of [...runnable].sort(servedLongestAgo)) {
    const line = byTenant.get(one.tenant)
    if (line === undefined) byTenant.set(one.tenant, [one])
    else line.push(one)
  }
  // Insertion order of the map is the tenants' order: the one whose head was served longest ago comes first.
  const picked: T[] = []
  for (let turn = 0; picked.length < maxBatch; turn++)
    for (const line of byTenant.values()) if (turn < line.length && picked.length < maxBatch) picked.push(line[turn]!)
  return picked
}

const servedLongestAgo = (a: Runnable, b: Runnable): number => a.lastPass - b.lastPass || a.arrival - b.arrival
