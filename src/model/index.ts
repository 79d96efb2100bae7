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
  TokenizerMetadata,
} from './types.ts'
