import { invalidParams } from '../errors.ts'
import { isObject } from '../util/objects.ts'
import { loggingLevels } from './logging.ts'
import { notificationMetaProblem, requestMetaProblem } from './meta.ts'
import type { ClientNotifications, ClientRequests, ServerNotifications, ServerRequests } from './methods.ts'
import {
  id,
  mustBe,
  mustBeOneOf,
  nullableNumber,
  number,
  object,
  optionalBoolean,
  optionalList,
  optionalNumber,
  optionalObject,
  optionalString,
  optionalStringList,
  optionalStrings,
  string,
} from './value-checks.ts'

type Params = Readonly<Record<string, unknown>>

/**
 * Describes what is wrong with the params of a method; undefined if nothing is. The text names the field and the type it has,
 * never its value, so that it can be sent to the peer and logged.
 */
export type ParamsCheck = (params: Params) => string | undefined

type Method = keyof ClientRequests | keyof ServerRequests | keyof ClientNotifications | keyof ServerNotifications

// The checks are the same for all revisions: a member is required if every revision with the method requires it, and its type
// is checked whenever it is present. Unknown members are accepted. Valid params cause no allocation.
const checks: Record<Method, ParamsCheck> = {
  initialize: (p) =>
    string(p.protocolVersion, 'params.protocolVersion') ??
    object(p.capabilities, 'params.capabilities') ??
    implementation(p.clientInfo) ??
    requestMetaProblem(p),
  ping: requestMetaProblem,
  'server/discover': requestMetaProblem,

  'resources/list': page,
  'resources/templates/list': page,
  'resources/read': (p) => string(p.uri, 'params.uri') ?? answers(p) ?? requestMetaProblem(p),
  'resources/subscribe': uri,
  'resources/unsubscribe': uri,

  'prompts/list': page,
  'prompts/get': (p) =>
    string(p.name, 'params.name') ??
    optionalStrings(p.arguments, 'params.arguments') ??
    answers(p) ??
    requestMetaProblem(p),

  'tools/list': page,
  'tools/call': (p) =>
    string(p.name, 'params.name') ??
    optionalObject(p.arguments, 'params.arguments') ??
    answers(p) ??
    requestMetaProblem(p),

  'completion/complete': (p) =>
    reference(p.ref) ?? argument(p.argument) ?? completionContext(p.context) ?? requestMetaProblem(p),
  'logging/setLevel': (p) => level(p.level) ?? requestMetaProblem(p),
  'subscriptions/listen': (p) => filter(p.notifications) ?? requestMetaProblem(p),

  'tasks/get': taskId,
  'tasks/result': taskId,
  'tasks/cancel': taskId,
  'tasks/update': (p) =>
    string(p.taskId, 'params.taskId') ?? object(p.inputResponses, 'params.inputResponses') ?? requestMetaProblem(p),
  'tasks/list': page,

  'roots/list': requestMetaProblem,
  'sampling/createMessage': (p) =>
    messages(p.messages) ??
    number(p.maxTokens, 'params.maxTokens') ??
    optionalObject(p.modelPreferences, 'params.modelPreferences') ??
    optionalString(p.systemPrompt, 'params.systemPrompt') ??
    includeContext(p.includeContext) ??
    optionalNumber(p.temperature, 'params.temperature') ??
    optionalStringList(p.stopSequences, 'params.stopSequences') ??
    optionalObject(p.metadata, 'params.metadata') ??
    optionalList(p.tools, 'params.tools') ??
    optionalObject(p.toolChoice, 'params.toolChoice') ??
    task(p) ??
    requestMetaProblem(p),
  'elicitation/create': (p) =>
    string(p.message, 'params.message') ??
    (p.mode === 'url' ? elicitUrl(p) : elicitForm(p)) ??
    task(p) ??
    requestMetaProblem(p),

  'notifications/initialized': notificationMetaProblem,
  'notifications/roots/list_changed': notificationMetaProblem,
  'notifications/resources/list_changed': notificationMetaProblem,
  'notifications/prompts/list_changed': notificationMetaProblem,
  'notifications/tools/list_changed': notificationMetaProblem,
  'notifications/resources/updated': (p) => string(p.uri, 'params.uri') ?? notificationMetaProblem(p),
  'notifications/cancelled': (p) =>
    // Optional in 2025-11-25. A notification without it cancels nothing.
    (p.requestId === undefined ? undefined : id(p.requestId, 'params.requestId')) ??
    optionalString(p.reason, 'params.reason') ??
    notificationMetaProblem(p),
  'notifications/progress': (p) =>
    id(p.progressToken, 'params.progressToken') ??
    number(p.progress, 'params.progress') ??
    optionalNumber(p.total, 'params.total') ??
    optionalString(p.message, 'params.message') ??
    notificationMetaProblem(p),
  'notifications/message': (p) =>
    level(p.level) ??
    (p.data === undefined ? 'params.data must be present' : undefined) ??
    optionalString(p.logger, 'params.logger') ??
    notificationMetaProblem(p),
  'notifications/subscriptions/acknowledged': (p) => filter(p.notifications) ?? notificationMetaProblem(p),
  'notifications/elicitation/complete': (p) =>
    string(p.elicitationId, 'params.elicitationId') ?? notificationMetaProblem(p),
  'notifications/tasks/status': (p) =>
    taskFields(p) ??
    nullableNumber(p.ttl, 'params.ttl') ??
    optionalNumber(p.pollInterval, 'params.pollInterval') ??
    notificationMetaProblem(p),
  'notifications/tasks': (p) =>
    taskFields(p) ??
    nullableNumber(p.ttlMs, 'params.ttlMs') ??
    optionalNumber(p.pollIntervalMs, 'params.pollIntervalMs') ??
    taskOutcome(p) ??
    notificationMetaProblem(p),
}

