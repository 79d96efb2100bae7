/**
 * ONNX Runtime's Linux build reports on its use unless told not to: it looks up a server of its maker, keeps a database
 * under the home directory with the process's name (and so the model's) in it, and opens a log of a guessable name in the
 * temporary directory. This is read before its library is. A thread's environment is a copy that libraries do not see, so
 * whoever starts a process whose threads compute says it for the process (`runtime/supervisor/carrier.ts`).
 */
process.env.ORT_DISABLE_TELEMETRY = '1'
