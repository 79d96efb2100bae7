export { defaultHosts } from './hosts.ts'
export { type HttpServer, type ListenOptions, listen } from './server.ts'
export { DEFAULT_LIMITS, type HttpEvent, type HttpHandler, type HttpInfo, type HttpLimits } from './types.ts'
