import { ClosedError, HttpError, McpError } from '../../errors.ts'
import type { Link } from '../../jsonrpc/link.ts'
import type { Params, RequestId, ResultObject, RpcNotification } from '../../jsonrpc/message.ts'
import type { ClientCapabilities, Implementation } from '../../protocol/capabilities.ts'
import type { DiscoverResult } from '../../protocol/discover.ts'
import { metaKeys } from '../../protocol/meta.ts'
import { paramsChecks } from '../../protocol/params.ts'
import type { Revision } from '../../protocol/revision.ts'
import type { SubscriptionFilter } from '../../protocol/subscriptions.ts'
import { tasksExtension } from '../../protocol/tasks.ts'
import { clientTransportOf } from '../../protocol/transport.ts'
import { deferred } from '../../util/deferred.ts'
import { isObject, type JsonObject, omit } from '../../util/objects.ts'
import { scheduler } from '../../util/scheduler.ts'
import type { CallInput, CallOptions, ClientEra, ClientIdentity, Listening, ServerFacts } from '../client.ts'

/** How long a server may take to acknowledge a subscription. */
const acknowledgeTimeoutMs = 30_000

/** Result types of extensions, and the requests that may have them. */
const resultTypes: ReadonlyMap<string, Readonly<Record<string, readonly string[]>>> = new Map([
  [tasksExtension, { task: ['tools/call'] }],
])

interface OpenListening {
  acknowledged(honoured: SubscriptionFilter): void
  ended(): void
}

/** The client in 2026-07-28: every request describes it in `_meta`. */
export class StatelessClient implements ClientEra {
  facts: ServerFacts
  /** The members of `_meta` that describe this client, as JSON text without braces. */
  readonly #meta: string
  /** The same, with the tasks extension declared. */
  readonly #taskMeta: string
  readonly #extensions: readonly string[]
  readonly #identity: ClientIdentity
  /** The same two texts for calls that declare other capabilities. */
  readonly #callMeta = new WeakMap<ClientCapabilities, { readonly plain: string; readonly task: string }>()
  readonly #listening = new Map<RequestId, OpenListening>()

  constructor(facts: ServerFacts, identity: ClientIdentity) {
    this.facts = facts
    this.#identity = identity
    this.#extensions = Object.keys(identity.capabilities.extensions ?? {})
    this.#meta = toText(requestMeta(identity, facts.revision))
    this.#taskMeta = toText(requestMeta(withTasks(identity), facts.revision))
  }

  begin(link: Link): void {
    clientTransportOf(link).setProtocolVersion?.(this.facts.revision.id)
  }

