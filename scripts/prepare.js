/**
 * Brings a clone to the state a command needs: packages installed, sources compiled. Each part is skipped when a stamp
 * says that the same inputs were used last time, so that a second start costs a hash of the sources and nothing else.
 */
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const NEEDED_NODE = [20, 19]

/**
 * `run`: what serving and building need. `test`: the test tools as well.
 * @param {'run' | 'test'} mode
 */
export function prepare(mode) {
  requireNode()
  installPackages(mode)
  installCompiler()
  compile()
}

function requireNode() {
  const [major, minor] = process.versions.node.split('.').map(Number)
  if (major > NEEDED_NODE[0] || (major === NEEDED_NODE[0] && minor >= NEEDED_NODE[1])) return
  console.error(`bulkhead needs Node.js ${NEEDED_NODE.join('.')} or newer; this is ${process.versions.node}`)
  process.exit(2)
}

function installPackages(mode) {
  const stamp = join(root, 'node_modules', '.bulkhead-installed')
  const wanted = hash([join(root, 'package-lock.json')])
  const have = readStamp(stamp)
  if (have === `test ${wanted}` || (mode === 'run' && have === `run ${wanted}`)) return
  say(mode === 'run' ? 'installing packages' : 'installing packages and test tools')
  npm(root, ['ci', ...(mode === 'run' ? ['--omit=dev'] : [])])
  writeFileSync(stamp, `${mode} ${wanted}`)
}

function installCompiler() {
  const folder = join(root, 'tools', 'build')
  const stamp = join(folder, 'node_modules', '.bulkhead-installed')
  const wanted = hash([join(folder, 'package-lock.json')])
  if (readStamp(stamp) === wanted) return
  say('installing the compiler')
  npm(folder, ['ci'])
  writeFileSync(stamp, wanted)
}

function compile() {
  const stamp = join(root, 'dist', '.bulkhead-built')
  const wanted = hash([
    join(root, 'tsconfig.json'),
    join(root, 'tsconfig.build.json'),
    ...filesBelow(join(root, 'src')),
  ])
  if (readStamp(stamp) === wanted) return
  say('compiling')
  rmSync(join(root, 'dist'), { recursive: true, force: true })
  const compiler = join(root, 'tools', 'build', 'node_modules', 'typescript', 'bin', 'tsc')
  try {
    execFileSync(process.execPath, [compiler, '-p', join(root, 'tsconfig.build.json')], {
      cwd: root,
      stdio: ['ignore', 2, 2],
    })
  } catch {
    console.error('bulkhead: the sources do not compile; the lines above say where')
    process.exit(2)
  }
  for (const file of filesBelow(join(root, 'src'))) if (isAsset(file)) copyAsset(file)
  writeFileSync(stamp, wanted)
}

/** What the compiler leaves behind but the program reads: the kernels. */
function isAsset(file) {
  return file.endsWith('.wasm')
}

function copyAsset(file) {
  const target = file.replace(join(root, 'src'), join(root, 'dist'))
  mkdirSync(join(target, '..'), { recursive: true })
  cpSync(file, target)
}

function npm(folder, args) {
  try {
    // npm's own chatter goes to stderr: stdout belongs to the command's result
    execFileSync('npm', [...args, '--no-audit', '--no-fund', '--loglevel=error'], {
      cwd: folder,
      stdio: ['ignore', 2, 2],
    })
  } catch (error) {
    const command = `"npm ${args.join(' ')}" in ${folder}`
    if (error.code === 'ENOENT') console.error(`bulkhead: ${command} needs npm on the PATH; it comes with Node.js`)
    else
      console.error(
        `bulkhead: ${command} failed; the lines above say why. Nothing was started; run it again once mended`,
      )
    process.exit(2)
  }
}

function filesBelow(folder) {
  return readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile() && !entry.name.endsWith('.test.ts'))
    .map((entry) => join(entry.parentPath ?? entry.path, entry.name))
    .sort()
}

function hash(files) {
  const digest = createHash('sha256')
  for (const file of files) digest.update(file.slice(root.length)).update('\0').update(readFileSync(file)).update('\0')
  return digest.digest('hex')
}

function readStamp(file) {
  return existsSync(file) ? readFileSync(file, 'utf8') : null
}

function say(what) {
  console.error(`bulkhead: ${what} …`)
}
