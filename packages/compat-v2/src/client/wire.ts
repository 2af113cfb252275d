import {
  CallToolRequestSchema,
  CallToolResultSchema,
  CancelledNotificationSchema,
  CompleteRequestSchema,
  CompleteResultSchema,
  CreateMessageRequestSchema,
  CreateMessageResultSchema,
  CreateMessageResultWithToolsSchema,
  ElicitationCompleteNotificationSchema,
  ElicitRequestSchema,
  ElicitResultSchema,
  EmptyResultSchema,
  GetPromptRequestSchema,
  GetPromptResultSchema,
  InitializedNotificationSchema,
  InitializeRequestSchema,
  InitializeResultSchema,
  ListPromptsRequestSchema,
  ListPromptsResultSchema,
  ListResourcesRequestSchema,
  ListResourcesResultSchema,
  ListResourceTemplatesRequestSchema,
  ListResourceTemplatesResultSchema,
  ListRootsRequestSchema,
  ListRootsResultSchema,
  ListToolsRequestSchema,
  ListToolsResultSchema,
  LoggingMessageNotificationSchema,
  PingRequestSchema,
  ProgressNotificationSchema,
  PromptListChangedNotificationSchema,
  ReadResourceRequestSchema,
  ReadResourceResultSchema,
  ResourceListChangedNotificationSchema,
  ResourceUpdatedNotificationSchema,
  RootsListChangedNotificationSchema,
  ServerCapabilitiesSchema,
  SetLevelRequestSchema,
  SubscribeRequestSchema,
  TaskStatusNotificationSchema,
  ToolListChangedNotificationSchema,
  ToolSchema,
  UnsubscribeRequestSchema,
} from '@tenon/compat-v1/types.js'
import { isObject } from 'tenon/internal'
import * as z from 'zod/v4'
import { MODERN_PROTOCOL_VERSION } from '../core/constants.ts'
import { SdkError, SdkErrorCode } from '../core/errors.ts'
import type { Result } from '../core/types.ts'

type Schema = z.ZodType
type Schemas = Readonly<Record<string, Schema>>

/** A value of the expected form, or what is wrong with it. */
export type WireCheck = { ok: true; value: unknown } | { ok: false; message: string }

/** A result of the other side: final, a question, or not valid. */
export type DecodedResult =
  | { kind: 'complete'; result: Result }
  | { kind: 'input_required'; inputRequests: Record<string, unknown>; requestState?: string }
  | { kind: 'invalid'; error: SdkError }

/** The methods of one era, and the form of their messages. */
export interface WireRules {
  readonly era: '2025-11-25' | '2026-07-28'
  readonly isModern: boolean
  hasRequest(method: string): boolean
  hasNotification(method: string): boolean
  /** Undefined if the era does not have the method. */
  checkRequest(method: string, request: unknown): WireCheck | undefined
  checkResult(method: string, result: unknown): WireCheck | undefined
  checkNotification(method: string, notification: unknown): WireCheck | undefined
  decodeResult(method: string, result: unknown): DecodedResult
}

/** Requests of the server, which 2026-07-28 carries in results. */
const questions: Schemas = {
  'sampling/createMessage': CreateMessageRequestSchema,
  'elicitation/create': ElicitRequestSchema,
  'roots/list': ListRootsRequestSchema,
}

const answers: Schemas = {
  'sampling/createMessage': CreateMessageResultWithToolsSchema,
  'elicitation/create': ElicitResultSchema,
  'roots/list': ListRootsResultSchema,
}

const requestsOfBoth: Schemas = {
  'tools/call': CallToolRequestSchema,
  'tools/list': ListToolsRequestSchema,
  'prompts/get': GetPromptRequestSchema,
  'prompts/list': ListPromptsRequestSchema,
  'resources/list': ListResourcesRequestSchema,
  'resources/templates/list': ListResourceTemplatesRequestSchema,
  'resources/read': ReadResourceRequestSchema,
  'completion/complete': CompleteRequestSchema,
}

const resultsOfBoth: Schemas = {
  'tools/call': CallToolResultSchema,
  'tools/list': ListToolsResultSchema,
  'prompts/get': GetPromptResultSchema,
  'prompts/list': ListPromptsResultSchema,
  'resources/list': ListResourcesResultSchema,
  'resources/templates/list': ListResourceTemplatesResultSchema,
  'resources/read': ReadResourceResultSchema,
  'completion/complete': CompleteResultSchema,
}

