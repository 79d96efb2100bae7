import { networkInterfaces } from 'node:os'

/**
 * The Host names a server answers for when none are configured: what it listens on, and for a loopback or wildcard address
 * its usual names. A foreign domain rebound to this address is not among them.
 */
export const defaultHosts = (listenHost: string): string[] => {
  const names = new Set([bracketed(listenHost.toLowerCase())])
  const wildcard = listenHost === '0.0.0.0' || listenHost === '::' || listenHost === ''
  const loopback = listenHost.startsWith('127.') || listenHost === '::1' || listenHost === 'localhost'
  if (wildcard || loopback) for (const name of ['localhost', '127.0.0.1', '[::1]']) names.add(name)
  if (wildcard) {
    for (const list of Object.values(networkInterfaces()))
      for (const { address } of list ?? []) names.add(bracketed(address))
  }
  names.delete('')
  return [...names]
}

const bracketed = (name: string): string => (name.includes(':') && !name.startsWith('[') ? `[${name}]` : name)
