import type { EngineRequest } from '../../../cluster/index.ts'
import type { Checker } from './checker.ts'

/**
 * No row reaches a sequence's arithmetic unless it was written since its page was last claimed, and for the same request or, out
 * of the prefix cache, for one of the same tenant whose prompt is the same up to that row. Across tenants: only within what
 * the operator has made public.
 */
export const ownReads = (publicPrefixes: readonly Int32Array[]): Checker => {
  const requests = new Map<string, EngineRequest>()
  const numbers = new Map<number, string>()
  const mayShare = (reader: EngineRequest, writer: EngineRequest, position: number): boolean => {
    if (!alike(reader.ids, writer.ids, position)) return false
    return reader.tenant === writer.tenant || publicPrefixes.some((prefix) => alike(reader.ids, prefix, position))
  }
  return {
    name: 'own_reads',
    numbered: (writer, requestId) => {
      numbers.set(writer, requestId)
    },
    submitted: (request) => {
      requests.set(request.requestId, request)
    },
    read: (reader, writer, fresh, page, guarded, position) => {
      if (!fresh) return `a row of page ${page} was read before it was filled`
      if (!guarded) return `a row of page ${page} was read though its guard row is gone`
      if (writer === reader) return null
      const by = requests.get(numbers.get(reader) ?? '')
      const of = requests.get(numbers.get(writer) ?? '')
      if (by !== undefined && of !== undefined && mayShare(by, of, position)) return null
      return `row ${position} on page ${page}, written for ${of?.requestId ?? 'nobody'}, was read by ${by?.requestId ?? 'nobody'}`
    },
  }
}

/** Do both go as far as this position, with the same ids up to there? */
const alike = (a: Int32Array, b: Int32Array, position: number): boolean => {
  if (position >= a.length || position >= b.length) return false
  for (let i = 0; i <= position; i++) if (a[i] !== b[i]) return false
  return true
}
