import { ErrorCode, ProtocolError } from '../../errors.ts'
import type { Exchange } from '../../jsonrpc/exchange.ts'
import type { Link } from '../../jsonrpc/link.ts'
import { Prepared, type ResultObject, type RpcErrorBody, toResultText } from '../../jsonrpc/message.ts'
import type { Caller } from '../../protocol/caller.ts'
import { checkCallerMeta, invalidVersion, metaKeys } from '../../protocol/meta.ts'
import type { Revision } from '../../protocol/revision.ts'
import type { SubscriptionFilter } from '../../protocol/subscriptions.ts'
import { withValidTrace } from '../../protocol/trace-context.ts'
import { requestStreamOf } from '../../protocol/transport.ts'
import { isUri } from '../../protocol/uri.ts'
import type { Conversation, Reply } from '../../replay/conversation.ts'
import { type ReplayBackend, ReplayingConversation } from '../../replay/replaying-conversation.ts'
import { SealedStates } from '../../replay/sealed-states.ts'
import { accountOf } from '../../util/account.ts'
import type { JsonObject } from '../../util/objects.ts'
import { principalOf } from '../access.ts'
import type { Call } from '../call.ts'
import { noHandshake, unsupportedVersion } from '../method-errors.ts'
import { type Definition, type EraMethod, type ServerEra, withCheckedParams } from '../server.ts'
import { Subscription } from './subscription.ts'

/** 2026-07-28: no sessions. Each request describes its caller, and each result names the server. */
export class StatelessServer implements ServerEra {
  readonly #definition: Definition
  readonly #revisions: ReadonlyMap<string, Revision>
  /** The end of every final result, as JSON text. */
  readonly #suffix: string
  readonly #subscriptions = new Map<Link, Set<Subscription>>()
  readonly replay: ReplayBackend<Call>
  readonly methods: ReadonlyMap<string, EraMethod>

