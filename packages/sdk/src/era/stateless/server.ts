import { ProtocolError, RpcCode } from '../../errors.ts'
import type { Exchange } from '../../jsonrpc/exchange.ts'
import type { Link } from '../../jsonrpc/link.ts'
import { Prepared, type ResultObject, type RpcErrorBody, toResultText } from '../../jsonrpc/message.ts'
import type { ClientCapabilities, Implementation } from '../../protocol/capabilities.ts'
import { type LoggingLevel, loggingLevels } from '../../protocol/log-level.ts'
import { metaKeys } from '../../protocol/meta.ts'
import type { Revision } from '../../protocol/revision.ts'
import type { SubscriptionFilter } from '../../protocol/subscriptions.ts'
import { withValidTrace } from '../../protocol/trace-context.ts'
import { isUri } from '../../protocol/uri.ts'
import { isObject, type JsonObject } from '../../util/objects.ts'
import type { Call } from '../call.ts'
import { withCheckedParams } from '../checked.ts'
import { noHandshake, unsupportedVersion } from '../refusals.ts'
import type { Caller, Conversation, Definition, EraMethod, Reply, ServerEra } from '../server.ts'
import { type ConversationHost, StatelessConversation } from './conversation.ts'
import { States } from './states.ts'
import { Subscription } from './subscription.ts'

/** 2026-07-28: no session. Each request says who is calling, and each result says who answers. */
export class StatelessServer implements ServerEra {
  readonly #definition: Definition
  readonly #revisions: ReadonlyMap<string, Revision>
  readonly #ending: string
  readonly #subscriptions = new Map<Link, Set<Subscription>>()
  readonly #host: ConversationHost
  readonly mirrors = true
  readonly methods: ReadonlyMap<string, EraMethod>

