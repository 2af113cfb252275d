import type { ModelChoice } from '../../client/input/choose-model.ts'
import type { SamplingContent, SamplingMessage, ToolUseContent } from '../../protocol/sampling.ts'
import { isObject, type JsonObject } from '../../util/objects.ts'
import {
  blocksOf,
  callApi,
  invalidAnswer,
  listOf,
  toAnswer,
  toolResultsOf,
  toolUses,
  toToolUse,
  toUsage,
  unsupported,
} from './adapter.ts'
import type { Model, ModelAnswer, ModelRequest } from './model.ts'
import { toolResultFor } from './tool-result.ts'
import { type ToolSet, toolsFor } from './tools-for.ts'

/** `generateText` of the package `ai`. */
export type GenerateText = GenerateTextHolder['generateText']

/** A method, so that functions with narrower options, as those of each version of the SDK, can be passed. */
export interface GenerateTextHolder {
  generateText(options: GenerateTextOptions): PromiseLike<unknown>
}

/** What the adapter passes to `generateText`. */
export interface GenerateTextOptions {
  model: unknown
  messages?: unknown
  system?: unknown
  maxOutputTokens?: number | undefined
  temperature?: number | undefined
  stopSequences?: string[] | undefined
  tools?: unknown
  toolChoice?: unknown
  abortSignal?: AbortSignal | undefined
}

/** A model object of a provider of the AI SDK, or the id of a model for its gateway. */
export type AiSdkModel = string | { readonly modelId: string }

/** A model object with the scores by which it is chosen. `name` is the id of the model unless you set another. */
export interface AiSdkChoice extends Omit<ModelChoice, 'name'> {
  readonly model: AiSdkModel
  readonly name?: string | undefined
}

const api = 'AI SDK'

/**
 * Lets a host use models of the Vercel AI SDK for sampling.
 *
 * @example
 * import { openai } from '@ai-sdk/openai'
 * import { generateText } from 'ai'
 *
 * const model = aiSdk(generateText, openai('gpt-6'))
 */
export function aiSdk(generateText: GenerateText, models: AiSdkModel | readonly (AiSdkModel | AiSdkChoice)[]): Model {
  const list = (Array.isArray(models) ? models : [models]).map(toChoice)
  if (list.length === 0) throw new TypeError('aiSdk() requires at least one model')
  const byName = new Map(list.map(({ name, model }) => [name, model]))
  return {
    choices: list.map(({ model: _, ...choice }) => choice),
    async generate(request) {
      const tools = toolsFor('ai-sdk', request.params.tools ?? [])
      const notes: string[] = []
      const options = toOptions(request, byName.get(request.model) ?? request.model, tools, notes)
      const answer = await callApi(api, request, () => generateText(options))
      return readAnswer(answer, request, tools, notes)
    },
  }
}

function toChoice(given: AiSdkModel | AiSdkChoice): AiSdkChoice & ModelChoice {
  if (typeof given === 'string') return { name: given, model: given }
  if ('modelId' in given) return { name: given.modelId, model: given }
  const { model } = given
  return { ...given, name: given.name ?? (typeof model === 'string' ? model : model.modelId) }
}

function toOptions({ params, signal }: ModelRequest, model: AiSdkModel, tools: ToolSet<'ai-sdk'>, notes: string[]) {
  const uses = toolUses(params.messages)
  const options: GenerateTextOptions = {
    model,
    messages: params.messages.map((message, at) => toMessage(message, `messages[${at}]`, tools, uses, notes)),
    maxOutputTokens: params.maxTokens,
    abortSignal: signal,
  }
  const { systemPrompt, temperature, stopSequences, metadata = {} } = params
  if (systemPrompt) options.system = systemPrompt
  if (temperature !== undefined) options.temperature = temperature
  if (stopSequences?.length) options.stopSequences = stopSequences
  if (Object.keys(tools.tools).length > 0) {
    options.tools = tools.tools
    options.toolChoice = params.toolChoice?.mode ?? 'auto'
  }
  // Each provider has its own options, and what they do cannot be known here.
  notes.push(...Object.keys(metadata).map((key) => `metadata.${key.slice(0, 100)}`))
  return options
}

function toMessage(
  message: SamplingMessage,
  path: string,
  tools: ToolSet,
  uses: ReadonlyMap<string, ToolUseContent>,
  notes: string[],
): JsonObject {
  const results = toolResultsOf(message)
  if (results.length === 0) {
    return { role: message.role, content: blocksOf(message).map((block) => toPart(block, message, path, tools)) }
  }
  const content = results.map((result) => {
    const { content: output, notes: left } = toolResultFor('ai-sdk', result)
    notes.push(...left.map((note) => `${path}: ${note}`))
    const toolName = tools.apiNameOf(uses.get(result.toolUseId)?.name ?? '')
    return { type: 'tool-result', toolCallId: result.toolUseId, toolName, output }
  })
  return { role: 'tool', content }
}

function toPart(block: SamplingContent, { role }: SamplingMessage, path: string, tools: ToolSet): JsonObject {
  switch (block.type) {
    case 'text':
      return { type: 'text', text: block.text }
    case 'image':
    case 'audio':
      return { type: 'file', data: block.data, mediaType: block.mimeType }
    case 'tool_use':
      return { type: 'tool-call', toolCallId: block.id, toolName: tools.apiNameOf(block.name), input: block.input }
    case 'tool_result':
      throw unsupported(api, path, `messages of the ${role} cannot mix results of tools with other content`)
  }
}

function readAnswer(answer: JsonObject, request: ModelRequest, tools: ToolSet, notes: string[]): ModelAnswer {
  const content = readContent(answer, tools)
  const { inputTokens, outputTokens } = isObject(answer.usage) ? answer.usage : {}
  const { modelId } = isObject(answer.response) ? answer.response : {}
  return toAnswer(
    {
      content,
      model: modelId,
      stopReason: stopReasonOf(answer, content),
      usage: toUsage(inputTokens, outputTokens),
      omitted: [...notes, ...warningsOf(answer)],
    },
    request,
  )
}

function readContent(answer: JsonObject, tools: ToolSet): SamplingContent[] {
  const content: SamplingContent[] = []
  if (typeof answer.text === 'string' && answer.text !== '') content.push({ type: 'text', text: answer.text })
  for (const { toolCallId, toolName, input } of listOf(answer.toolCalls)) {
    content.push(toToolUse(api, tools, toolCallId, toolName, input))
  }
  if (listOf(answer.files).length > 0) throw invalidAnswer(api, 'it has files, which sampling does not support')
  return content
}

/** Providers warn about parts of the request that they left out. */
function warningsOf({ warnings }: JsonObject): string[] {
  return listOf(warnings).flatMap(({ type, feature, setting }) => {
    const name = feature ?? setting
    return String(type).startsWith('unsupported') && typeof name === 'string' ? [name.slice(0, 100)] : []
  })
}

function stopReasonOf({ finishReason, rawFinishReason }: JsonObject, content: readonly SamplingContent[]): string {
  if (finishReason === 'length') return 'maxTokens'
  if (finishReason === 'content-filter') return 'contentFilter'
  if (content.some(({ type }) => type === 'tool_use')) return 'toolUse'
  return rawFinishReason === 'stop_sequence' ? 'stopSequence' : 'endTurn'
}
