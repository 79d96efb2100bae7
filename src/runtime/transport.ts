/**
 * How a model's two workers are joined: as processes by a private Unix socket, as processes by TLS over TCP on the loopback
 * interface, or as threads of one process by a memory that both write to.
 */
export type EngineTransport = 'socket' | 'tcp' | 'shared'
