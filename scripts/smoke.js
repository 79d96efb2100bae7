/**
 * What a newcomer does in the first minute, for real: `npm start`, the two requests it prints pasted into a shell, and
 * `npm run leak`. Called by the CI run as `node scripts/smoke.js start|leak`; exit 0 only if everything was seen.
 */
import { execFile, spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const START_LIMIT_MS = 120_000

const smokes = { start: smokeStart, leak: smokeLeak }
const smoke = smokes[process.argv[2] ?? '']
if (smoke === undefined) {
  console.error('usage: node scripts/smoke.js start|leak')
  process.exit(2)
}
try {
  await smoke()
  console.error(`bulkhead: smoke ${process.argv[2]} passed`)
} catch (error) {
  console.error(`bulkhead: smoke ${process.argv[2]} FAILED: ${error.message}`)
  process.exit(1)
}

async function smokeStart() {
  const state = mkdtempSync(join(tmpdir(), 'bulkhead-smoke-'))
  const server = spawn('npm', ['start', '--silent', '--', '--port', '0', '--state', state], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'inherit'],
    detached: true,
  })
  try {
    const printed = await untilOutput(server, (text) => (text.match(/^\s*.*curl /gm) ?? []).length >= 2)
    if (!/^bulkhead ready http:\/\/\S+$/m.test(printed)) throw new Error('no ready line')
    const [small, oversized] = printed.split('\n').filter((line) => line.includes('curl '))
    const answer = JSON.parse(await paste(small))
    if (typeof answer.choices?.[0]?.message?.content !== 'string')
      throw new Error(`no answer to the printed request: ${JSON.stringify(answer)}`)
    const refusal = JSON.parse(await paste(oversized))
    if (refusal.error?.code !== 'context_length_exceeded')
      throw new Error(`no refusal of the oversized request: ${JSON.stringify(refusal)}`)
  } finally {
    await stop(server)
    rmSync(state, { recursive: true, force: true })
  }
}

async function smokeLeak() {
  const { code, stdout } = await run('npm', ['run', '--silent', 'leak', '--', '--json'])
  if (code !== 0) throw new Error(`exit ${code}`)
  const report = JSON.parse(stdout)
  if (report.unguarded.harmed !== true) throw new Error('the unguarded engine did not leak')
  if (report.bulkhead.status !== 400 || report.bulkhead.bound !== 'prefill_pool')
    throw new Error('Bulkhead did not refuse')
  for (const single of report.single) if (single.harmed) throw new Error(`${single.rule} alone let it through`)
}

function untilOutput(child, enough) {
  return new Promise((resolve, reject) => {
    let text = ''
    const timer = setTimeout(
      () => reject(new Error(`not ready within ${START_LIMIT_MS / 1000} s; printed: ${text}`)),
      START_LIMIT_MS,
    )
    child.stdout.on('data', (data) => {
      text += data
      if (!enough(text)) return
      clearTimeout(timer)
      resolve(text)
    })
    child.on('exit', (code) => {
      clearTimeout(timer)
      reject(new Error(`ended with ${code}; printed: ${text}`))
    })
  })
}

async function paste(line) {
  const { stdout } = await run('bash', ['-c', line])
  return stdout
}

function run(program, args) {
  return new Promise((resolve) => {
    execFile(program, args, { cwd: root, maxBuffer: 64 << 20 }, (error, stdout, stderr) => {
      process.stderr.write(stderr)
      resolve({ code: error === null ? 0 : (error.code ?? 1), stdout })
    })
  })
}

/** npm, its shell and the server are one process group. */
function stop(child) {
  if (child.exitCode !== null) return Promise.resolve()
  return new Promise((resolve) => {
    const hard = setTimeout(() => process.kill(-child.pid, 'SIGKILL'), 15_000)
    child.on('close', () => {
      clearTimeout(hard)
      resolve()
    })
    process.kill(-child.pid, 'SIGTERM')
  })
}
