/** A worker as it is, but that its main thread hangs from SIGUSR2 on. */
process.on('SIGUSR2', () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0))

await import('../../dist/runtime/worker-main.js')
