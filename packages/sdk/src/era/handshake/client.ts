import { RevisionError } from '../../errors.ts'
import type { Link } from '../../jsonrpc/link.ts'
import type { Params, ResultObject } from '../../jsonrpc/message.ts'
import type { RequestOptions } from '../../jsonrpc/pending.ts'
import type { ClientCapabilities } from '../../protocol/capabilities.ts'
import type { InitializeResult } from '../../protocol/initialize.ts'
import type { Revision } from '../../protocol/revision.ts'
import type { SubscriptionFilter } from '../../protocol/subscriptions.ts'
import { tasksExtension } from '../../protocol/tasks.ts'
import { clientTransportOf } from '../../protocol/transport.ts'
import { deferred } from '../../util/deferred.ts'
import { isObject, omit } from '../../util/objects.ts'
import type { CallOptions, ClientEra, ClientIdentity, Listening, ServerFacts } from '../client.ts'

/** The client in 2024-11-05 to 2025-11-25. */
export class HandshakeClient implements ClientEra {
  readonly facts: ServerFacts

  constructor(facts: ServerFacts) {
    this.facts = facts
  }

  /**
   * Sends `initialize`.
   * @param revisions The revisions that the client supports, newest first. It requests the newest.
   */
  static async open(
    link: Link,
    identity: ClientIdentity,
    revisions: readonly Revision[],
    options: RequestOptions,
  ): Promise<HandshakeClient> {
    const newest = revisions[0]!
    const params = newest.toParams('initialize', {
      protocolVersion: newest.id,
      capabilities: withoutTasksExtension(identity.capabilities),
      clientInfo: identity.info,
    })
    const result = (await link.request('initialize', params, options)) as Partial<InitializeResult>
    const revision = revisions.find(({ id }) => id === result.protocolVersion)
    if (!revision) throw noCommonRevision(String(result.protocolVersion), revisions)
    const facts = {
      revision,
      info: isObject(result.serverInfo) ? result.serverInfo : undefined,
      capabilities: isObject(result.capabilities) ? result.capabilities : {},
      instructions: typeof result.instructions === 'string' ? result.instructions : undefined,
    }
    return new HandshakeClient(facts)
  }

  begin(link: Link, announces: boolean | 'delivered' = true): Promise<void> | void {
    this.continue(link)
    if (!announces) return
    const method = 'notifications/initialized'
    if (announces === 'delivered') return link.transport.send({ jsonrpc: '2.0', method })
    link.notify(method)
  }

  /** Configures a link to a server that was initialized before. */
  continue(link: Link): void {
    const { revision } = this.facts
    link.answersFaults = true
    link.batching = revision.batching
    link.omitsUnknownId = revision.omitsUnknownId
    clientTransportOf(link).setProtocolVersion?.(revision.id)
  }

  /** The facts do not change during a session. */
  async refresh(): Promise<void> {}

  call(
    link: Link,
    method: string,
    params: Params | undefined,
    options: CallOptions | undefined,
  ): Promise<ResultObject> {
    const sent = params && !options?.raw ? this.facts.revision.toParams(method, params) : params
    return link.request(method, sent, options)
  }

  /** Only resources need a subscription, one by one. Servers announce changes of lists to every session. */
  async listen(link: Link, filter: SubscriptionFilter): Promise<Listening> {
    const { tools, prompts, resources } = this.facts.capabilities
    const uris = resources?.subscribe ? (filter.resourceSubscriptions ?? []) : []
    await Promise.all(uris.map((uri) => link.request('resources/subscribe', { uri })))
    const ended = deferred<'closed' | 'lost'>()
    return {
      honoured: {
        ...(filter.toolsListChanged && tools?.listChanged && { toolsListChanged: true }),
        ...(filter.promptsListChanged && prompts?.listChanged && { promptsListChanged: true }),
        ...(filter.resourcesListChanged && resources?.listChanged && { resourcesListChanged: true }),
        ...(uris.length > 0 && { resourceSubscriptions: uris }),
      },
      ended: ended.promise,
      close: async () => {
        ended.resolve('closed')
        if (!link.closed) await Promise.all(uris.map((uri) => link.request('resources/unsubscribe', { uri })))
      },
    }
  }

  notified(): void {}
}

/** The tasks of these revisions are a capability of their own (tasks extension, backwards compatibility). */
function withoutTasksExtension({ extensions, ...capabilities }: ClientCapabilities): ClientCapabilities {
  if (!extensions) return capabilities
  const others = omit(extensions, [tasksExtension])
  return Object.keys(others).length > 0 ? { ...capabilities, extensions: others } : capabilities
}

export function noCommonRevision(offered: string, revisions: readonly Revision[], cause?: unknown): RevisionError {
  const supported = revisions.map(({ id }) => id).join(', ')
  const shown = offered.slice(0, 200)
  return new RevisionError(
    `No common protocol version: the server supports ${shown}, this client ${supported}`,
    shown,
    cause === undefined ? undefined : { cause },
  )
}