/**
 * Describes what is wrong with the params of a request or notification; undefined if nothing is, or if the method is not part of
 * the protocol. The text names the field and never its value, so that it can be sent to the peer.
 *
 * @example
 * ```ts
 * paramsProblem('tools/call', { name: 1 }) // 'params.name must be a string, not a number'
 * ```
 */
export function paramsProblem(method: string, params: Readonly<Record<string, unknown>> = {}): string | undefined {
  return paramsChecks.get(method)?.(params)
}

/** Throws the error response if the params of a method are invalid. */
export function checkParams(method: string, params: Params = {}): void {
  const problem = paramsProblem(method, params)
  if (problem !== undefined) throw invalidParams(problem)
}

/** The params check of every method and notification of the protocol, in both directions. */
export const paramsChecks: ReadonlyMap<string, ParamsCheck> = /* @__PURE__ */ new Map(Object.entries(checks))

function page(p: Params): string | undefined {
  return optionalString(p.cursor, 'params.cursor') ?? requestMetaProblem(p)
}

function uri(p: Params): string | undefined {
  return string(p.uri, 'params.uri') ?? requestMetaProblem(p)
}

function taskId(p: Params): string | undefined {
  return string(p.taskId, 'params.taskId') ?? requestMetaProblem(p)
}

// Entries are checked later, against their questions. Those without a question must be ignored.
function answers(p: Params): string | undefined {
  return (
    optionalObject(p.inputResponses, 'params.inputResponses') ?? optionalString(p.requestState, 'params.requestState')
  )
}

function task(p: Params): string | undefined {
  const value = p.task
  if (value === undefined) return undefined
  if (!isObject(value)) return mustBe('params.task', 'an object', value)
  return optionalNumber(value.ttl, 'params.task.ttl')
}

function implementation(value: unknown): string | undefined {
  if (!isObject(value)) return mustBe('params.clientInfo', 'an object', value)
  return string(value.name, 'params.clientInfo.name') ?? string(value.version, 'params.clientInfo.version')
}

function reference(value: unknown): string | undefined {
  if (!isObject(value)) return mustBe('params.ref', 'an object', value)
  if (value.type === 'ref/prompt') return string(value.name, 'params.ref.name')
  if (value.type === 'ref/resource') return string(value.uri, 'params.ref.uri')
  return mustBeOneOf('params.ref.type', '"ref/prompt" or "ref/resource"', value.type)
}

function argument(value: unknown): string | undefined {
  if (!isObject(value)) return mustBe('params.argument', 'an object', value)
  return string(value.name, 'params.argument.name') ?? string(value.value, 'params.argument.value')
}

