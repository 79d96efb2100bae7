export type { DecodeFigure, EngineBench, EngineBenchOptions, PrefillFigure } from './bench.ts'
export { benchEngine } from './bench.ts'
export type { CheckOptions, ModelReport } from './check.ts'
export { checkModel } from './check.ts'
export type { ModelRefusal, ModelRefusalCode } from './errors.ts'
export { inspectModel } from './inspect.ts'
export { loadModel } from './load.ts'
export type {
  ForwardFault,
  ForwardPlan,
  ForwardResult,
  SampledToken,
  SampleRequest,
  SamplingParams,
  SequencePlan,
  SequenceResult,
  TokenLogprob,
} from './plan.ts'
export { poolShape } from './pool-shape.ts'
export { HALF_BILLION, SMALL, type SyntheticOptions, type SyntheticShape, writeSyntheticModel } from './synthetic.ts'
export type {
  DrillResult,
  ForwardOptions,
  ForwardPass,
  InspectResult,
  LoadedModel,
  LoadOptions,
  LoadResult,
  ModelInspection,
  ModelShape,
  Sampler,
} from './types.ts'