const notificationsOfBoth: Schemas = {
  'notifications/cancelled': CancelledNotificationSchema,
  'notifications/progress': ProgressNotificationSchema,
  'notifications/message': LoggingMessageNotificationSchema,
  'notifications/resources/updated': ResourceUpdatedNotificationSchema,
  'notifications/resources/list_changed': ResourceListChangedNotificationSchema,
  'notifications/tools/list_changed': ToolListChangedNotificationSchema,
  'notifications/prompts/list_changed': PromptListChangedNotificationSchema,
}

/** Task requests are known by name only: programs pass their own schemas for them. */
const taskMethods = ['tasks/get', 'tasks/result', 'tasks/list', 'tasks/cancel']

const legacyRequests: Schemas = {
  ...requestsOfBoth,
  ...questions,
  ping: PingRequestSchema,
  initialize: InitializeRequestSchema,
  'logging/setLevel': SetLevelRequestSchema,
  'resources/subscribe': SubscribeRequestSchema,
  'resources/unsubscribe': UnsubscribeRequestSchema,
}

const legacyResults: Schemas = {
  ...resultsOfBoth,
  ...answers,
  ping: EmptyResultSchema,
  initialize: InitializeResultSchema,
  'logging/setLevel': EmptyResultSchema,
  'resources/subscribe': EmptyResultSchema,
  'resources/unsubscribe': EmptyResultSchema,
}

const legacyNotifications: Schemas = {
  ...notificationsOfBoth,
  'notifications/initialized': InitializedNotificationSchema,
  'notifications/roots/list_changed': RootsListChangedNotificationSchema,
  'notifications/tasks/status': TaskStatusNotificationSchema,
  'notifications/elicitation/complete': ElicitationCompleteNotificationSchema,
}

const subscriptionFilter = z.looseObject({
  toolsListChanged: z.boolean().optional(),
  promptsListChanged: z.boolean().optional(),
  resourcesListChanged: z.boolean().optional(),
  resourceSubscriptions: z.array(z.string()).optional(),
})

/** The result of `server/discover`. */
export const DiscoverResultSchema: Schema = z.looseObject({
  supportedVersions: z.array(z.string()),
  capabilities: ServerCapabilitiesSchema,
  instructions: z.string().optional(),
  _meta: z.record(z.string(), z.unknown()).optional(),
})

const modernRequests: Schemas = {
  ...requestsOfBoth,
  'server/discover': z.looseObject({ method: z.literal('server/discover') }),
  'subscriptions/listen': z.looseObject({
    method: z.literal('subscriptions/listen'),
    params: z.looseObject({ notifications: subscriptionFilter }),
  }),
}

const modernResults: Schemas = {
  ...resultsOfBoth,
  // Since 2026-07-28 structured content and output schemas may be of any type.
  'tools/call': CallToolResultSchema.extend({ structuredContent: z.unknown().optional() }),
  'tools/list': ListToolsResultSchema.extend({
    tools: z.array(ToolSchema.extend({ outputSchema: z.looseObject({}).optional() })),
  }),
  'server/discover': DiscoverResultSchema,
  'subscriptions/listen': z.looseObject({}),
}

const modernNotifications: Schemas = {
  ...notificationsOfBoth,
  'notifications/subscriptions/acknowledged': z.looseObject({
    method: z.literal('notifications/subscriptions/acknowledged'),
    params: z.looseObject({ notifications: subscriptionFilter }),
  }),
}

/** Members of results that ask for input or name a task. A result of a tool without content that has one is not one. */
const membersOfOthers = ['task', 'inputRequests', 'requestState']

function checkLegacyResult(method: string, result: unknown): WireCheck | undefined {
  const isOther = isObject(result) && result.content === undefined && membersOfOthers.some((name) => name in result)
  if (method === 'tools/call' && isOther) return { ok: false, message: 'content is missing' }
  return checkWith(legacyResults, method, result)
}

/** Revisions with `initialize`. */
export const legacyRules: WireRules = {
  era: '2025-11-25',
  isModern: false,
  hasRequest: (method) => Object.hasOwn(legacyRequests, method) || taskMethods.includes(method),
  hasNotification: (method) => Object.hasOwn(legacyNotifications, method),
  checkRequest: (method, request) => checkWith(legacyRequests, method, request),
  checkResult: checkLegacyResult,
  checkNotification: (method, notification) => checkWith(legacyNotifications, method, notification),
  decodeResult(_method, result) {
    if (!isObject(result) || !('resultType' in result)) return { kind: 'complete', result: result as Result }
    const { resultType: _resultType, ...rest } = result
    return { kind: 'complete', result: rest as Result }
  },
}

