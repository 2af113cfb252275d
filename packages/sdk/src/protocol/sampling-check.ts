import { isObject, type JsonObject } from '../util/objects.ts'
import { mediaProblem, type TextContent } from './content.ts'
import { paramsChecks } from './params.ts'
import type {
  CreateMessageParams,
  CreateMessageResult,
  SamplingContent,
  SamplingMessage,
  ToolResultContent,
  ToolUseContent,
} from './sampling.ts'

/**
 * Describes what is wrong with a sampling request, or returns undefined. Checks the params like those of every method, and the
 * rules for the order of messages.
 */
export function samplingProblem(params: CreateMessageParams): string | undefined {
  return (
    paramsChecks.get('sampling/createMessage')?.(params as object as JsonObject) ??
    maxTokensProblem(params.maxTokens) ??
    preferencesProblem(params.modelPreferences) ??
    toolsProblem(params.tools) ??
    toolChoiceProblem(params) ??
    first(params.messages, messageProblem) ??
    first(params.messages, (message, at) => turnProblem(message, at, params.messages))
  )
}

/** Describes what is wrong with the result of a sampling request, or returns undefined. The result may be any value. */
export function sampledProblem(result: CreateMessageResult, params: CreateMessageParams): string | undefined {
  if (!isObject(result)) return 'the result must be an object'
  const { role, content, model, stopReason } = result
  if (role !== 'user' && role !== 'assistant') return 'role must be "user" or "assistant"'
  if (typeof model !== 'string') return 'model must be a string'
  if (stopReason !== undefined && typeof stopReason !== 'string') return 'stopReason must be a string'
  return contentProblem(content, role, 'content') ?? answerProblem(blocksOf(content), params)
}

/** An upper bound of the average length of a token in any model. */
const maxCharactersPerToken = 128

/**
 * Describes a result that is longer than `maxTokens`, or returns undefined.
 * @param countTokens Counts tokens like the model. Without it, only results that are far too long are found.
 */
export function tokensProblem(
  { content }: CreateMessageResult,
  { maxTokens }: CreateMessageParams,
  countTokens: ((text: string) => number) | undefined,
): string | undefined {
  const text = blocksOf(content)
    .map((block) => (isText(block) ? block.text : isToolUse(block) ? JSON.stringify(block.input) : ''))
    .join('')
  const tokens = countTokens ? countTokens(text) : Math.ceil(text.length / maxCharactersPerToken)
  if (tokens <= maxTokens) return undefined
  return `it has ${countTokens ? '' : 'at least '}${tokens} tokens, and maxTokens is ${maxTokens}`
}

/**
 * Splits messages with several blocks into messages with one block, for 2025-06-18 and earlier.
 *
 * @throws TypeError if these revisions do not have the type of a block
 */
export function splitMessages(messages: readonly SamplingMessage[]): SamplingMessage[] {
  return messages.flatMap(({ role, content }) =>
    blocksOf(content).map((block) => ({ role, content: withoutTools(block) })),
  )
}

/**
 * Joins the content of a result into one block, for 2025-06-18 and earlier.
 *
 * @throws TypeError if that is not possible
 */
export function singleContent(content: SamplingContent | readonly SamplingContent[]): SamplingContent {
  const blocks = blocksOf(content)
  const [block] = blocks
  if (block && blocks.length === 1) return withoutTools(block)
  if (block && blocks.every(isText)) return { type: 'text', text: blocks.map(({ text }) => text).join('\n\n') }
  const kinds = blocks.map(({ type }) => type).join(', ') || 'nothing'
  throw new TypeError(
    `A server of 2025-06-18 or earlier accepts one content block, or several text blocks. Got: ${kinds}.`,
  )
}

function withoutTools(block: SamplingContent): SamplingContent {
  if (!isToolUse(block) && !isToolResult(block)) return block
  throw new TypeError(`Content of type ${block.type} requires 2025-11-25 or later`)
}

function maxTokensProblem(value: number): string | undefined {
  return Number.isInteger(value) && value > 0 ? undefined : 'params.maxTokens must be a positive integer'
}

function preferencesProblem(preferences: CreateMessageParams['modelPreferences']): string | undefined {
  if (!preferences) return undefined
  const path = 'params.modelPreferences'
  for (const name of ['costPriority', 'speedPriority', 'intelligencePriority'] as const) {
    const value: unknown = preferences[name]
    const fine = value === undefined || (typeof value === 'number' && value >= 0 && value <= 1)
    if (!fine) return `${path}.${name} must be a number between 0 and 1`
  }
  const hints: unknown = preferences.hints
  const fine = hints === undefined || (Array.isArray(hints) && hints.every(isHint))
  return fine ? undefined : `${path}.hints must be an array of objects with a name`
}

function isHint(value: unknown): boolean {
  return isObject(value) && (value.name === undefined || typeof value.name === 'string')
}

function toolsProblem(tools: readonly unknown[] = []): string | undefined {
  const names = new Set<string>()
  return first(tools, (tool, at) => {
    if (!isObject(tool) || typeof tool.name !== 'string' || !isObject(tool.inputSchema)) {
      return `params.tools[${at}] must be a tool with a name and an inputSchema`
    }
    if (names.has(tool.name)) return `params.tools[${at}] has the same name as another tool`
    names.add(tool.name)
    return undefined
  })
}

