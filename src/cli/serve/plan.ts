import { existsSync, readFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { nodeClock } from '../../host/node/index.ts'
import { builtInModel } from '../built-in.ts'
import { BUILT_IN_MODELS, type Config, type ConfigProblem, loadConfig, type ModelConfig } from '../config/index.ts'
import { type PlannedModel, planModel } from './plan-model.ts'

/** What the command line may say about a start; each overrides the file. */
export interface ServeWishes {
  readonly configFile: string | null
  /** A built-in name or a GGUF file; null: what the configuration says. */
  readonly model: string | null
  readonly host: string | null
  readonly port: number | null
}

export interface ServePlan {
  readonly kind: 'ok'
  readonly config: Config
  /** Folder that paths in the configuration are relative to. */
  readonly base: string
  readonly models: readonly { readonly config: ModelConfig; readonly plan: PlannedModel }[]
}

export type ServePlanResult = ServePlan | { readonly kind: 'refused'; readonly problems: readonly string[] }

const DEFAULT_FILE = 'bulkhead.yaml'

/** Everything that can be judged before a process starts or a socket listens; each problem is one line. */
export async function planServe(
  wishes: ServeWishes,
  env: Readonly<Record<string, string | undefined>>,
): Promise<ServePlanResult> {
  const file = wishes.configFile ?? (existsSync(DEFAULT_FILE) ? DEFAULT_FILE : null)
  const text = file === null ? null : readText(file)
  if (text instanceof Error) return { kind: 'refused', problems: [`cannot read ${file}: ${text.message}`] }
  const loaded = loadConfig(text, env)
  if (loaded.kind === 'refused')
    return { kind: 'refused', problems: loaded.problems.map((problem) => problemLine(file, problem)) }
  if (wishes.model !== null && !isKnown(loaded.config, wishes.model) && !existsSync(wishes.model))
    return { kind: 'refused', problems: [nowhere(loaded.config, wishes.model)] }
  const base = file === null ? process.cwd() : dirname(resolve(file))
  const config = applyWishes(loaded.config, wishes)
  const models: { config: ModelConfig; plan: PlannedModel }[] = []
  const problems: string[] = []
  for (const model of config.models) {
    const plan = await planModel({ ...model, weights: weightsPath(model, base) }, nodeClock)
    if (plan.kind === 'ok') models.push({ config: model, plan })
    else problems.push(plan.message)
  }
  return problems.length > 0 ? { kind: 'refused', problems } : { kind: 'ok', config, base, models }
}

function readText(file: string): string | Error {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error))
  }
}

function problemLine(file: string | null, problem: ConfigProblem): string {
  return file === null ? problem.message : `${file}: ${problem.message}`
}

function applyWishes(config: Config, wishes: ServeWishes): Config {
  const listen = { host: wishes.host ?? config.listen.host, port: wishes.port ?? config.listen.port }
  return { ...config, listen, models: wishes.model === null ? config.models : [chosenModel(config, wishes.model)] }
}

function isKnown(config: Config, wanted: string): boolean {
  return config.models.some(({ id }) => id === wanted) || BUILT_IN_MODELS.some((name) => name === wanted)
}

function nowhere(config: Config, wanted: string): string {
  const names = new Set([...config.models.map(({ id }) => id), ...BUILT_IN_MODELS])
  return `--model: expected one of ${[...names].join(', ')}, or a GGUF file, got ${JSON.stringify(wanted)}, and there is no such file`
}

/** By id from the configuration, else by name from the package, else a file, with the defaults of a model without settings. */
function chosenModel(config: Config, wanted: string): ModelConfig {
  const configured = config.models.find((model) => model.id === wanted)
  if (configured !== undefined) return configured
  const defaults = defaultModel()
  if (BUILT_IN_MODELS.some((name) => name === wanted))
    return { ...defaults, id: wanted, weights: { kind: 'built-in', name: wanted } }
  const id = wanted.replace(/^.*[/\\]/, '').replace(/\.gguf$/i, '')
  return { ...defaults, id, weights: { kind: 'file', path: resolve(wanted) } }
}

function defaultModel(): ModelConfig {
  const loaded = loadConfig(null, {})
  if (loaded.kind !== 'ok') throw new Error('the defaults of the configuration do not load')
  return loaded.config.models[0]!
}

function weightsPath(model: ModelConfig, base: string): string {
  return model.weights.kind === 'built-in' ? builtInModel(model.weights.name) : resolve(base, model.weights.path)
}