/** Revisions since 2026-07-28. */
export const modernRules: WireRules = {
  era: '2026-07-28',
  isModern: true,
  hasRequest: (method) => Object.hasOwn(modernRequests, method),
  hasNotification: (method) => Object.hasOwn(modernNotifications, method),
  checkRequest: (method, request) => checkWith(modernRequests, method, request),
  checkResult: (method, result) => checkWith(modernResults, method, result),
  checkNotification: (method, notification) => checkWith(modernNotifications, method, notification),
  decodeResult: decodeModernResult,
}

/** Whether a revision belongs to the era of 2026-07-28. */
export function isModernProtocolVersion(version: string): boolean {
  return version >= MODERN_PROTOCOL_VERSION
}

/** The rules of a revision; those of `initialize` before one was negotiated. */
export function rulesOf(version: string | undefined): WireRules {
  return version !== undefined && isModernProtocolVersion(version) ? modernRules : legacyRules
}

export function isSpecRequest(method: string): boolean {
  return legacyRules.hasRequest(method) || modernRules.hasRequest(method)
}

export function isSpecNotification(method: string): boolean {
  return legacyRules.hasNotification(method) || modernRules.hasNotification(method)
}

/** On 2026-07-28 a request to open a URL has no id, because nothing reports that the user is done. */
const urlQuestion = z.object({
  method: z.literal('elicitation/create'),
  params: z.looseObject({ mode: z.literal('url'), message: z.string(), url: z.string() }),
})

/** Checks a question of a server. Undefined if there is no such question. */
export function checkQuestion(method: string, request: unknown): WireCheck | undefined {
  const checked = checkWith(questions, method, request)
  if (checked?.ok !== false || method !== 'elicitation/create') return checked
  const asUrl = toCheck(urlQuestion, request)
  return asUrl.ok ? asUrl : checked
}

/** Checks the answer to a question. */
export function checkAnswer(method: string, result: unknown, hasTools = true): WireCheck | undefined {
  if (method === 'sampling/createMessage' && !hasTools) return toCheck(CreateMessageResultSchema, result)
  return checkWith(answers, method, result)
}

function checkWith(schemas: Schemas, method: string, value: unknown): WireCheck | undefined {
  const schema = Object.hasOwn(schemas, method) ? schemas[method] : undefined
  return schema && toCheck(schema, value)
}

function toCheck(schema: Schema, value: unknown): WireCheck {
  const parsed = schema.safeParse(value)
  return parsed.success ? { ok: true, value: parsed.data } : { ok: false, message: String(parsed.error) }
}

function decodeModernResult(method: string, raw: unknown): DecodedResult {
  if (!isObject(raw)) return invalid(method, 'not an object')
  const { resultType, ...result } = raw
  if (resultType === undefined) {
    return invalid(method, 'missing required resultType, which every result has since 2026-07-28', {
      violation: 'missing-resultType',
    })
  }
  if (typeof resultType !== 'string') return invalid(method, 'non-string resultType', { resultType })
  if (resultType === 'complete') return { kind: 'complete', result: result as Result }
  if (resultType === 'input_required') return decodeInputRequired(method, raw)
  const what = `Unsupported result type '${resultType}' for ${method}`
  return { kind: 'invalid', error: new SdkError(SdkErrorCode.UnsupportedResultType, what, { resultType, method }) }
}

function decodeInputRequired(method: string, { inputRequests, requestState }: Record<string, unknown>): DecodedResult {
  const requests = isObject(inputRequests) ? inputRequests : {}
  const hasState = typeof requestState === 'string'
  if (Object.keys(requests).length === 0 && !hasState) {
    return invalid(method, 'input_required carries neither inputRequests nor requestState', {
      violation: 'input-required-missing-both',
    })
  }
  return { kind: 'input_required', inputRequests: requests, ...(hasState && { requestState }) }
}

function invalid(method: string, what: string, data?: Record<string, unknown>): DecodedResult {
  const error = new SdkError(SdkErrorCode.InvalidResult, `Invalid result for ${method}: ${what}`, { method, ...data })
  return { kind: 'invalid', error }
}
