/** Entry of a worker process: takes its name before anything else is loaded, so that an operator finds it from the first moment. */
const [role = '', model = ''] = process.argv.slice(2)
process.title = `bulkhead ${role} ${model}`
await import('./worker/process.ts')

export {}
