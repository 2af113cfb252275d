import { ErrorCode, ProtocolError } from '../../errors.ts'
import type { CreateMessageParams } from '../../protocol/sampling.ts'
import type { ModelSelection } from './adapter.ts'

/** The part of a client object of the package `openai` that the adapter uses for chat completions. */
export interface OpenAiChatClient {
  chat: { completions: { create(body: OpenAiChatRequest, options?: OpenAiCallOptions): PromiseLike<unknown> } }
}

/** The part of a client object of the package `openai` that the adapter uses for responses. */
export interface OpenAiResponsesClient {
  responses: { create(body: OpenAiResponsesRequest, options?: OpenAiCallOptions): PromiseLike<unknown> }
}

/** Parameters that both APIs have. Loosely typed, so that the clients of every version fit. */
export interface OpenAiParameters {
  temperature?: unknown
  metadata?: unknown
  store?: unknown
  tools?: unknown
  tool_choice?: unknown
}

/** What the adapter sends to `client.chat.completions.create`. */
export interface OpenAiChatRequest extends OpenAiParameters {
  model: string
  messages: readonly unknown[]
  max_completion_tokens?: unknown
  max_tokens?: unknown
  stop?: unknown
}

/** What the adapter sends to `client.responses.create`. */
export interface OpenAiResponsesRequest extends OpenAiParameters {
  model?: string
  input?: unknown
  instructions?: unknown
  max_output_tokens?: unknown
}

export interface OpenAiCallOptions {
  signal?: AbortSignal | null | undefined
}

/** Options of `openai`. */
export interface OpenAiOptions extends ModelSelection {
  /** Which API to use. Default `chat`, which services that are compatible with OpenAI have too. */
  api?: 'chat' | 'responses' | undefined
  /**
   * Passes the temperature that a server asks for. Default true. Set it to false for models that reject it, such as those that
   * reason; servers must expect that it is ignored.
   */
  temperature?: boolean | undefined
  /** Lets OpenAI store requests and messages, with the metadata that servers send. Default false. */
  store?: boolean | undefined
  /** The parameter for the maximum number of tokens of chat completions. Older services know `max_tokens` only. */
  maxTokensParameter?: 'max_completion_tokens' | 'max_tokens' | undefined
}

const maxStopSequences = 100

/** The parameters that both APIs have under the same name, and what has to be left out. */
export function commonParameters(
  params: CreateMessageParams,
  options: OpenAiOptions,
): { parameters: OpenAiParameters; omitted: string[] } {
  const { temperature, metadata = {}, stopSequences = [] } = params
  // The adapter searches the text for those that the API does not take.
  if (stopSequences.length > maxStopSequences) {
    throw new ProtocolError(ErrorCode.InvalidParams, `params.stopSequences has more than ${maxStopSequences} entries`)
  }
  const { temperature: passesTemperature = true, store = false } = options
  const parameters: OpenAiParameters = {}
  const omitted: string[] = []
  if (temperature !== undefined) {
    if (passesTemperature) parameters.temperature = temperature
    else omitted.push('temperature')
  }
  // Metadata belongs to stored messages. Limits: `Metadata` in the package `openai`.
  const isTaken = ([key, value]: [string, unknown]) =>
    store && key.length <= 64 && typeof value === 'string' && value.length <= 512
  const taken = Object.entries(metadata).filter(isTaken).slice(0, 16)
  if (taken.length > 0) parameters.metadata = Object.fromEntries(taken)
  const names = new Set(taken.map(([key]) => key))
  for (const key of Object.keys(metadata)) if (!names.has(key)) omitted.push(`metadata.${key.slice(0, 100)}`)
  return { parameters, omitted }
}
