import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'

const executable = resolve(import.meta.dirname, '../../bin/bulkhead.js')

export interface Ended {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/** Runs the compiled executable to its end. */
export function bulkhead(
  words: readonly string[],
  options: { readonly cwd?: string; readonly env?: Record<string, string> } = {},
): Promise<Ended> {
  return collect(
    spawn(process.execPath, [executable, ...words], { cwd: options.cwd, env: { ...process.env, ...options.env } }),
  )
}

function collect(child: ChildProcess): Promise<Ended> {
  let stdout = ''
  let stderr = ''
  child.stdout?.on('data', (data: Buffer) => {
    stdout += data
  })
  child.stderr?.on('data', (data: Buffer) => {
    stderr += data
  })
  return new Promise((done) => child.on('close', (code) => done({ code, stdout, stderr })))
}

export interface Served {
  readonly url: string
  readonly printed: () => string
  /** SIGTERM, or this one; resolves with the exit code. */
  stop(signal?: NodeJS.Signals): Promise<number | null>
  readonly pid: number
}

/** `serve` on a free port with its state in `folder`; resolves when the ready line and the requests to paste are out. */
export async function startServe(
  folder: string,
  words: readonly string[] = [],
  env: Record<string, string> = {},
): Promise<Served> {
  const child = spawn(
    process.execPath,
    [executable, 'serve', '--port', '0', '--state', join(folder, 'state'), ...words],
    {
      cwd: folder,
      env: { ...process.env, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    },
  )
  let text = ''
  let problems = ''
  child.stderr.on('data', (data: Buffer) => {
    problems += data
  })
  const ended = new Promise<number | null>((done) => child.on('close', done))
  await new Promise<void>((ready, fail) => {
    child.stdout.on('data', (data: Buffer) => {
      text += data
      if (/oversized[\s\S]*curl/.test(text)) ready()
    })
    child.on('close', (code) => fail(new Error(`serve ended with ${code}: ${problems}`)))
  })
  const url = /^bulkhead ready (http:\/\/\S+)$/m.exec(text)?.[1]
  if (url === undefined) throw new Error(`no ready line in ${text}`)
  return {
    url,
    printed: () => text,
    pid: child.pid!,
    stop: (signal = 'SIGTERM') => {
      child.kill(signal)
      return ended
    },
  }
}

/** A folder that goes with the test. */
export function temporaryFolder(files: Record<string, string> = {}): { readonly path: string; remove(): void } {
  const path = mkdtempSync(join(tmpdir(), 'bulkhead-cli-'))
  for (const [name, text] of Object.entries(files)) writeFileSync(join(path, name), text)
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) }
}