  async refresh(link: Link): Promise<void> {
    const discovery = readDiscovery(await link.request('server/discover', {}, { meta: this.#meta }))
    if (discovery) this.facts = { ...discovery.facts, revision: this.facts.revision }
  }

  async call(
    link: Link,
    method: string,
    params: Params | undefined,
    options: CallOptions | undefined,
  ): Promise<ResultObject> {
    const meta = this.#metaFor(options?.takesTasks === true, options?.input)
    const result = await link.request(method, params, { ...options, meta })
    const type = result.resultType
    // Results of earlier revisions have no type. The caller of this method handles `input_required`.
    if (type === undefined || type === 'complete' || type === 'input_required') return result
    this.#checkType(method, type, options?.takesTasks === true)
    return result
  }

  #metaFor(takesTasks: boolean, input: CallInput | undefined): string {
    if (!input) return takesTasks ? this.#taskMeta : this.#meta
    let texts = this.#callMeta.get(input.capabilities)
    if (!texts) {
      const { info, capabilities: own } = this.#identity
      // Extensions are a matter of the program, not of the user that it calls for.
      const extensions = own.extensions && { extensions: own.extensions }
      const identity = { info, capabilities: { ...input.capabilities, ...extensions } }
      const { revision } = this.facts
      texts = {
        plain: toText(requestMeta(identity, revision)),
        task: toText(requestMeta(withTasks(identity), revision)),
      }
      this.#callMeta.set(input.capabilities, texts)
    }
    return takesTasks ? texts.task : texts.plain
  }

  /** Any other type must belong to an extension that this client declared, and be allowed for the method. */
  #checkType(method: string, type: unknown, takesTasks: boolean): void {
    const declared = takesTasks ? [...this.#extensions, tasksExtension] : this.#extensions
    const methods = declared.map((id) => methodsFor(id, type)).find((found) => found)
    // For custom methods the extension is not restricted.
    if (methods && (methods.includes(method) || !paramsChecks.has(method))) return
    const why = methods ? 'which its extension does not allow for the method' : 'which this client did not declare'
    throw new McpError(
      'invalid-response',
      `${method} was answered with resultType ${String(JSON.stringify(type)).slice(0, 200)}, ${why}`,
    )
  }

  async listen(link: Link, filter: SubscriptionFilter): Promise<Listening> {
    const stop = new AbortController()
    let id: RequestId | undefined
    const ended = deferred<'closed' | 'lost'>()
    const acknowledged = deferred<SubscriptionFilter>()
    // Over HTTP a server also closes streams before a restart. The client then subscribes again.
    const byServer = clientTransportOf(link).readsHeaders ? 'lost' : 'closed'
    const request = link.request(
      'subscriptions/listen',
      { notifications: filter },
      {
        meta: filter.taskIds ? this.#taskMeta : this.#meta,
        signal: stop.signal,
        timeoutMs: 0,
        onSent: (sent) => {
          id = sent
          this.#listening.set(sent, { acknowledged: acknowledged.resolve, ended: () => ended.resolve(byServer) })
        },
      },
    )
    const finish = (error: unknown) => {
      if (id !== undefined) this.#listening.delete(id)
      acknowledged.reject(error)
      ended.resolve(isLoss(error) ? 'lost' : 'closed')
    }
    request.then(() => {
      ended.resolve(byServer)
      finish(new McpError('cancelled', 'The server ended the subscription'))
    }, finish)
    const timer = scheduler.setTimeout(
      () => stop.abort('The server did not acknowledge the subscription'),
      acknowledgeTimeoutMs,
    )
    const honoured = await acknowledged.promise.finally(() => scheduler.clearTimeout(timer))
    return {
      honoured,
      ended: ended.promise,
      close: async () => {
        stop.abort('The client closed the subscription')
        await ended.promise
      },
    }
  }

  notified({ method, params }: RpcNotification): void {
    if (method === 'notifications/subscriptions/acknowledged') {
      const id = (params?._meta as JsonObject | undefined)?.[metaKeys.subscriptionId] as RequestId
      this.#listening.get(id)?.acknowledged((params?.notifications ?? {}) as SubscriptionFilter)
    } else if (method === 'notifications/cancelled') {
      // The server closed the subscription. The result may follow.
      this.#listening.get(params?.requestId as RequestId)?.ended()
    }
  }
}

/** The methods that may have a result of this type. `type` comes from the server, so it can be any value. */
function methodsFor(extension: string, type: unknown): readonly string[] | undefined {
  const types = resultTypes.get(extension)
  return types && typeof type === 'string' && Object.hasOwn(types, type) ? types[type] : undefined
}

/** 2026-07-28 subscriptions: a stream that ends without a response was lost, not closed. */
function isLoss(error: unknown): boolean {
  return error instanceof ClosedError || (error instanceof HttpError && error.outcome !== 'refused')
}

export function requestMeta(identity: ClientIdentity, revision: Revision): JsonObject {
  return {
    [metaKeys.protocolVersion]: revision.id,
    [metaKeys.clientInfo]: identity.info,
    [metaKeys.clientCapabilities]: toDeclared(identity.capabilities),
  }
}

function withTasks({ info, capabilities }: ClientIdentity): ClientIdentity {
  return { info, capabilities: { ...capabilities, extensions: { [tasksExtension]: {}, ...capabilities.extensions } } }
}

/** Without braces, so that it can be inserted into `_meta`. */
function toText(meta: JsonObject): string {
  return JSON.stringify(meta).slice(1, -1)
}

/** In 2026-07-28 clients cannot announce changes of roots, and tasks are an extension. */
function toDeclared({ tasks: _tasks, ...capabilities }: ClientCapabilities): ClientCapabilities {
  const { roots } = capabilities
  return roots ? { ...capabilities, roots: omit(roots, ['listChanged']) } : capabilities
}

/** Reads the result of `server/discover`. Returns undefined if it is not one. */
export function readDiscovery(
  result: Partial<DiscoverResult>,
): { supported: string[]; facts: Omit<ServerFacts, 'revision'> } | undefined {
  const { supportedVersions, capabilities, instructions, resultType = 'complete' } = result
  if (!Array.isArray(supportedVersions) || resultType !== 'complete') return undefined
  const info = result._meta?.[metaKeys.serverInfo]
  return {
    supported: supportedVersions,
    facts: {
      info: isObject(info) ? (info as unknown as Implementation) : undefined,
      capabilities: isObject(capabilities) ? capabilities : {},
      instructions: typeof instructions === 'string' ? instructions : undefined,
    },
  }
}
