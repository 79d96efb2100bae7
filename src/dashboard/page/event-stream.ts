/** Splits server-sent events into the data of each, however the bytes were cut. */
export const createEventParser = (onData: (data: string) => void): ((chunk: string) => void) => {
  let rest = ''
  return (chunk) => {
    const parts = (rest + chunk).split('\n\n')
    rest = parts.pop() ?? ''
    for (const part of parts) {
      const lines = part.split('\n').filter((line) => line.startsWith('data:'))
      if (lines.length > 0) onData(lines.map((line) => line.slice(5).replace(/^ /, '')).join('\n'))
    }
  }
}

export type FeedEnd = 'wrong_key' | 'lost'

/** Reads the feed until it ends or the signal cuts it off. The key travels in a header: an EventSource could only put it into the address. */
export const readFeed = async (key: string, onData: (data: string) => void, signal: AbortSignal): Promise<FeedEnd> => {
  try {
    const response = await fetch('/admin/feed', {
      headers: { authorization: `Bearer ${key}` },
      cache: 'no-store',
      signal,
    })
    if (response.status === 401) return 'wrong_key'
    if (!response.ok || response.body === null) return 'lost'
    const parse = createEventParser(onData)
    const decoder = new TextDecoder()
    const reader = response.body.getReader()
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return 'lost'
      parse(decoder.decode(value, { stream: true }))
    }
  } catch {
    // A network that fails tells a page nothing but that; the page says so and tries again.
    return 'lost'
  }
}