  constructor(definition: Definition) {
    this.#definition = definition
    const stateless = definition.revisions.filter((revision) => revision.era === 'stateless')
    this.#revisions = new Map(stateless.map((revision) => [revision.id, revision]))
    const common = { resultType: 'complete', _meta: { [metaKeys.serverInfo]: definition.info } }
    this.#suffix = JSON.stringify(common).slice(1)
    const { info, sealer, questions } = definition
    this.replay = {
      states: new SealedStates<Call>({
        serverName: info.name,
        sealer,
        limits: questions,
        principalOf,
        accountOf: ({ stream, link }) => accountOf(stream?.request ?? link.transport),
        isRepeatable: ({ method, params = {} }) => method !== 'tools/call' || definition.isRepeatable(params),
      }),
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
    if (typeof version !== 'string') throw new ProtocolError(ErrorCode.InvalidParams, invalidVersion)
    const revision = this.#revisions.get(version)
    if (!revision) throw unsupportedVersion(version, this.#definition.revisions)
    checkCallerMeta(meta)
    exchange.link.isStateless = true
    const logLevel = meta[metaKeys.logLevel]
    return {
      revision: revision.id,
      rules: revision,
      clientInfo: meta[metaKeys.clientInfo],
      capabilities: meta[metaKeys.clientCapabilities],
      // A server that does not declare logging sends no log messages.
      logLevel: logLevel !== undefined && this.#definition.capabilities().logging ? logLevel : undefined,
      canAnswer: true,
    }
  }

  converse(call: Call, caller: Caller): Conversation {
    return new ReplayingConversation(call, caller, this.replay)
  }

  complete(method: string, { rules }: Caller, result: ResultObject): Reply {
    return this.#complete(rules.toResult(method, this.#withHints(method, result)))
  }

  toError(error: ProtocolError): RpcErrorBody {
    return error.toBody(replacedCodes.get(error.rpcCode) ?? error.rpcCode)
  }

  notified(): void {}

  drain(link: Link): void {
    for (const subscription of this.#subscriptions.get(link) ?? []) subscription.end()
  }

  closed(link: Link): void {
    this.#subscriptions.delete(link)
  }

  /** Adds the server's cache hints to results of handlers that set none. */
  #withHints(method: string, result: ResultObject): ResultObject {
    if (!cacheable.has(method) || (result.ttlMs !== undefined && result.cacheScope !== undefined)) return result
    return { ...this.#definition.cacheHintsOf(method), ...result }
  }

  /**
   * Adds `resultType` and the server's name. Both are appended as text, because copying them into each result object took
   * longer than the rest of a small call.
   */
  #complete(result: ResultObject): Reply {
    if (result._meta === undefined && result.resultType === undefined) {
      const json = toResultText(result)
      return new Prepared(json === '{}' ? `{${this.#suffix}` : `${json.slice(0, -1)},${this.#suffix}`)
    }
    const meta = { [metaKeys.serverInfo]: this.#definition.info }
    const own = withValidTrace((result._meta ?? {}) as JsonObject)
    return { ...result, resultType: result.resultType ?? 'complete', _meta: { ...meta, ...own } }
  }

  #discover(exchange: Exchange): Reply {
    const { rules } = this.identify(exchange)
    const { revisions, instructions } = this.#definition
    const result = {
      supportedVersions: revisions.map(({ id }) => id),
      capabilities: this.#definition.capabilities(),
      ...(instructions !== undefined && { instructions }),
      ...this.#definition.cacheHintsOf('server/discover'),
    }
    return this.#complete(rules.toResult('server/discover', result))
  }

  #listen(exchange: Exchange): undefined {
    const caller = this.identify(exchange)
    const { resourceSubscriptions, taskIds } = exchange.request.params!.notifications as SubscriptionFilter
    const open = this.#subscriptions.get(exchange.link) ?? new Set()
    checkListenLimits(resourceSubscriptions, taskIds, open.size)
    this.#subscriptions.set(exchange.link, open)
    const start = (acceptedIds?: string[], acceptedUris?: string[]): undefined => {
      if (exchange.ended) return
      const complete = (result: ResultObject) => this.#complete(result)
      const subscription = new Subscription(exchange, caller, this.#definition, complete, acceptedIds, acceptedUris)
      open.add(subscription)
      exchange.onEnd(() => open.delete(subscription))
      if (!subscription.confirmed) return void subscription.begin()
      subscription.confirmed.then(() => exchange.ended || subscription.begin()).catch(failed)
    }
    const failed = (error: unknown) => {
      if (error instanceof ProtocolError) exchange.fail(this.toError(error))
      else exchange.fail({ code: ErrorCode.InternalError, message: 'Internal error' })
    }
    const { tasks, acceptUris, capabilities } = this.#definition
    const ids = taskIds && tasks?.accept(taskIds, exchange, caller)
    const isOffered = resourceSubscriptions?.length && capabilities().resources?.subscribe
    const uris = isOffered ? acceptUris?.(resourceSubscriptions, exchange, caller) : undefined
    if (!ids && !uris) return start()
    Promise.all([ids, uris])
      .then((accepted) => {
        // Other requests may have opened the last streams meanwhile.
        if (requestStreamOf(exchange)?.begin?.() === false) throw noStream()
        start(...accepted)
      })
      .catch(failed)
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

/** Error codes that 2026-07-28 does not have, and what is sent instead. */
const replacedCodes: ReadonlyMap<number, number> = new Map([
  [ErrorCode.ResourceNotFound, ErrorCode.InvalidParams],
  [ErrorCode.UrlElicitationRequired, ErrorCode.InternalError],
])

const maxListens = 100
const maxUris = 10_000
const maxTasks = 10_000

function noStream(): ProtocolError {
  return new ProtocolError(ErrorCode.InternalError, 'Stream limit reached: close other subscriptions first.')
}

/** Bounds the memory that one client can use. */
function checkListenLimits(uris: string[] = [], taskIds: string[] = [], listens: number): void {
  if (listens >= maxListens)
    throw new ProtocolError(ErrorCode.InvalidParams, `At most ${maxListens} subscriptions at a time`)
  if (taskIds.length > maxTasks) throw new ProtocolError(ErrorCode.InvalidParams, `At most ${maxTasks} tasks at a time`)
  if (uris.length > maxUris) throw new ProtocolError(ErrorCode.InvalidParams, `At most ${maxUris} resources at a time`)
  if (!uris.every(isUri)) {
    throw new ProtocolError(
      ErrorCode.InvalidParams,
      'Each of params.notifications.resourceSubscriptions must be a valid URI',
    )
  }
}