function completionContext(value: unknown): string | undefined {
  if (value === undefined) return undefined
  if (!isObject(value)) return mustBe('params.context', 'an object', value)
  return optionalStrings(value.arguments, 'params.context.arguments')
}

const levels: ReadonlySet<unknown> = /* @__PURE__ */ new Set(loggingLevels)

function level(value: unknown): string | undefined {
  return levels.has(value) ? undefined : mustBeOneOf('params.level', `one of ${loggingLevels.join(', ')}`, value)
}

function filter(value: unknown): string | undefined {
  if (!isObject(value)) return mustBe('params.notifications', 'an object', value)
  return (
    optionalBoolean(value.toolsListChanged, 'params.notifications.toolsListChanged') ??
    optionalBoolean(value.promptsListChanged, 'params.notifications.promptsListChanged') ??
    optionalBoolean(value.resourcesListChanged, 'params.notifications.resourcesListChanged') ??
    optionalStringList(value.resourceSubscriptions, 'params.notifications.resourceSubscriptions') ??
    optionalStringList(value.taskIds, 'params.notifications.taskIds')
  )
}

function messages(value: unknown): string | undefined {
  if (!Array.isArray(value)) return mustBe('params.messages', 'an array', value)
  for (let at = 0; at < value.length; at++) {
    const problem = message(value[at], at)
    if (problem !== undefined) return problem
  }
  return undefined
}

function message(value: unknown, at: number): string | undefined {
  if (!isObject(value)) return mustBe(`params.messages[${at}]`, 'an object', value)
  if (value.role !== 'user' && value.role !== 'assistant') {
    return mustBeOneOf(`params.messages[${at}].role`, '"user" or "assistant"', value.role)
  }
  const content = value.content
  const fine = Array.isArray(content) ? content.every(isContent) : isContent(content)
  return fine ? undefined : `params.messages[${at}].content must be a content block or an array of them`
}

// Unknown types of content are left to the sampling handler.
function isContent(value: unknown): boolean {
  return isObject(value) && typeof value.type === 'string'
}

function includeContext(value: unknown): string | undefined {
  if (value === undefined || value === 'none' || value === 'thisServer' || value === 'allServers') return undefined
  return mustBeOneOf('params.includeContext', '"none", "thisServer" or "allServers"', value)
}

function elicitUrl(p: Params): string | undefined {
  return string(p.url, 'params.url') ?? optionalString(p.elicitationId, 'params.elicitationId')
}

function elicitForm(p: Params): string | undefined {
  if (p.mode !== undefined && p.mode !== 'form') return mustBeOneOf('params.mode', '"form" or "url"', p.mode)
  const schema = p.requestedSchema
  if (!isObject(schema)) return mustBe('params.requestedSchema', 'an object', schema)
  if (schema.type !== 'object') return mustBeOneOf('params.requestedSchema.type', '"object"', schema.type)
  return (
    object(schema.properties, 'params.requestedSchema.properties') ??
    optionalStringList(schema.required, 'params.requestedSchema.required')
  )
}

function taskFields(p: Params): string | undefined {
  return (
    string(p.taskId, 'params.taskId') ??
    taskStatus(p.status) ??
    optionalString(p.statusMessage, 'params.statusMessage') ??
    string(p.createdAt, 'params.createdAt') ??
    string(p.lastUpdatedAt, 'params.lastUpdatedAt')
  )
}

function taskStatus(value: unknown): string | undefined {
  switch (value) {
    case 'working':
    case 'input_required':
    case 'completed':
    case 'failed':
    case 'cancelled':
      return undefined
    default:
      return mustBeOneOf('params.status', 'one of working, input_required, completed, failed, cancelled', value)
  }
}

function taskOutcome(p: Params): string | undefined {
  if (p.status === 'input_required') return object(p.inputRequests, 'params.inputRequests')
  if (p.status === 'completed') return object(p.result, 'params.result')
  return p.status === 'failed' ? rpcError(p.error) : undefined
}

function rpcError(value: unknown): string | undefined {
  if (!isObject(value)) return mustBe('params.error', 'an object', value)
  if (!Number.isInteger(value.code)) return mustBe('params.error.code', 'an integer', value.code)
  return string(value.message, 'params.error.message')
}