function toolChoiceProblem({ toolChoice, tools }: CreateMessageParams): string | undefined {
  const mode: unknown = toolChoice?.mode
  if (mode !== undefined && mode !== 'auto' && mode !== 'required' && mode !== 'none') {
    return 'params.toolChoice.mode must be "auto", "required" or "none"'
  }
  if (mode === 'required' && !tools?.length) return 'params.toolChoice requires a tool, but params.tools is empty'
  return undefined
}

function messageProblem({ role, content }: SamplingMessage, at: number): string | undefined {
  const path = `params.messages[${at}].content`
  return blocksOf(content).length === 0 ? `${path} must not be empty` : contentProblem(content, role, path)
}

function contentProblem(content: unknown, role: string, path: string): string | undefined {
  if (!Array.isArray(content)) return blockProblem(content, role, path)
  return first(content, (block, at) => blockProblem(block, role, `${path}[${at}]`)) ?? sameIdProblem(content, path)
}

function blockProblem(block: unknown, role: string, path: string): string | undefined {
  if (!isObject(block)) return `${path} must be a content block`
  switch (block.type) {
    case 'text':
      return typeof block.text === 'string' ? undefined : `${path}.text must be a string`
    case 'image':
    case 'audio': {
      const problem = mediaProblem(block)
      return problem && path + problem
    }
    case 'tool_use':
      return role === 'assistant' ? toolUseProblem(block, path) : `${path}: only the assistant uses tools`
    case 'tool_result':
      return role === 'user' ? toolResultProblem(block, path) : `${path}: only the user gives results of tools`
    default:
      return `${path}.type must be one of text, image, audio, tool_use, tool_result`
  }
}

function toolUseProblem(block: JsonObject, path: string): string | undefined {
  if (typeof block.id !== 'string') return `${path}.id must be a string`
  if (typeof block.name !== 'string') return `${path}.name must be a string`
  return isObject(block.input) ? undefined : `${path}.input must be an object`
}

function toolResultProblem(block: JsonObject, path: string): string | undefined {
  if (typeof block.toolUseId !== 'string') return `${path}.toolUseId must be a string`
  const { content } = block
  const fine = Array.isArray(content) && content.every((part) => isObject(part) && typeof part.type === 'string')
  return fine ? undefined : `${path}.content must be an array of content blocks`
}

/** Results name uses by id, so two uses in one message must differ in it; and a use has one result. */
function sameIdProblem(blocks: readonly SamplingContent[], path: string): string | undefined {
  const ids = new Set<string>()
  return first(blocks, (block, at) => {
    const id = isToolUse(block) ? block.id : isToolResult(block) ? block.toolUseId : undefined
    if (id === undefined) return undefined
    if (ids.has(id)) return `${path}[${at}] has the id of another ${block.type} in the same message`
    ids.add(id)
    return undefined
  })
}

/**
 * 2025-11-25 sampling, message content constraints: the message after tool uses contains the results of all of them, and nothing
 * else. Model providers reject other orders.
 */
function turnProblem(message: SamplingMessage, at: number, messages: readonly SamplingMessage[]): string | undefined {
  const path = `params.messages[${at}]`
  const blocks = blocksOf(message.content)
  const results = resultsOf(message)
  if (results.length > 0 && results.length < blocks.length) {
    return `${path} mixes tool_result blocks with other blocks. Put the other blocks into a separate message.`
  }
  const asked = new Set(usesOf(messages[at - 1]).map(({ id }) => id))
  const stray = results.find(({ toolUseId }) => !asked.has(toolUseId))
  if (stray) return `${path} has a tool_result without a tool_use in the message before it`
  const answered = new Set(resultsOf(messages[at + 1]).map(({ toolUseId }) => toolUseId))
  const open = usesOf(message).some(({ id }) => !answered.has(id))
  return open ? `${path} has a tool_use without a tool_result in the message after it` : undefined
}

function usesOf(message: SamplingMessage | undefined): ToolUseContent[] {
  return message ? blocksOf(message.content).filter(isToolUse) : []
}

function resultsOf(message: SamplingMessage | undefined): ToolResultContent[] {
  return message ? blocksOf(message.content).filter(isToolResult) : []
}

function answerProblem(blocks: readonly SamplingContent[], params: CreateMessageParams): string | undefined {
  if (blocks.some(isToolResult)) return 'content has a tool_result, which models do not return'
  const uses = blocks.filter(isToolUse)
  const { tools = [], toolChoice } = params
  if (uses.length === 0)
    return toolChoice?.mode === 'required' ? 'content must use a tool, because toolChoice requires it' : undefined
  if (tools.length === 0 || toolChoice?.mode === 'none') return 'content uses a tool, but tools are not allowed'
  const names = new Set(tools.map(({ name }) => name))
  return uses.every(({ name }) => names.has(name)) ? undefined : 'content uses a tool that was not offered'
}

function blocksOf(content: SamplingContent | readonly SamplingContent[]): readonly SamplingContent[] {
  return Array.isArray(content) ? content : [content as SamplingContent]
}

function isText(block: SamplingContent): block is TextContent {
  return block.type === 'text'
}

function isToolUse(block: SamplingContent): block is ToolUseContent {
  return block.type === 'tool_use'
}

function isToolResult(block: SamplingContent): block is ToolResultContent {
  return block.type === 'tool_result'
}

/** Returns the first problem of the items. */
function first<T>(items: readonly T[], problem: (item: T, at: number) => string | undefined): string | undefined {
  for (let at = 0; at < items.length; at++) {
    const found = problem(items[at]!, at)
    if (found !== undefined) return found
  }
  return undefined
}
