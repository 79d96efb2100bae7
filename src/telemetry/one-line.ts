/** Longer than any message of ours; a name out of a file may have 64 KB. */
const LONGEST = 1_000

/** Words out of a file as they may be shown to a person: on one line, without what would steer a terminal, and cut. */
export function oneLine(text: string): string {
  const shown = text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text
  return shown.replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ')
}
