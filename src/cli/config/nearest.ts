/** The name closest to a misspelt one, or null if none is near: at most a third of it may differ. */
export function nearest(wrong: string, names: readonly string[]): string | null {
  let best: string | null = null
  let least = Math.max(2, Math.floor(wrong.length / 3)) + 1
  for (const name of names) {
    const edits = distance(wrong.toLowerCase(), name)
    if (edits < least) {
      best = name
      least = edits
    }
  }
  return best
}

/** Levenshtein's distance, on names cut to a length that no key exceeds. */
function distance(a: string, b: string): number {
  const from = a.slice(0, 64)
  let row = Array.from({ length: b.length + 1 }, (_, i) => i)
  for (let i = 1; i <= from.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++) {
      const replaced = row[j - 1]! + (from[i - 1] === b[j - 1] ? 0 : 1)
      next.push(Math.min(replaced, row[j]! + 1, next[j - 1]! + 1))
    }
    row = next
  }
  return row[b.length]!
}
