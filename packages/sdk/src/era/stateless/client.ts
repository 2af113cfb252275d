import { ClosedError, HttpError, McpError } from '../../errors.ts'
import type { Link, SendOptions } from '../../jsonrpc/link.ts'
import type { Params, RequestId, ResultObject, RpcNotification } from '../../jsonrpc/message.ts'
import type { Revision } from '../../protocol/revision.ts'
import {
  type ClientCapabilities,
  type DiscoverResult,
  type Implementation,
  metaKeys,
  type SubscriptionFilter,
} from '../../protocol/types.ts'
import { deferred } from '../../util/deferred.ts'
import { isObject, type JsonObject, omit } from '../../util/objects.ts'
import type { ClientEra, ClientIdentity, Listening, ServerFacts } from '../client.ts'

/** How long a server may take to acknowledge a subscription. */
const acknowledgeTimeoutMs = 30_000

/** Result types that extensions bring, by extension id. */
const resultTypes: ReadonlyMap<string, string[]> = new Map([['io.modelcontextprotocol/tasks', ['task']]])

interface OpenListening {
  acknowledged(honoured: SubscriptionFilter): void
  ended(): void
}

/** 2026-07-28, from the client's side: every request says who we are. */
export class StatelessClient implements ClientEra {
  facts: ServerFacts
  readonly answersRequests = false
  /** Who we are, as the text that goes into every request. */
  readonly #meta: string
  readonly #extensionTypes: ReadonlySet<unknown>
  readonly #listening = new Map<RequestId, OpenListening>()

  constructor(facts: ServerFacts, identity: ClientIdentity) {
    this.facts = facts
    const extensions = Object.keys(identity.capabilities.extensions ?? {})
    this.#extensionTypes = new Set(extensions.flatMap((id) => resultTypes.get(id) ?? []))
    this.#meta = JSON.stringify(requestMeta(identity, facts.revision)).slice(1, -1)
  }

  begin(link: Link): void {
    link.transport.setProtocolVersion?.(this.facts.revision.id)
  }

  async refresh(link: Link): Promise<void> {
    const discovery = readDiscovery(await link.request('server/discover', {}, { meta: this.#meta }))
    if (discovery) this.facts = { ...discovery.facts, revision: this.facts.revision }
  }

  async call(
    link: Link,
    method: string,
    params: Params | undefined,
    options: SendOptions | undefined,
  ): Promise<ResultObject> {
    const result = await link.request(method, params, { ...options, meta: this.#meta })
    const type = result.resultType
    // A result of an earlier revision has none; any other than these comes from an extension that we did not declare.
    if (type === undefined || type === 'complete' || this.#extensionTypes.has(type)) return result
    // Whoever made the call answers the questions and makes it again.
    if (type === 'input_required') return result
    throw new McpError(
      'invalid-response',
      `${method} was answered with resultType ${JSON.stringify(type)}, which this client did not declare`,
    )
  }

  async listen(link: Link, filter: SubscriptionFilter): Promise<Listening> {
    const stop = new AbortController()
    let id: RequestId | undefined
    const ended = deferred<'closed' | 'lost'>()
    const acknowledged = deferred<SubscriptionFilter>()
    // Over HTTP a server ends its streams when it is replaced by another, which can be listened to.
    const byServer = link.transport.readsHeaders ? 'lost' : 'closed'
    const request = link.request(
      'subscriptions/listen',
      { notifications: filter },
      {
        meta: this.#meta,
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
    const timer = setTimeout(() => stop.abort('No acknowledgement came'), acknowledgeTimeoutMs)
    const honoured = await acknowledged.promise.finally(() => clearTimeout(timer))
    return {
      honoured,
      ended: ended.promise,
      close: async () => {
        stop.abort('The client stops listening')
        await ended.promise
      },
    }
  }

  notified({ method, params }: RpcNotification): void {
    if (method === 'notifications/subscriptions/acknowledged') {
      const id = (params?._meta as JsonObject | undefined)?.[metaKeys.subscriptionId] as RequestId
      this.#listening.get(id)?.acknowledged((params?.notifications ?? {}) as SubscriptionFilter)
    } else if (method === 'notifications/cancelled') {
      // The server ends a subscription of ours; the result that may follow says the same.
      this.#listening.get(params?.requestId as RequestId)?.ended()
    }
  }
}

/** 2026-07-28 subscriptions: a stream that closes without a response was not ended on purpose. */
function isLoss(error: unknown): boolean {
  return error instanceof ClosedError || (error instanceof HttpError && error.outcome !== 'refused')
}

export function requestMeta(identity: ClientIdentity, revision: Revision): JsonObject {
  return {
    [metaKeys.protocolVersion]: revision.id,
    [metaKeys.clientInfo]: identity.info,
    [metaKeys.clientCapabilities]: withoutListChanged(identity.capabilities),
  }
}

/** 2026-07-28 roots: there is nobody who could be told of changes. */
function withoutListChanged(capabilities: ClientCapabilities): ClientCapabilities {
  const { roots } = capabilities
  return roots ? { ...capabilities, roots: omit(roots, ['listChanged']) } : capabilities
}

/** What a discover result says; undefined when it is none. */
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
