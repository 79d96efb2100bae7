import { fault, field } from './fields.ts'
import { isObject, type JsonObject } from './json.ts'

/**
 * Fields by which a client could steer an engine's memory, routing or identity: another prompt than the one counted, another
 * tenant's cache, another worker's pages. Refused whatever their value. Names are those that SGLang, vLLM, Dynamo, llm-d,
 * TensorRT-LLM and llama.cpp read from request bodies.
 */
const steering: ReadonlySet<string> = new Set([
  'rid',
  'request_id',
  'kv_transfer_params',
  'disagg_params',
  'disaggregated_params',
  'ec_transfer_params',
  'transfer_id',
  'cache_salt',
  'extra_key',
  'cache_key',
  'cache_prompt',
  'prompt_cache_salt',
  'input_ids',
  'input_embeds',
  'prompt_embeds',
  'prompt_token_ids',
  'token_ids',
  'truncate_prompt_tokens',
  'truncation_side',
  'id_slot',
  'slot_id',
  'priority',
  'lora_path',
  'lora_id',
  'lora',
  'lora_request',
  'adapter_id',
  'session_params',
  'session_id',
  'parent_session_id',
  'conversation_id',
  'data_parallel_rank',
  'routed_dp_rank',
  'disagg_prefill_dp_rank',
  'decode_tp_size',
  'routing_key',
  'custom_logit_processor',
  'logits_processors',
  'custom_params',
  'return_hidden_states',
  'return_routed_experts',
  'return_token_ids',
  'return_tokens_as_token_ids',
  'return_text_in_logprobs',
  'positional_embed_overrides',
  'mm_hashes',
  'mm_processor_kwargs',
  'multi_modal_data',
  'no_logs',
  'external_trace_header',
  'skip_radix_cache_insert',
  'nvext',
  'vllm_xargs',
  'sampling_params',
  'chat_template',
  'chat_template_kwargs',
  'n_keep',
  'n_cache_reuse',
  'prefix_routing',
  'worker_id',
  'target_worker',
])

const steeringPrefixes = [
  'bootstrap_',
  'kv_',
  'remote_',
  'disagg_',
  'do_remote_',
  'prefill_',
  'decode_',
  'lora_',
  'routed_',
]

/** Where clients put what their library has no argument for; some servers merge these into the body. */
const containers = ['extra_body', 'extra_args', 'extra_query', 'extra_headers', 'extensions'] as const

const isSteering = (name: string): boolean => {
  // An engine that normalises names must not be reachable by a spelling that we do not know.
  const plain = name.toLowerCase().replace(/-/g, '_')
  return steering.has(plain) || steeringPrefixes.some((prefix) => plain.startsWith(prefix))
}

/** Throws GatewayError `unsupported_parameter` naming the first steering field, at the top or inside a container. */
export const refuseSteering = (body: JsonObject): void => {
  for (const name of Object.keys(body)) {
    if (isSteering(name)) throw unsupported(name, 'it would steer the engine, which only the operator may do')
  }
  for (const container of containers) {
    const inner = field(body, container)
    if (!isObject(inner)) continue
    for (const name of Object.keys(inner)) {
      if (isSteering(name))
        throw unsupported(`${container}.${name}`, 'it would steer the engine, which only the operator may do')
    }
  }
}

type Neutral = (value: unknown) => boolean

const isZero: Neutral = (value) => value === 0
const isOne: Neutral = (value) => value === 1
const isFalse: Neutral = (value) => value === false
const isEmpty: Neutral = (value) =>
  value === '' || (Array.isArray(value) && value.length === 0) || (isObject(value) && Object.keys(value).length === 0)
const never: Neutral = () => false

/**
 * Fields that change an answer and that this server does not implement, each with the values that mean "as if absent". Ignoring
 * one would be a silent wrong answer, so anything else is refused.
 */
const unimplemented: Readonly<Record<string, Neutral>> = {
  presence_penalty: isZero,
  frequency_penalty: isZero,
  repetition_penalty: isOne,
  length_penalty: isOne,
  repeat_penalty: isOne,
  min_p: isZero,
  typical_p: isOne,
  min_tokens: isZero,
  logit_bias: isEmpty,
  tools: isEmpty,
  functions: isEmpty,
  tool_choice: (value) => value === 'none' || value === 'auto',
  function_call: (value) => value === 'none' || value === 'auto',
  response_format: (value) => isObject(value) && value.type === 'text',
  modalities: (value) => Array.isArray(value) && value.length === 1 && value[0] === 'text',
  audio: never,
  web_search_options: never,
  echo: isFalse,
  suffix: isEmpty,
  use_beam_search: isFalse,
  ignore_eos: isFalse,
  stop_token_ids: isEmpty,
  bad_words: isEmpty,
  allowed_token_ids: isEmpty,
  prompt_logprobs: never,
  guided_json: never,
  guided_regex: never,
  guided_choice: never,
  guided_grammar: never,
  structured_outputs: never,
  json_schema: never,
  grammar: isEmpty,
  regex: never,
  ebnf: never,
  structural_tag: never,
  continue_final_message: isFalse,
  add_generation_prompt: (value) => value === true,
  include_stop_str_in_output: isFalse,
  no_stop_trim: isFalse,
  mirostat: isZero,
}

/** Throws GatewayError `unsupported_parameter` for the first field that asks for something this server does not do. */
export const refuseUnimplemented = (body: JsonObject): void => {
  for (const [name, neutral] of Object.entries(unimplemented)) {
    const value = field(body, name)
    if (value !== null && !neutral(value)) throw unsupported(name, 'this server does not implement it')
  }
}

const unsupported = (param: string, why: string): Error => {
  const shown = param.slice(0, 100)
  return fault('unsupported_parameter', shown, `Unsupported parameter: '${shown}' is refused, since ${why}.`)
}
