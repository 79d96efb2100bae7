/**
 * `npm test`: install, build, then everything that judges the sources: formatting and lint, types, the whole suite.
 * The last line is `N passed, N failed`, counted by the test runner; a failed lint or type check counts as one failure each.
 */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { prepare } from './prepare.js'

const root = fileURLToPath(new URL('..', import.meta.url))
prepare('test')

const checks = [
  ['lint', 'node_modules/@biomejs/biome/bin/biome', ['check', '--error-on-warnings']],
  ['types', 'tools/build/node_modules/typescript/bin/tsc', ['-p', 'tsconfig.json']],
]
let passed = 0
let failed = 0
for (const [name, program, args] of checks) {
  const ok = run(program, args) === 0
  console.error(`bulkhead: ${name} ${ok ? 'passed' : 'FAILED'}`)
  if (ok) passed += 1
  else failed += 1
}

const folder = mkdtempSync(join(tmpdir(), 'bulkhead-test-'))
const report = join(folder, 'report.json')
const status = run('node_modules/vitest/vitest.mjs', [
  'run',
  '--reporter=default',
  '--reporter=json',
  `--outputFile.json=${report}`,
  ...process.argv.slice(2),
])
const counts = readReport(report)
rmSync(folder, { recursive: true })
passed += counts.passed
failed += counts.failed
// a suite that could not even be collected has no failed test of its own
if (status !== 0 && counts.failed === 0) failed += 1
console.log(`${passed} passed, ${failed} failed`)
process.exit(failed === 0 ? 0 : 1)

function run(program, args) {
  return (
    spawnSync(process.execPath, [join(root, program), ...args], { cwd: root, stdio: ['ignore', 'inherit', 'inherit'] })
      .status ?? 1
  )
}

function readReport(file) {
  try {
    const { numPassedTests, numFailedTests } = JSON.parse(readFileSync(file, 'utf8'))
    return { passed: numPassedTests, failed: numFailedTests }
  } catch (error) {
    console.error(`bulkhead: the test runner left no report: ${error.message}`)
    return { passed: 0, failed: 1 }
  }
}
