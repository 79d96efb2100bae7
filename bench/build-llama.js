/**
 * Builds llama.cpp's own `llama-batched-bench` (and `llama-bench`) from the source bundle inside `node-llama-cpp`, so that
 * the peer is measured as its authors ship it and nothing is fetched. Needs git, cmake and a C++ compiler.
 *
 *     node bench/build-llama.js [--jobs 2]
 */
import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'

const here = fileURLToPath(new URL('.', import.meta.url))
const TARGETS = ['llama-batched-bench', 'llama-bench']

/** Where the built programs stand. */
export const llamaBin = join(here, 'build', 'llama.cpp', 'build', 'bin')

export function buildLlama(jobs = availableParallelism()) {
  if (TARGETS.every((target) => existsSync(join(llamaBin, target)))) return
  const bundle = join(here, 'node_modules', 'node-llama-cpp', 'llama', 'gitRelease.bundle')
  if (!existsSync(bundle)) throw new Error('node-llama-cpp is missing: run `npm ci` in bench/ first')
  const source = join(here, 'build', 'llama.cpp')
  if (!existsSync(source)) run('git', ['clone', '--quiet', bundle, source])
  const options = [
    '-DCMAKE_BUILD_TYPE=Release',
    '-DGGML_NATIVE=ON',
    '-DLLAMA_CURL=OFF',
    '-DLLAMA_BUILD_TESTS=OFF',
    '-DLLAMA_BUILD_SERVER=OFF',
    '-DBUILD_SHARED_LIBS=OFF',
  ]
  run('cmake', ['-S', source, '-B', join(source, 'build'), ...options])
  run('cmake', ['--build', join(source, 'build'), '--target', ...TARGETS, '--parallel', String(jobs)])
}

function run(command, args) {
  console.error(`$ ${command} ${args.join(' ')}`)
  execFileSync(command, args, { stdio: ['ignore', 'inherit', 'inherit'] })
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { values } = parseArgs({ options: { jobs: { type: 'string' } } })
  buildLlama(values.jobs === undefined ? undefined : Number(values.jobs))
  console.log(llamaBin)
}
