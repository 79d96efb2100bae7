import { existsSync } from 'node:fs'
import { HostError } from '../../host/index.ts'
import { RuntimeError } from '../../runtime/index.ts'
import { renderHumanLine, renderJsonLine } from '../../telemetry/index.ts'
import { type Command, type CommandInput, type ExitCode, noOperands, UsageError, wholeFlag } from '../command.ts'
import { configJsonSchema } from '../config/index.ts'
import { greeting } from '../serve/greeting.ts'
import { planServe, type ServePlan } from '../serve/plan.ts'
import { effectiveWindowOf } from '../serve/plan-model.ts'
import { defaultStateDirectory, type RunningServer, type ServeLog, startServer } from '../serve/start.ts'
import { untilSignal } from '../signals.ts'

const GRACE_MS = 5_000

export const serve: Command = {
  name: 'serve',
  summary: 'serve models to several tenants on Bulkhead\u2019s own engine',
  options: {
    config: { type: 'string', value: 'FILE', help: 'configuration; default ./bulkhead.yaml if there is one' },
    model: {
      type: 'string',
      value: 'NAME|FILE',
      help: 'serve this model alone: a built-in (tiny, recall), one of the configuration, or a GGUF file',
    },
    host: { type: 'string', value: 'HOST', help: 'address to listen on; default 127.0.0.1' },
    port: { type: 'string', value: 'PORT', help: 'port to listen on; default 8790, 0 takes a free one' },
    state: { type: 'string', value: 'DIR', help: 'where the secret and demo keys are kept; default ./.bulkhead' },
    check: { type: 'boolean', help: 'judge configuration and models, print what would be served, and exit' },
    schema: { type: 'boolean', help: 'print the JSON Schema of the configuration and exit' },
    json: { type: 'boolean', help: 'results and log lines as JSON' },
    verbose: { type: 'boolean', help: 'log every event, not only warnings' },
  },
  examples: [
    'bulkhead serve',
    'bulkhead serve --port 0 --model ./models/tiny.gguf',
    'bulkhead serve --config ./bulkhead.yaml --check',
    'BULKHEAD_KEYS="a=KEY1,b=KEY2" bulkhead serve',
  ],
  run: async (input) => {
    noOperands(serve, input)
    if (input.flags.schema === true) {
      input.out(`${JSON.stringify(configJsonSchema(), null, 2)}\n`)
      return 0
    }
    const configFile = textFlag(input, 'config')
    if (configFile !== null && !existsSync(configFile)) throw new UsageError(`--config: there is no file ${configFile}`)
    const port = input.flags.port === undefined ? null : wholeFlag(input, 'port', { min: 0, max: 65_535, absent: 0 })
    const plan = await planServe(
      { configFile, model: textFlag(input, 'model'), host: textFlag(input, 'host'), port },
      input.env,
    )
    if (plan.kind === 'refused') return refuse(input, plan.problems)
    if (input.flags.check === true) return report(input, plan)
    return run(input, plan)
  },
}

function textFlag(input: CommandInput, name: string): string | null {
  const value = input.flags[name]
  if (typeof value !== 'string') return null
  if (value === '') throw new UsageError(`--${name}: expected a value, received nothing`)
  return value
}

function refuse(input: CommandInput, problems: readonly string[]): ExitCode {
  if (input.flags.json === true) input.out(`${JSON.stringify({ ok: false, problems })}\n`)
  for (const problem of problems) input.err(`bulkhead: ${problem}\n`)
  return 1
}

function report(input: CommandInput, plan: ServePlan): ExitCode {
  const models = plan.models.map(({ config, plan: model }) => ({
    id: model.wanted.id,
    file: model.wanted.weights,
    advertised_context_window: model.limits.advertisedWindow,
    max_model_len: effectiveWindowOf(model),
    prefill_pool: model.limits.prefillPool,
    decode_pool: model.limits.decodePool,
    transport: config.transport,
    notes: model.notes,
  }))
  if (input.flags.json === true) input.out(`${JSON.stringify({ ok: true, listen: plan.config.listen, models })}\n`)
  else {
    for (const model of models) {
      input.out(
        `${model.id}: window ${model.max_model_len} of ${model.advertised_context_window}, pools ${model.prefill_pool} and ${model.decode_pool} tokens over ${model.transport}\n`,
      )
      for (const note of model.notes) input.out(`  ${note}\n`)
    }
  }
  return 0
}

async function run(input: CommandInput, plan: ServePlan): Promise<ExitCode> {
  const json = input.flags.json === true
  for (const { plan: model } of plan.models)
    for (const note of model.notes) input.err(`bulkhead: ${model.wanted.id}: ${note}\n`)
  input.err(`bulkhead: loading ${plan.models.map(({ config }) => config.id).join(' and ')} …\n`)
  const log: ServeLog = {
    wanted: (level) => input.flags.verbose === true || level === 'warn' || level === 'error',
    log: (record) => input.err(`${json ? renderJsonLine(record) : renderHumanLine(record)}\n`),
  }
  let server: RunningServer
  try {
    server = await startServer(plan, textFlag(input, 'state') ?? defaultStateDirectory(), log)
  } catch (error) {
    return refuse(input, [startProblem(error, plan)])
  }
  const signalled = untilSignal()
  const model = plan.models[0]!.plan
  const { url, pageKey, tenantKey } = server
  input.out(
    json
      ? `${JSON.stringify({ ready: true, url, page: `${url}/#key=${pageKey}` })}\n`
      : greeting({ url, pageKey, tenantKey, model }),
  )
  await signalled
  input.err('bulkhead: stopping; running requests have 5 seconds\n')
  await server.stop(GRACE_MS)
  return 0
}

function startProblem(error: unknown, plan: ServePlan): string {
  const { code, syscall } = error as NodeJS.ErrnoException
  const { host, port } = plan.config.listen
  if (code === 'EADDRINUSE')
    return `${host}:${port} is taken by another process; stop it or choose another with --port (0 takes a free one)`
  if (syscall === 'listen' || syscall === 'getaddrinfo')
    return `cannot listen on ${host}:${port} (${code}); choose another with --host and --port`
  if (error instanceof HostError && error.code === 'io') return `${error.message}; choose another place with --state`
  if (error instanceof RuntimeError && typeof error.details.model === 'string')
    return `model ${error.details.model}: ${error.message}`
  return error instanceof Error ? error.message : String(error)
}
