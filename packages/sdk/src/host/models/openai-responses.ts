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
  type OpenAiOptions,
  type OpenAiResponsesClient,
  type OpenAiResponsesRequest,
} from './openai-parameters.ts'
import { toolResultFor } from './tool-result.ts'
import { type ToolSet, toolsFor } from './tools-for.ts'

const api = 'OpenAI responses API'

/** Generates a message with `client.responses.create`. */
export async function generateResponse(
  client: OpenAiResponsesClient,
  request: ModelRequest,
  options: OpenAiOptions,
): Promise<ModelAnswer> {
  const tools = toolsFor('openai-responses', request.params.tools ?? [])
  const { parameters, omitted } = commonParameters(request.params, options)
  const notes: string[] = []
  const body = { ...toRequest(request, tools, options, notes), ...parameters }
  const answer = await callApi(api, request, () => client.responses.create(body, { signal: request.signal }))
  return readAnswer(answer, request, tools, [...omitted, ...notes])
}

function toRequest(
  { model, params }: ModelRequest,
  tools: ToolSet<'openai-responses'>,
  { store = false }: OpenAiOptions,
  notes: string[],
): OpenAiResponsesRequest {
  return {
    model,
    max_output_tokens: params.maxTokens,
    store,
    input: params.messages.flatMap((message, at) => toItems(message, `messages[${at}]`, tools, notes)),
    ...(params.systemPrompt && { instructions: params.systemPrompt }),
    ...(tools.tools.length > 0 && { tools: tools.tools, tool_choice: params.toolChoice?.mode ?? 'auto' }),
  }
}

/** A message of the user is one item. Each text of the assistant, and each use or result of a tool, is an item of its own. */
function toItems(message: SamplingMessage, path: string, tools: ToolSet, notes: string[]): JsonObject[] {
  const blocks = blocksOf(message)
  if (message.role === 'assistant') return blocks.map((block) => toAssistantItem(block, path, tools))
  const results = toolResultsOf(message)
  if (results.length === 0) return [{ role: 'user', content: blocks.map((block) => toUserPart(block, path)) }]
  return results.map((result) => {
    const { content, notes: left } = toolResultFor('openai-responses', result)
    notes.push(...left.map((note) => `${path}: ${note}`))
    return { type: 'function_call_output', call_id: result.toolUseId, output: content }
  })
}

function toAssistantItem(block: SamplingContent, path: string, tools: ToolSet): JsonObject {
  if (block.type === 'text') return { role: 'assistant', content: block.text }
  if (block.type !== 'tool_use') {
    throw unsupported(api, path, `messages of the assistant cannot have content of the type ${block.type}`)
  }
  const call = { name: tools.apiNameOf(block.name), arguments: JSON.stringify(block.input) }
  return { type: 'function_call', call_id: block.id, ...call }
}

function toUserPart(block: SamplingContent, path: string): JsonObject {
  if (block.type === 'text') return { type: 'input_text', text: block.text }
  if (block.type === 'image') {
    return { type: 'input_image', image_url: `data:${block.mimeType};base64,${block.data}`, detail: 'auto' }
  }
  throw unsupported(api, path, `messages of the user cannot have content of the type ${block.type}`)
}

function readAnswer(answer: JsonObject, request: ModelRequest, tools: ToolSet, omitted: string[]): ModelAnswer {
  if (answer.status === 'failed' || answer.status === 'cancelled') {
    const { code } = isObject(answer.error) ? answer.error : {}
    throw invalidAnswer(api, `its status is ${answer.status}${typeof code === 'string' ? ` (${code})` : ''}`)
  }
  if (!Array.isArray(answer.output)) throw invalidAnswer(api, 'it has no output')
  const content = listOf(answer.output).flatMap((item) => readItem(item, tools))
  const cut = cutAtStop(content, request.params)
  const { input_tokens, output_tokens } = isObject(answer.usage) ? answer.usage : {}
  return toAnswer(
    {
      content: cut ?? content,
      model: answer.model,
      stopReason: cut ? 'stopSequence' : stopReasonOf(answer, content),
      usage: toUsage(input_tokens, output_tokens),
      omitted,
    },
    request,
  )
}

/** The model's reasoning is not part of its message. */
function readItem(item: JsonObject, tools: ToolSet): SamplingContent[] {
  switch (item.type) {
    case 'message':
      return listOf(item.content).map(({ text, refusal }) => ({ type: 'text', text: String(text ?? refusal ?? '') }))
    case 'function_call':
      return [toToolUse(api, tools, item.call_id, item.name, item.arguments)]
    case 'reasoning':
      return []
    default:
      throw invalidAnswer(api, `it has output of the type ${JSON.stringify(item.type)}`)
  }
}

function stopReasonOf(answer: JsonObject, content: readonly SamplingContent[]): string {
  const { reason } = isObject(answer.incomplete_details) ? answer.incomplete_details : {}
  if (reason === 'max_output_tokens') return 'maxTokens'
  if (reason === 'content_filter') return 'contentFilter'
  if (content.some(({ type }) => type === 'tool_use')) return 'toolUse'
  const parts = listOf(answer.output).flatMap((item) => listOf(item.content))
  return parts.some(({ type }) => type === 'refusal') ? 'refusal' : 'endTurn'
}
