/** Entry of a process for both workers of a model: takes its name first, so that an operator finds it from the first moment. */
process.title = `bulkhead prefill+decode ${process.argv[2] ?? ''}`
await import('./shared/process.ts')

export {}
