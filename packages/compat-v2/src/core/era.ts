import { callerMetaProblem, type Revision, revisions } from 'tenon'
import { isObject } from 'tenon/internal'
import { cacheableMethods, fillCacheHints, withoutHint } from './cache-hints.ts'
import { MODERN_PROTOCOL_VERSION, PROTOCOL_VERSION_META_KEY, SERVER_INFO_META_KEY } from './constants.ts'
import { ProtocolError, ProtocolErrorCode } from './errors.ts'
import type { CallToolResult, Implementation, ProtocolEra, Result } from './types.ts'

/** Whether a revision is without `initialize`: 2026-07-28 and later. */
export function isModernProtocolVersion(version: string): boolean {
  return /^\d{4}-\d\d-\d\d$/.test(version) && version >= MODERN_PROTOCOL_VERSION
}

export function legacyVersionsOf(versions: readonly string[]): string[] {
  return versions.filter((version) => !isModernProtocolVersion(version))
}

export function modernVersionsOf(versions: readonly string[]): string[] {
  return versions.filter(isModernProtocolVersion)
}

/** How messages look on the wire. A connection has one era: the one of the revision that was negotiated. */
export interface WireEra {
  readonly kind: ProtocolEra
  /** The revision that the era is named after. */
  readonly name: string
  hasRequest(method: string): boolean
  hasNotification(method: string): boolean
  /** Describes what is wrong with the envelope of a request; undefined if nothing is. */
  envelopeProblem(envelope: Readonly<Record<string, unknown>> | undefined): string | undefined
  /** Adapts the result of a handler. */
  encodeResult(method: string, result: Result, serverInfo: Implementation | undefined): Result
  /** Adapts the result of a tool to what its listed output schema says. */
  projectToolResult(result: CallToolResult, outputSchema: Readonly<Record<string, unknown>> | undefined): CallToolResult
}

const methods: ReadonlySet<string> = new Set([
  'ping',
  'initialize',
  'server/discover',
  'completion/complete',
  'logging/setLevel',
  'prompts/get',
  'prompts/list',
  'resources/list',
  'resources/templates/list',
  'resources/read',
  'resources/subscribe',
  'resources/unsubscribe',
  'subscriptions/listen',
  'tools/call',
  'tools/list',
  'sampling/createMessage',
  'elicitation/create',
  'roots/list',
])

const notifications: ReadonlySet<string> = new Set([
  'notifications/cancelled',
  'notifications/progress',
  'notifications/initialized',
  'notifications/roots/list_changed',
  'notifications/message',
  'notifications/resources/updated',
  'notifications/resources/list_changed',
  'notifications/tools/list_changed',
  'notifications/prompts/list_changed',
  'notifications/elicitation/complete',
  'notifications/subscriptions/acknowledged',
])

/** Whether a method is part of the protocol in any revision. Other methods belong to the program. */
export function isSpecRequestMethod(method: string): boolean {
  return methods.has(method)
}

export function isSpecNotificationMethod(method: string): boolean {
  return notifications.has(method)
}

/** The methods whose result may ask for input first. */
export const inputRequiredMethods: ReadonlySet<string> = new Set(['tools/call', 'prompts/get', 'resources/read'])

function revision(id: string): Revision {
  return revisions.find((candidate) => candidate.id === id)!
}

class LegacyEra implements WireEra {
  readonly kind = 'legacy'
  readonly name = '2025-11-25'
  private readonly _revision = revision(this.name)

  hasRequest(method: string): boolean {
    return methods.has(method) && !this._revision.lacks(method)
  }

  hasNotification(method: string): boolean {
    return notifications.has(method) && !this._revision.lacks(method)
  }

  envelopeProblem(): undefined {
    return undefined
  }

  encodeResult(method: string, result: Result): Result {
    const plain = withoutHint(result)
    const { tools } = plain as { tools?: unknown }
    return method === 'tools/list' && Array.isArray(tools) ? { ...plain, tools: this._withObjectSchemas(tools) } : plain
  }

  private _withObjectSchemas(tools: readonly unknown[]): unknown[] {
    const adapted = this._revision.toResult('tools/list', { tools }).tools as unknown[]
    return adapted.map((tool, index) => withDialect(tool as ListedTool, tools[index] as ListedTool))
  }

