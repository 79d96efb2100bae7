/** A copy of the sources in a temporary folder, in which one mutant at a time lives. The sources themselves are never touched. */
import { execFileSync } from 'node:child_process'
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { transformWithOxc } from 'vite'

const root = fileURLToPath(new URL('../..', import.meta.url))
const COPIED = ['src', 'test', 'scripts', 'package.json', 'tsconfig.json', 'vitest.config.ts', 'formal', 'docs']
const LINKED = ['node_modules', 'models', 'tools']
const WASM = 'src/kernels/kernels.wasm'

/** Where a snippet stands; throws unless it stands there exactly once. */
export function mutated(text, { id, file, find, replace }) {
  const at = text.indexOf(find)
  if (at < 0) throw new Error(`${id}: its snippet is not in ${file}`)
  if (text.indexOf(find, at + 1) >= 0) throw new Error(`${id}: its snippet is in ${file} more than once`)
  if (find === replace) throw new Error(`${id}: changes nothing`)
  return text.slice(0, at) + replace + text.slice(at + find.length)
}

export function openTree() {
  const folder = mkdtempSync(join(tmpdir(), 'bulkhead-mutate-'))
  for (const name of COPIED) if (existsSync(join(root, name))) cpSync(join(root, name), join(folder, name), { recursive: true })
  for (const name of LINKED) if (existsSync(join(root, name))) symlinkSync(join(root, name), join(folder, name))
  const close = () => rmSync(folder, { recursive: true, force: true })
  process.once('exit', close)
  /** Files as they were, by name. */
  const saved = new Map()
  const put = (name, content) => {
    if (!saved.has(name)) saved.set(name, readFileSync(join(folder, name)))
    writeFileSync(join(folder, name), content)
  }
  return {
    folder,
    async apply(mutant) {
      const text = mutated(readFileSync(join(folder, mutant.file), 'utf8'), mutant)
      // What does not even parse would be killed by every test, and prove nothing.
      if (!isKernel(mutant)) await transformWithOxc(text, mutant.file)
      put(mutant.file, text)
      if (!isKernel(mutant)) return
      const wasm = join(folder, 'mutant.wasm')
      execFileSync(process.execPath, [join(folder, 'src/kernels/build.js'), wasm], { cwd: folder, stdio: 'pipe' })
      put(WASM, readFileSync(wasm))
    },
    async restore() {
      for (const [name, content] of saved) writeFileSync(join(folder, name), content)
      saved.clear()
    },
    close() {
      process.off('exit', close)
      close()
    },
  }
}

/** AssemblyScript: the wasm has to be made anew. */
export const isKernel = ({ file }) => file.startsWith('src/kernels/assembly/')
