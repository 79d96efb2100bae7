/** A process for both workers as it is, but that its decode's thread ends at SIGUSR2, as if it had failed. */
import { createRequire, syncBuiltinESMExports } from 'node:module'

const threads = createRequire(import.meta.url)('node:worker_threads')
threads.Worker = class extends threads.Worker {
  constructor(module, options) {
    super(module, options)
    if (options.workerData?.init?.role === 'decode') process.on('SIGUSR2', () => this.terminate())
  }
}
syncBuiltinESMExports()

await import('../../dist/runtime/shared-main.js')
