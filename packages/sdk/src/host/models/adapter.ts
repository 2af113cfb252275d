import type { ModelChoice } from '../../client/input/choose-model.ts'
import { ErrorCode, HttpError, McpError, ProtocolError } from '../../errors.ts'
import type {
  CreateMessageParams,
  SamplingContent,
  SamplingMessage,
  ToolResultContent,
  ToolUseContent,
} from '../../protocol/sampling.ts'
import { untilAborted } from '../../util/abort.ts'
import { isObject, type JsonObject } from '../../util/objects.ts'
import type { ModelAnswer, ModelRequest, TokenUsage } from './model.ts'
import type { ToolSet } from './tools-for.ts'

/** The models of an adapter: one, or several to choose from by the preferences of servers. */
export interface ModelSelection {
  /** The name of the only model. */
  model?: string | undefined
  /** Models to choose from. The first is the default. */
  models?: readonly (string | ModelChoice)[] | undefined
}

/** Returns the models of an adapter. Throws if the options name none, or use both members. */
export function toChoices({ model, models }: ModelSelection, adapter: string): readonly ModelChoice[] {
  const names = models ?? (model === undefined ? [] : [model])
  if (names.length === 0 || (model !== undefined && models !== undefined)) {
    throw new TypeError(`${adapter}() requires either "model" or a list of "models"`)
  }
  return names.map((choice) => (typeof choice === 'string' ? { name: choice } : choice))
}

/**
 * Calls an API and turns its errors into `McpError`s.
 * @param api The name of the API for errors.
 */
export async function callApi(
  api: string,
  { signal }: ModelRequest,
  call: () => PromiseLike<unknown>,
): Promise<JsonObject> {
  try {
    signal.throwIfAborted()
    const answer = await untilAborted(call(), signal)
    if (isObject(answer)) return answer
  } catch (error) {
    throw toApiError(api, error, signal)
  }
  throw invalidAnswer(api, 'it is not an object')
}

/**
 * Describes a failed call. The error of the SDK is not kept as the cause, because it holds the request with its headers, and so
 * the key.
 */
function toApiError(api: string, error: unknown, signal: AbortSignal): McpError {
  if (error instanceof McpError) return error
  if (signal.aborted) return new McpError('cancelled', `The request to the ${api} was cancelled`)
  const { status: httpStatus, statusCode } = isObject(error) ? error : {}
  const status = typeof httpStatus === 'number' ? httpStatus : typeof statusCode === 'number' ? statusCode : undefined
  if (status === undefined) {
    return new HttpError(`The request to the ${api} failed: ${reasonOf(error)}`, { outcome: 'unknown' })
  }
  // The message of these errors repeats parts of the key.
  const isAuth = status === 401 || status === 403
  const reason = isAuth ? 'check the key and the permissions of the client object' : reasonOf(error, status)
  return new HttpError(`The ${api} answered with status ${status}: ${reason}`, { outcome: 'refused', status })
}

const maxReasonLength = 500

const secrets =
  /\bBearer\s+\S+|\b(?:sk|pk|rk|gsk|xai|key|token)[-_][A-Za-z0-9_*-]{6,}|\bAIza[A-Za-z0-9_-]{10,}|\b[A-Za-z0-9_-]{32,}/gi

/** What the API said, without the status that some SDKs put in front of it. */
function reasonOf(error: unknown, status?: number): string {
  const { apiMessage } = isObject(error) ? error : {}
  const message = typeof apiMessage === 'string' ? apiMessage : error instanceof Error ? error.message : 'unknown error'
  const safe = message.slice(0, 10_000).replaceAll(secrets, '[removed]').slice(0, maxReasonLength)
  return safe.startsWith(`${status} `) ? safe.slice(`${status} `.length) : safe
}

/** Returns the error for an answer that the adapter does not understand. */
export function invalidAnswer(api: string, problem: string): McpError {
  return new McpError('invalid-response', `The ${api} returned an invalid message: ${problem}`)
}

/** Returns the error for a part of a request that the API cannot take. The server that sent the request sees it. */
export function unsupported(api: string, path: string, problem: string): ProtocolError {
  return new ProtocolError(ErrorCode.InvalidParams, `The ${api} cannot take ${path}: ${problem}`)
}

/** The blocks of a message, which may be one or a list. */
export function blocksOf({ content }: Pick<SamplingMessage, 'content'>): readonly SamplingContent[] {
  return Array.isArray(content) ? content : [content]
}

/** The tool uses in the conversation by id, because some APIs want the name of the tool with its result. */
export function toolUses(messages: readonly SamplingMessage[]): ReadonlyMap<string, ToolUseContent> {
  const uses = messages.flatMap(blocksOf).filter((block) => block.type === 'tool_use')
  return new Map(uses.map((use) => [use.id, use]))
}

/** The results of tools in a message. If there is one, the message has nothing else. */
export function toolResultsOf(message: SamplingMessage): readonly ToolResultContent[] {
  return blocksOf(message).filter((block) => block.type === 'tool_result')
}

/** What an adapter read from the answer of an API. */
export interface AnswerParts {
  readonly content: readonly SamplingContent[]
  readonly model: unknown
  readonly stopReason: string
  readonly usage: TokenUsage | undefined
  readonly omitted: readonly string[]
}

/** Makes the message of what an API answered. */
export function toAnswer(parts: AnswerParts, request: ModelRequest): ModelAnswer {
  const { content, model, stopReason, usage, omitted } = parts
  const [first = { type: 'text', text: '' } satisfies SamplingContent] = content
  return {
    role: 'assistant',
    content: content.length > 1 ? [...content] : first,
    model: typeof model === 'string' && model !== '' ? model : request.model,
    stopReason,
    ...(usage && { usage }),
    ...(omitted.length > 0 && { omitted }),
  }
}

/** Reads token counts. Undefined if the API sent none. */
export function toUsage(input: unknown, output: unknown): TokenUsage | undefined {
  if (!isCount(input) || !isCount(output)) return undefined
  return { inputTokens: input, outputTokens: output }
}

/** A count of tokens that an API may leave out, as a number. */
export function countOf(value: unknown): number {
  return isCount(value) ? value : 0
}

function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0
}

/** Makes the block for a tool call of the model, with the name and arguments that the server knows. */
export function toToolUse(api: string, tools: ToolSet, id: unknown, name: unknown, input: unknown): ToolUseContent {
  const call = tools.toCall(String(name), input)
  if (!call) throw invalidAnswer(api, 'it uses a tool that was not offered')
  return { type: 'tool_use', id: String(id), name: call.name, input: call.arguments }
}

/** The list under a key of an answer, or an empty list. */
export function listOf(value: unknown): readonly JsonObject[] {
  return Array.isArray(value) ? value.filter(isObject) : []
}

/**
 * Ends the text at the first stop sequence, for APIs that do not take stop sequences.
 * @returns The content up to the stop sequence, or undefined if there is none.
 */
export function cutAtStop(
  content: readonly SamplingContent[],
  { stopSequences = [] }: CreateMessageParams,
): readonly SamplingContent[] | undefined {
  for (const [index, block] of content.entries()) {
    if (block.type !== 'text') continue
    const ends = stopSequences.filter((stop) => stop !== '').map((stop) => block.text.indexOf(stop))
    const end = Math.min(...ends.filter((at) => at >= 0))
    if (Number.isFinite(end)) return [...content.slice(0, index), { type: 'text', text: block.text.slice(0, end) }]
  }
  return undefined
}