  projectToolResult(result: CallToolResult, outputSchema?: Readonly<Record<string, unknown>>): CallToolResult {
    const readable = withTextFallback(result)
    const { structuredContent } = readable
    if (structuredContent === undefined) return readable
    const isWrapped = outputSchema !== undefined && outputSchema.type !== 'object'
    if (isObject(structuredContent) && !isWrapped) return readable
    return { ...readable, structuredContent: { result: structuredContent } }
  }
}

class ModernEra implements WireEra {
  readonly kind = 'modern'
  readonly name = MODERN_PROTOCOL_VERSION
  private readonly _revision = revision(MODERN_PROTOCOL_VERSION)

  hasRequest(method: string): boolean {
    return methods.has(method) && !this._revision.lacks(method)
  }

  hasNotification(method: string): boolean {
    return notifications.has(method) && !this._revision.lacks(method)
  }

  envelopeProblem(envelope: Readonly<Record<string, unknown>> | undefined): string | undefined {
    if (!envelope) return `Request is missing the required _meta envelope of protocol revision ${this.name}`
    if (typeof envelope[PROTOCOL_VERSION_META_KEY] !== 'string') {
      return `Invalid _meta envelope: ${PROTOCOL_VERSION_META_KEY} must be a string`
    }
    const problem = callerMetaProblem(envelope)
    return problem === undefined ? undefined : `Invalid _meta envelope: ${problem}`
  }

  encodeResult(method: string, result: Result, serverInfo: Implementation | undefined): Result {
    const typed = withResultType(method, this._withoutRemovedFields(method, result))
    const isCacheable = typed.resultType === 'complete' && cacheableMethods.has(method)
    return withServerInfo(isCacheable ? fillCacheHints(typed) : withoutHint(typed), serverInfo)
  }

  projectToolResult(result: CallToolResult): CallToolResult {
    return withTextFallback(result)
  }

  /** Fields that earlier revisions had. */
  private _withoutRemovedFields(method: string, result: Result): Result {
    const { tools, capabilities } = result as { tools?: unknown; capabilities?: unknown }
    if (method === 'tools/list' && Array.isArray(tools)) {
      const withoutExecution = ({ execution: _, ...tool }: Record<string, unknown>) => tool
      return { ...result, tools: tools.map((tool) => (isObject(tool) ? withoutExecution(tool) : tool)) }
    }
    if (!isObject(capabilities) || !('tasks' in capabilities)) return result
    const { tasks: _, ...others } = capabilities
    return { ...result, capabilities: others }
  }
}

export const legacyEra: WireEra = new LegacyEra()
export const modernEra: WireEra = new ModernEra()

/** The era of a revision; the legacy one as long as none is negotiated. */
export function eraOf(version: string | undefined): WireEra {
  return version !== undefined && isModernProtocolVersion(version) ? modernEra : legacyEra
}

interface ListedTool {
  readonly outputSchema?: { readonly $schema?: unknown; readonly properties?: { readonly result?: object } }
}

/** An output schema that became a property of an object keeps its dialect, which the object has too. */
function withDialect(adapted: ListedTool, tool: ListedTool): ListedTool {
  const { outputSchema } = adapted
  const $schema = tool?.outputSchema?.$schema
  if (adapted === tool || $schema === undefined) return adapted
  const properties = { result: { $schema, ...outputSchema?.properties?.result } }
  return { ...adapted, outputSchema: { ...outputSchema, properties } }
}

function withResultType(method: string, result: Result): Result {
  const { resultType } = result as { resultType?: unknown }
  if (resultType === undefined) return { ...result, resultType: 'complete' }
  if (resultType === 'complete' || inputRequiredMethods.has(method)) return result
  const problem = `Handler for ${method} returned resultType '${String(resultType)}', but only 'complete' is possible`
  throw new ProtocolError(ProtocolErrorCode.InternalError, problem)
}

function withServerInfo(result: Result, serverInfo: Implementation | undefined): Result {
  if (!serverInfo) return result
  const { _meta: meta = {} } = result
  if (!isObject(meta) || meta[SERVER_INFO_META_KEY] !== undefined) return result
  return { ...result, _meta: { ...meta, [SERVER_INFO_META_KEY]: serverInfo } }
}

/** Clients that do not read structured content get other values than objects as text too. */
function withTextFallback(result: CallToolResult): CallToolResult {
  const { structuredContent, content = [] } = result
  if (structuredContent === undefined || isObject(structuredContent)) return result
  if (content.some((block) => block.type === 'text')) return result
  return { ...result, content: [...content, { type: 'text', text: JSON.stringify(structuredContent) }] }
}
