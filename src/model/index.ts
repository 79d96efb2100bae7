export type { ModelRefusal, ModelRefusalCode } from './errors.ts'
export { inspectModel } from './inspect.ts'
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
export { kvBytesPerToken, poolShape } from './pool-shape.ts'
export type {
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
