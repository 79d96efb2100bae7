import { createPromptModel, type PromptModel } from '../../gateway/index.ts'
import type { Clock } from '../../host/index.ts'
import type { ModelInspection } from '../../model/index.ts'
import { type ChatTemplate, createTokenizer, TextError, type TextTokenizer, trialTemplate } from '../../text/index.ts'

export interface TextSide {
  readonly tokenizer: TextTokenizer
  readonly prompt: PromptModel
}

export type TextSideResult =
  | { readonly kind: 'ok'; readonly text: TextSide }
  | { readonly kind: 'refused'; readonly message: string }

/**
 * Tokenizer and chat template of an inspected file. The template is tried on canned prompts here, before anything listens.
 * A file without a template is served for `/v1/completions`; a chat request is then told so.
 */
export function createTextSide(
  id: string,
  inspection: ModelInspection,
  encodeLimit: number,
  clock: Clock,
): TextSideResult {
  try {
    const tokenizer = createTokenizer(inspection.tokenizer)
    const template = chatTemplate(inspection, tokenizer, clock)
    if (template.kind === 'refused') return template
    const prompt = createPromptModel(id, tokenizer, template.template, encodeLimit)
    return { kind: 'ok', text: { tokenizer, prompt } }
  } catch (error) {
    if (error instanceof TextError) return { kind: 'refused', message: error.message }
    throw error
  }
}

function chatTemplate(
  inspection: ModelInspection,
  tokenizer: TextTokenizer,
  clock: Clock,
):
  | { readonly kind: 'ok'; readonly template: ChatTemplate | null }
  | { readonly kind: 'refused'; readonly message: string } {
  const source = inspection.tokenizer.chatTemplate
  if (source === null) return { kind: 'ok', template: null }
  const { bosToken, eosToken } = tokenizer
  const trial = trialTemplate(source, { bosToken, eosToken, now: clock.now, wall: clock.wall })
  return trial.kind === 'ok' ? trial : { kind: 'refused', message: trial.message }
}
