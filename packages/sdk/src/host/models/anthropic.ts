import type {
  CreateMessageParams,
  SamplingContent,
  SamplingMessage,
  ToolResultContent,
} from '../../protocol/sampling.ts'
import { isObject, type JsonObject } from '../../util/objects.ts'
import {
  blocksOf,
  callApi,
  countOf,
  invalidAnswer,
  listOf,
  type ModelSelection,
  toAnswer,
  toChoices,
  toToolUse,
  toUsage,
  unsupported,
} from './adapter.ts'
import type { Model, ModelAnswer, ModelRequest } from './model.ts'
import { toolResultFor } from './tool-result.ts'
import { type ToolSet, toolsFor } from './tools-for.ts'

/** The part of a client object of the package `@anthropic-ai/sdk` that the adapter uses. */
export interface AnthropicClient {
  messages: {
    create(body: AnthropicRequest, options?: { signal?: AbortSignal | null | undefined }): PromiseLike<unknown>
  }
}

/** What the adapter sends to `client.messages.create`. Loosely typed, so that the clients of every version fit. */
export interface AnthropicRequest {
  model: string
  max_tokens: number
  messages: readonly unknown[]
  system?: unknown
  temperature?: unknown
  stop_sequences?: unknown
  metadata?: unknown
  tools?: unknown
  tool_choice?: unknown
}

/** Options of `anthropic`. */
export interface AnthropicOptions extends ModelSelection {
  /**
   * Passes the temperature that a server asks for. Default false, because the API version that current clients use rejects the
   * parameter for every model, and recent models reject it in every version. Servers must expect that it is ignored.
   */
  temperature?: boolean | undefined
}

const api = 'Anthropic API'

/**
 * Lets a host use a client object of `@anthropic-ai/sdk` for sampling.
 *
 * @example
 * import Anthropic from '@anthropic-ai/sdk'
 *
 * const model = anthropic(new Anthropic(), { model: 'claude-sonnet-5' })
 */
export function anthropic(client: AnthropicClient, options: AnthropicOptions): Model {
  return {
    choices: toChoices(options, 'anthropic'),
    async generate(request) {
      const tools = toolsFor('anthropic', request.params.tools ?? [])
      const omitted = omittedParts(request.params, options)
      const body = toRequest(request, tools, options, omitted)
      const answer = await callApi(api, request, () => client.messages.create(body, { signal: request.signal }))
      return readAnswer(answer, request, tools, omitted)
    },
  }
}

function toRequest(
  { model, params }: ModelRequest,
  tools: ToolSet<'anthropic'>,
  options: AnthropicOptions,
  omitted: string[],
): AnthropicRequest {
  const { systemPrompt, temperature, stopSequences, metadata } = params
  const request: AnthropicRequest = {
    model,
    max_tokens: params.maxTokens,
    messages: params.messages.map((message, at) => toMessage(message, `messages[${at}]`, tools, omitted)),
  }
  if (systemPrompt) request.system = systemPrompt
  if (temperature !== undefined && options.temperature) request.temperature = temperature
  if (stopSequences?.length) request.stop_sequences = stopSequences
  if (typeof metadata?.user_id === 'string') request.metadata = { user_id: metadata.user_id }
  if (tools.tools.length > 0) {
    request.tools = tools.tools
    request.tool_choice = { type: toolChoices[params.toolChoice?.mode ?? 'auto'] }
  }
  return request
}

const toolChoices = { auto: 'auto', required: 'any', none: 'none' } as const

/** Servers must expect that clients ignore these parts. */
function omittedParts({ temperature, metadata = {} }: CreateMessageParams, options: AnthropicOptions): string[] {
  const isKnown = (key: string) => key === 'user_id' && typeof metadata[key] === 'string'
  const keys = Object.keys(metadata).filter((key) => !isKnown(key))
  return [
    ...(temperature !== undefined && !options.temperature ? ['temperature'] : []),
    ...keys.map((key) => `metadata.${key.slice(0, 100)}`),
  ]
}

function toMessage(message: SamplingMessage, path: string, tools: ToolSet, omitted: string[]) {
  const content = blocksOf(message).map((block) => {
    if (block.type !== 'tool_result') return toBlock(block, message, path, tools)
    const { content: parts, isError, notes } = toolResultFor('anthropic', block)
    omitted.push(...notes.map((note) => `${path}: ${note}`))
    return { type: 'tool_result', tool_use_id: block.toolUseId, content: parts, ...(isError && { is_error: true }) }
  })
  return { role: message.role, content }
}

const imageTypes = ['image/jpeg', 'image/png', 'image/gif', 'image/webp']

function toBlock(
  block: Exclude<SamplingContent, ToolResultContent>,
  { role }: SamplingMessage,
  path: string,
  tools: ToolSet,
): JsonObject {
  switch (block.type) {
    case 'text':
      return { type: 'text', text: block.text }
    case 'image': {
      const { data, mimeType } = block
      if (role !== 'user') throw unsupported(api, path, 'only messages of the user can have images')
      if (!imageTypes.includes(mimeType)) throw unsupported(api, path, `images must be one of ${imageTypes.join(', ')}`)
      return { type: 'image', source: { type: 'base64', media_type: mimeType, data } }
    }
    case 'audio':
      throw unsupported(api, path, 'it has no audio input')
    case 'tool_use':
      return { type: 'tool_use', id: block.id, name: tools.apiNameOf(block.name), input: block.input }
  }
}

function readAnswer(answer: JsonObject, request: ModelRequest, tools: ToolSet, omitted: string[]): ModelAnswer {
  const usage = isObject(answer.usage) ? answer.usage : {}
  const cached = countOf(usage.cache_creation_input_tokens) + countOf(usage.cache_read_input_tokens)
  const input = typeof usage.input_tokens === 'number' ? usage.input_tokens + cached : undefined
  if (!Array.isArray(answer.content)) throw invalidAnswer(api, 'it has no content')
  const content = listOf(answer.content).flatMap((block) => readBlock(block, tools))
  const stopReason = stopReasons.get(String(answer.stop_reason)) ?? String(answer.stop_reason ?? 'endTurn')
  return toAnswer(
    { content, model: answer.model, stopReason, usage: toUsage(input, usage.output_tokens), omitted },
    request,
  )
}

const stopReasons: ReadonlyMap<string, string> = new Map([
  ['end_turn', 'endTurn'],
  ['max_tokens', 'maxTokens'],
  ['stop_sequence', 'stopSequence'],
  ['tool_use', 'toolUse'],
])

/** The model's thinking is not part of its message. */
function readBlock(block: JsonObject, tools: ToolSet): SamplingContent[] {
  switch (block.type) {
    case 'text':
      return [{ type: 'text', text: String(block.text) }]
    case 'tool_use':
      return [toToolUse(api, tools, block.id, block.name, block.input)]
    case 'thinking':
    case 'redacted_thinking':
      return []
    default:
      throw invalidAnswer(api, `it has content of the type ${JSON.stringify(block.type)}`)
  }
}
