import { toChoices } from './adapter.ts'
import type { Model } from './model.ts'
import { generateChat } from './openai-chat.ts'
import type { OpenAiChatClient, OpenAiOptions, OpenAiResponsesClient } from './openai-parameters.ts'
import { generateResponse } from './openai-responses.ts'

export type {
  OpenAiCallOptions,
  OpenAiChatClient,
  OpenAiChatRequest,
  OpenAiOptions,
  OpenAiResponsesClient,
  OpenAiResponsesRequest,
} from './openai-parameters.ts'

/**
 * Lets a host use a client object of the package `openai` for sampling.
 *
 * @example
 * import OpenAI from 'openai'
 *
 * const model = openai(new OpenAI(), { models: ['gpt-6-mini', 'gpt-6'], api: 'responses' })
 */
export function openai(client: OpenAiChatClient, options: OpenAiOptions & { api?: 'chat' | undefined }): Model
export function openai(client: OpenAiResponsesClient, options: OpenAiOptions & { api: 'responses' }): Model
export function openai(client: OpenAiChatClient | OpenAiResponsesClient, options: OpenAiOptions): Model {
  const choices = toChoices(options, 'openai')
  if (options.api === 'responses') {
    if (!('responses' in client)) throw new TypeError('openai() requires a client with "responses.create"')
    return { choices, generate: (request) => generateResponse(client, request, options) }
  }
  if (!('chat' in client)) throw new TypeError('openai() requires a client with "chat.completions.create"')
  return { choices, generate: (request) => generateChat(client, request, options) }
}
