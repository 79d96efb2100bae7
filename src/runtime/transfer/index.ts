export {
  connectLink,
  type Endpoint,
  type EndpointEvents,
  type EndpointOptions,
  listenForLink,
  removeStaleSocket,
} from './endpoint.ts'
export type { LinkHello, LinkParty } from './handshake.ts'
export { LinkProtocol, type LinkViolation } from './protocol.ts'
