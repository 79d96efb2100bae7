export type { ForwardFault, ForwardPlan, ForwardResult, SampledToken, SampleRequest, SamplingParams, SequencePlan, SequenceResult, TokenLogprob } from './plan.ts'
export type { ForwardOptions, ForwardPass, ModelShape, Sampler, TokenizerMetadata } from './types.ts'
