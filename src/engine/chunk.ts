/** A prompt on its way through prefill. */
export interface PrefillJob {
  /** Rows still to be computed, at least 1. */
  readonly remaining: number
  /** Order of arrival, unique. */
  readonly arrival: number
}

export interface Chunk<T extends PrefillJob> {
  readonly job: T
  readonly rows: number
}

/**
 * Shares the rows of one pass among prompts. The oldest prompt gets at least half, so it always moves; the rest goes to the
 * shortest first, so a short prompt is not stuck behind a long one; what is left over goes to the oldest again.
 */
export const planChunks = <T extends PrefillJob>(jobs: readonly T[], maxRows: number): readonly Chunk<T>[] => {
  const [oldest, ...others] = [...jobs].sort((a, b) => a.arrival - b.arrival)
  if (oldest === undefined) return []
  const share = others.length === 0 ? maxRows : Math.ceil(maxRows / 2)
  let oldestRows = Math.min(oldest.remaining, share)
  let left = maxRows - oldestRows
  const chunks: Chunk<T>[] = []
  for (const job of others.sort((a, b) => a.remaining - b.remaining || a.arrival - b.arrival)) {
    if (left === 0) break
    const rows = Math.min(job.remaining, left)
    chunks.push({ job, rows })
    left -= rows
  }
  oldestRows = Math.min(oldest.remaining, oldestRows + left)
  return [{ job: oldest, rows: oldestRows }, ...chunks]
}

export interface ChunkLimitOptions {
  readonly maxRows: number
  readonly layers: number
  /** Longest time one layer of a pass should take: the forward thread yields between layers and not within. */
  readonly layerBudgetSeconds: number
}

/** Fewest rows a limit sinks to: a page's worth, below which a pass is all overhead. */
const LEAST_ROWS = 16
/** Growth per pass; times vary, and too long a pass hurts more than too short a one. */
const GROWTH = 1.25

/**
 * The limit for the next pass, from how long one took. Sinks at once to what the budget allows, rises slowly, and only on
 * passes large enough to say something. Where chunks are cut changes no bit of any answer.
 */
export const adaptChunkLimit = (
  limit: number,
  pass: { readonly rows: number; readonly seconds: number },
  options: ChunkLimitOptions,
): number => {
  const layerSeconds = pass.seconds / options.layers
  if (!(layerSeconds > 0)) return limit
  if (pass.rows * 2 < limit && layerSeconds <= options.layerBudgetSeconds) return limit
  const affordable = Math.floor((pass.rows * options.layerBudgetSeconds) / layerSeconds)
  const next = affordable < limit ? affordable : Math.min(affordable, Math.ceil(limit * GROWTH))
  return Math.min(options.maxRows, Math.max(Math.min(LEAST_ROWS, options.maxRows), next))
}