  constructor(definition: Definition) {
    this.#definition = definition
    const modern = definition.revisions.filter((revision) => revision.era === 'stateless')
    this.#revisions = new Map(modern.map((revision) => [revision.id, revision]))
    const signature = { resultType: 'complete', _meta: { [metaKeys.serverInfo]: definition.info } }
    this.#ending = JSON.stringify(signature).slice(1)
    this.#host = {
      states: new States(definition),
      complete: (method, caller, result) => this.complete(method, caller, result),
      sign: (result) => this.#complete(result),
    }
    this.methods = withCheckedParams({
      'server/discover': (exchange) => this.#discover(exchange),
      'subscriptions/listen': (exchange) => this.#listen(exchange),
    }).set('initialize', ({ request }) => {
      throw noHandshake(request.params?.protocolVersion, definition.revisions)
    })
  }

  identify(exchange: Exchange): Caller {
    const meta = exchange.request.params?._meta as JsonObject
    const version = meta[metaKeys.protocolVersion]
    if (typeof version !== 'string') throw missing(metaKeys.protocolVersion, 'a string')
    const revision = this.#revisions.get(version)
    if (!revision) throw unsupportedVersion(version, this.#definition.revisions)
    const capabilities = meta[metaKeys.clientCapabilities]
    if (!isObject(capabilities)) throw missing(metaKeys.clientCapabilities, 'an object')
    const logLevel = meta[metaKeys.logLevel]
    if (logLevel !== undefined && !loggingLevels.includes(logLevel as LoggingLevel)) {
      throw new ProtocolError(RpcCode.InvalidParams, `params._meta["${metaKeys.logLevel}"] is no log level`)
    }
    const clientInfo = meta[metaKeys.clientInfo]
    if (clientInfo !== undefined && !isImplementation(clientInfo)) {
      throw missing(metaKeys.clientInfo, 'an object with a name and a version')
    }
    return {
      revision: revision.id,
      rules: revision,
      clientInfo,
      capabilities: capabilities as ClientCapabilities,
      // What was not declared is not sent, even when it is asked for.
      logLevel:
        logLevel !== undefined && this.#definition.capabilities().logging ? (logLevel as LoggingLevel) : undefined,
      answers: true,
    }
  }

  converse(call: Call, caller: Caller): Conversation {
    return new StatelessConversation(call, caller, this.#host)
  }

  complete(method: string, { rules }: Caller, result: ResultObject): Reply {
    return this.#complete(rules.toResult(method, this.#withHints(method, result)))
  }

  toError(error: ProtocolError): RpcErrorBody {
    return error.toBody(olderCodes.get(error.rpcCode) ?? error.rpcCode)
  }

  notified(): void {}

  drain(link: Link): void {
    for (const subscription of this.#subscriptions.get(link) ?? []) subscription.end()
  }

  closed(link: Link): void {
    this.#subscriptions.delete(link)
  }

  /** Cacheable results say how long they may be kept, also those of handlers that do not know of it. */
  #withHints(method: string, result: ResultObject): ResultObject {
    if (!cacheable.has(method) || (result.ttlMs !== undefined && result.cacheScope !== undefined)) return result
    return { ...this.#definition.cacheHints, ...result }
  }

  /**
   * Marks a result as final and signs it. What is the same for every result is text already: building it into each
   * result object cost more than the rest of a small call.
   */
  #complete(result: ResultObject): Reply {
    if (result._meta === undefined && result.resultType === undefined) {
      const json = toResultText(result)
      return new Prepared(json === '{}' ? `{${this.#ending}` : `${json.slice(0, -1)},${this.#ending}`)
    }
    const meta = { [metaKeys.serverInfo]: this.#definition.info }
    const own = withValidTrace((result._meta ?? {}) as JsonObject)
    return { ...result, resultType: result.resultType ?? 'complete', _meta: { ...meta, ...own } }
  }

  #discover(exchange: Exchange): Reply {
    const { rules } = this.identify(exchange)
    const { revisions, instructions, cacheHints } = this.#definition
    const result = {
      supportedVersions: revisions.map(({ id }) => id),
      capabilities: this.#definition.capabilities(),
      ...(instructions !== undefined && { instructions }),
      ...cacheHints,
    }
    return this.#complete(rules.toResult('server/discover', result))
  }

  #listen(exchange: Exchange): undefined {
    const caller = this.identify(exchange)
    const { resourceSubscriptions, taskIds } = exchange.request.params!.notifications as SubscriptionFilter
    const open = this.#subscriptions.get(exchange.link) ?? new Set()
    checkWish(resourceSubscriptions, taskIds, open.size)
    this.#subscriptions.set(exchange.link, open)
    const begin = (accepted?: string[]): undefined => {
      if (exchange.ended) return
      const complete = (result: ResultObject) => this.#complete(result)
      const subscription = new Subscription(exchange, caller, this.#definition, complete, accepted)
      open.add(subscription)
      exchange.onEnd(() => open.delete(subscription))
    }
    const { tasks } = this.#definition
    if (!taskIds || !tasks) return begin()
    const failed = (error: unknown) => {
      if (error instanceof ProtocolError) exchange.fail(this.toError(error))
      else exchange.fail({ code: RpcCode.InternalError, message: 'Internal error' })
    }
    tasks.accept(taskIds, exchange, caller).then(begin).catch(failed)
  }
}

/** 2026-07-28 caching. */
const cacheable: ReadonlySet<string> = new Set([
  'tools/list',
  'prompts/list',
  'resources/list',
  'resources/templates/list',
  'resources/read',
])

/** Numbers that this era must not use, and what it says instead. */
const olderCodes: ReadonlyMap<number, number> = new Map([
  [RpcCode.ResourceNotFound, RpcCode.InvalidParams],
  [RpcCode.UrlElicitationRequired, RpcCode.InternalError],
])

function isImplementation(value: unknown): value is Implementation {
  return isObject(value) && typeof value.name === 'string' && typeof value.version === 'string'
}

const maxListens = 100
const maxUris = 10_000
const maxTasks = 10_000

/** What a client can make us keep is bounded. */
function checkWish(uris: string[] = [], taskIds: string[] = [], listens: number): void {
  if (listens >= maxListens)
    throw new ProtocolError(RpcCode.InvalidParams, `At most ${maxListens} subscriptions at a time`)
  if (taskIds.length > maxTasks) throw new ProtocolError(RpcCode.InvalidParams, `At most ${maxTasks} tasks at a time`)
  if (uris.length > maxUris) throw new ProtocolError(RpcCode.InvalidParams, `At most ${maxUris} resources at a time`)
  if (!uris.every(isUri)) {
    throw new ProtocolError(
      RpcCode.InvalidParams,
      'params.notifications.resourceSubscriptions has no valid URI at some place',
    )
  }
}

function missing(key: string, type: string): ProtocolError {
  return new ProtocolError(RpcCode.InvalidParams, `params._meta["${key}"] must be ${type}`)
}
