import type { AudioContent } from '../../protocol/content.ts'
import type { SamplingContent, SamplingMessage } from '../../protocol/sampling.ts'
import { isObject, type JsonObject } from '../../util/objects.ts'
import {
  blocksOf,
  callApi,
  cutAtStop,
  invalidAnswer,
  listOf,
  toAnswer,
  toolResultsOf,
  toToolUse,
  toUsage,
  unsupported,
} from './adapter.ts'
import type { ModelAnswer, ModelRequest } from './model.ts'
import {
  commonParameters,
  type OpenAiChatClient,
  type OpenAiChatRequest,
  type OpenAiOptions,
} from './openai-parameters.ts'
import { toolResultFor } from './tool-result.ts'
import { type ToolSet, toolsFor } from './tools-for.ts'

const api = 'OpenAI chat completions API'

/** The API takes at most four stop sequences (`stop` in the package `openai`). */
const maxStops = 4

/** Generates a message with `client.chat.completions.create`. */
export async function generateChat(
  client: OpenAiChatClient,
  request: ModelRequest,
  options: OpenAiOptions,
): Promise<ModelAnswer> {
  const tools = toolsFor('openai', request.params.tools ?? [])
  const { parameters, omitted } = commonParameters(request.params, options)
  const notes: string[] = []
  const body = { ...toRequest(request, tools, options, notes), ...parameters }
  const answer = await callApi(api, request, () => client.chat.completions.create(body, { signal: request.signal }))
  return readAnswer(answer, request, tools, [...omitted, ...notes])
}

function toRequest(
  request: ModelRequest,
  tools: ToolSet<'openai'>,
  options: OpenAiOptions,
  notes: string[],
): OpenAiChatRequest {
  const { model, params } = request
  const { maxTokensParameter = 'max_completion_tokens', store } = options
  const stops = params.stopSequences ?? []
  return {
    model,
    messages: toMessages(request, tools, notes),
    [maxTokensParameter]: params.maxTokens,
    ...(stops.length > 0 && { stop: stops.slice(0, maxStops) }),
    ...(store && { store }),
    ...(tools.tools.length > 0 && { tools: tools.tools, tool_choice: params.toolChoice?.mode ?? 'auto' }),
  }
}

function toMessages({ params }: ModelRequest, tools: ToolSet, notes: string[]): JsonObject[] {
  const system = params.systemPrompt ? [{ role: 'system', content: params.systemPrompt }] : []
  return [...system, ...params.messages.flatMap((message, at) => toMessage(message, `messages[${at}]`, tools, notes))]
}

function toMessage(message: SamplingMessage, path: string, tools: ToolSet, notes: string[]): JsonObject[] {
  const results = toolResultsOf(message)
  if (results.length > 0) {
    return results.map((result) => {
      const { content, notes: left } = toolResultFor('openai', result)
      notes.push(...left.map((note) => `${path}: ${note}`))
      return { role: 'tool', tool_call_id: result.toolUseId, content }
    })
  }
  if (message.role === 'assistant') return [toAssistantMessage(message, path, tools)]
  return [{ role: 'user', content: blocksOf(message).map((block) => toUserPart(block, path)) }]
}

function toAssistantMessage(message: SamplingMessage, path: string, tools: ToolSet): JsonObject {
  const text: JsonObject[] = []
  const calls: JsonObject[] = []
  for (const block of blocksOf(message)) {
    if (block.type === 'text') text.push({ type: 'text', text: block.text })
    else if (block.type === 'tool_use') {
      const call = { name: tools.apiNameOf(block.name), arguments: JSON.stringify(block.input) }
      calls.push({ id: block.id, type: 'function', function: call })
    } else throw unsupported(api, path, `messages of the assistant cannot have content of the type ${block.type}`)
  }
  return {
    role: 'assistant',
    ...(text.length > 0 && { content: text }),
    ...(calls.length > 0 && { tool_calls: calls }),
  }
}

function toUserPart(block: SamplingContent, path: string): JsonObject {
  switch (block.type) {
    case 'text':
      return { type: 'text', text: block.text }
    case 'image':
      return { type: 'image_url', image_url: { url: `data:${block.mimeType};base64,${block.data}` } }
    case 'audio':
      return { type: 'input_audio', input_audio: { data: block.data, format: audioFormat(block, path) } }
    default:
      throw unsupported(api, path, `messages of the user cannot have content of the type ${block.type}`)
  }
}

function audioFormat({ mimeType }: AudioContent, path: string): string {
  if (['audio/wav', 'audio/x-wav', 'audio/wave', 'audio/vnd.wave'].includes(mimeType)) return 'wav'
  if (['audio/mpeg', 'audio/mp3'].includes(mimeType)) return 'mp3'
  throw unsupported(api, path, 'audio must be audio/wav or audio/mpeg')
}

function readAnswer(answer: JsonObject, request: ModelRequest, tools: ToolSet, omitted: string[]): ModelAnswer {
  const [choice] = listOf(answer.choices)
  const message = choice?.message
  if (!choice || !isObject(message)) throw invalidAnswer(api, 'it has no choices')
  const content = readMessage(message, tools)
  const cut = cutAtStop(content, request.params)
  const { prompt_tokens, completion_tokens } = isObject(answer.usage) ? answer.usage : {}
  return toAnswer(
    {
      content: cut ?? content,
      model: answer.model,
      stopReason: cut ? 'stopSequence' : stopReasonOf(choice, message, content),
      usage: toUsage(prompt_tokens, completion_tokens),
      omitted,
    },
    request,
  )
}

function readMessage(message: JsonObject, tools: ToolSet): SamplingContent[] {
  const content: SamplingContent[] = []
  for (const text of [message.content, message.refusal]) {
    if (typeof text === 'string' && text !== '') content.push({ type: 'text', text })
  }
  for (const { id, function: called } of listOf(message.tool_calls)) {
    const { name, arguments: json } = isObject(called) ? called : {}
    content.push(toToolUse(api, tools, id, name, json))
  }
  return content
}

function stopReasonOf({ finish_reason }: JsonObject, { refusal }: JsonObject, content: readonly SamplingContent[]) {
  if (finish_reason === 'length') return 'maxTokens'
  if (finish_reason === 'content_filter') return 'contentFilter'
  // Some services answer "stop" although the message has tool calls.
  if (content.some(({ type }) => type === 'tool_use')) return 'toolUse'
  return typeof refusal === 'string' && refusal !== '' ? 'refusal' : 'endTurn'
}
