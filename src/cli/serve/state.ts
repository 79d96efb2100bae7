import { join } from 'node:path'
import type { PrivateFiles, Random } from '../../host/index.ts'

/** What a server without a configuration keeps between starts: its secret and the keys of two demo tenants. */
export interface ServerState {
  readonly secret: Uint8Array
  readonly demoTenants: readonly { readonly id: string; readonly key: string }[]
}

const SECRET_BYTES = 32
const DEMO_TENANTS = ['demo-a', 'demo-b']

/** Reads the state directory (0700, files 0600), making on first use what is missing. Throws HostError where others may read it. */
export function openState(directory: string, files: PrivateFiles, random: Random): ServerState {
  files.makeDirectory(directory)
  return {
    secret: openSecret(join(directory, 'secret'), files, random),
    demoTenants: openDemoTenants(join(directory, 'tenants.json'), files, random),
  }
}

function openSecret(path: string, files: PrivateFiles, random: Random): Uint8Array {
  const kept = files.read(path)
  if (kept !== null && kept.length === SECRET_BYTES) return kept
  const fresh = random.bytes(SECRET_BYTES)
  files.write(path, fresh)
  return fresh
}

function openDemoTenants(path: string, files: PrivateFiles, random: Random): ServerState['demoTenants'] {
  const kept = files.read(path)
  if (kept !== null) {
    const parsed: unknown = parse(kept)
    if (isTenants(parsed)) return parsed
  }
  const fresh = DEMO_TENANTS.map((id) => ({ id, key: makeKey('bh', random) }))
  files.write(path, new TextEncoder().encode(`${JSON.stringify(fresh, null, 2)}\n`))
  return fresh
}

/** Demo tenants beside the operator's own. A name the operator has given is the operator's: a demo key must not open it too. */
export function demoTenants(state: ServerState, own: readonly { readonly id: string }[]): ServerState['demoTenants'] {
  return state.demoTenants.filter(({ id }) => !own.some((tenant) => tenant.id === id))
}

/** 192 random bits in base64url behind a prefix that secret scanners can look for. */
export function makeKey(prefix: string, random: Random): string {
  return `${prefix}-${Buffer.from(random.bytes(24)).toString('base64url')}`
}

function parse(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder().decode(bytes))
  } catch {
    // a damaged file is replaced: demo keys guard nothing but this machine's demo
    return null
  }
}

function isTenants(value: unknown): value is ServerState['demoTenants'] {
  return (
    Array.isArray(value) &&
    value.length > 0 &&
    value.every(
      (entry) =>
        typeof entry === 'object' && entry !== null && typeof entry.id === 'string' && typeof entry.key === 'string',
    )
  )
}
