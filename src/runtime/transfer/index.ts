export type { LinkChannel } from './channel.ts'
export {
  type ConnectionViolation,
  connectLink,
  type Endpoint,
  type EndpointEvents,
  type EndpointOptions,
  type Listener,
  listenForLink,
  removeStaleSocket,
} from './endpoint.ts'
export type { LinkHello, LinkParty } from './handshake.ts'
export { LinkProtocol, type LinkViolation } from './protocol.ts'
