import type { PlannedModel } from './plan-model.ts'

export interface Greeting {
  readonly url: string
  readonly pageKey: string
  /** A tenant key to paste; null where the keys are the operator's own and not ours to print. */
  readonly tenantKey: string | null
  readonly model: PlannedModel
}

/**
 * What `serve` prints when it is ready. The first line is the contract (scripts wait for it); the rest is for the person who
 * started it: the page, one request, one oversized request, each on a line of its own to paste.
 */
export function greeting({ url, pageKey, tenantKey, model }: Greeting): string {
  const key = tenantKey ?? 'YOUR_KEY'
  const id = model.wanted.id
  // an address that means all addresses is none to send to
  const reach = url.replace('//0.0.0.0:', '//127.0.0.1:').replace('//[::]:', '//[::1]:')
  const send = `curl -s ${reach}/v1/chat/completions -H 'authorization: Bearer ${key}' -H 'content-type: application/json'`
  const small = JSON.stringify({
    model: id,
    messages: [{ role: 'user', content: 'Tell me about the sea.' }],
    max_tokens: 48,
  })
  const words = model.limits.advertisedWindow + 1
  const oversized = `node -p 'JSON.stringify({model:"${id}",messages:[{role:"user",content:"sea ".repeat(${words})}]})'`
  return [
    `bulkhead ready ${url}`,
    `page: ${reach}/#key=${pageKey}`,
    '',
    'a request:',
    `${send} -d '${small}'`,
    '',
    'an oversized request, refused with 400 before a page is reserved:',
    `${oversized} | ${send} -d @-`,
    '',
  ].join('\n')
}
