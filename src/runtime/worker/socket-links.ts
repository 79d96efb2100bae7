import { dirname } from 'node:path'
import {
  connectLink,
  type EndpointEvents,
  type EndpointOptions,
  listenForLink,
  removeStaleSocket,
} from '../transfer/index.ts'
import type { Links } from './links.ts'
import { privateDirectory } from './private-directory.ts'

const nothing = (): void => undefined

/**
 * The link between two processes. `decodePort`: where decode listens now, over TCP; `listening` is told where this one does.
 */
export const socketLinks = (
  endpoint: EndpointOptions,
  decodePort: () => number | null,
  listening: (port: number) => void,
): Links => ({
  prefill: (events) => {
    const own: EndpointEvents = {
      ...events,
      up: () => events.up(link.link()!),
      page: nothing,
      manifest: nothing,
    }
    const link = connectLink(endpoint, own, decodePort)
  },
  decode: async (events) => {
    if (endpoint.channel.kind === 'socket') {
      // Whatever tidies the temporary directory may have taken it along in a long life.
      privateDirectory(dirname(endpoint.channel.path))
      removeStaleSocket(endpoint.channel.path)
    }
    const own: EndpointEvents = { ...events, up: () => events.up(link.link()!), drained: nothing, leaseClosed: nothing }
    const link = await listenForLink(endpoint, own)
    if (link.port !== null) listening(link.port)
    return link
  },
})
