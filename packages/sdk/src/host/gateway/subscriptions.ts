import type { Call } from '../../era/call.ts'
import type { SubscriptionFollower } from '../../era/subscribed-uris.ts'
import { McpError } from '../../errors.ts'
import type { AuthInfo } from '../../protocol/auth-info.ts'
import type { Server } from '../../server/server.ts'
import type { Host } from '../host.ts'
import type { ResourceUpdate } from '../server-subscriptions.ts'
import type { CallerTable } from './caller-table.ts'
import { fromGatewayUri } from './gateway-uri.ts'
import { authOf, identityOf } from './identity.ts'
import { isUnknown } from './not-found.ts'

export interface GatewaySubscriptionsOptions {
  readonly server: Server
  readonly host: Host
  readonly callers: CallerTable
  /** Whether a caller with this token may use a server. */
  isAllowed(auth: AuthInfo | undefined, server: string): boolean
}

/** The session or stream that subscribes. */
type Subscriber = Pick<Call, 'stream' | 'link'>

interface Held {
  count: number
  readonly ended: Promise<() => Promise<void>>
}

/** Subscribes to resources of servers for as long as callers do, and passes updates on to those callers only. */
export class GatewaySubscriptions {
  readonly #options: GatewaySubscriptionsOptions
  /** By identity of the caller and URI. A caller may subscribe with several streams. */
  readonly #held = new Map<string, Held>()

  constructor(options: GatewaySubscriptionsOptions) {
    this.#options = options
    options.server.followSubscriptions((call) => this.#follow(call))
  }

  #follow(call: Subscriber): SubscriptionFollower {
    const audience = identityOf(call)
    return {
      audience,
      added: (uri) => this.#added(audience, uri, call),
      removed: (uri) => this.#removed(audience, uri),
    }
  }

  #added(audience: string, uri: string, call: Subscriber): void {
    const key = keyOf(audience, uri)
    const held = this.#held.get(key)
    if (held) held.count++
    else this.#held.set(key, { count: 1, ended: this.#subscribe(audience, uri, call) })
  }

  #removed(audience: string, uri: string): void {
    const key = keyOf(audience, uri)
    const held = this.#held.get(key)
    if (!held || --held.count > 0) return
    this.#held.delete(key)
    const { server } = this.#options
    held.ended.then((end) => end()).catch((error) => server.reportError(error))
  }

  /** A server that cannot be subscribed to does not affect the stream of the caller, which may be for many resources. */
  async #subscribe(audience: string, given: string, call: Subscriber): Promise<() => Promise<void>> {
    const { server: gateway, host, callers, isAllowed } = this.#options
    const auth = authOf(call)
    try {
      const { uri, server: named } = fromGatewayUri(given)
      const server = named ?? (await host.findResource(uri, (id) => isAllowed(auth, id)))
      if (!isAllowed(auth, server)) throw new McpError('invalid-argument', `Resource not found: ${given}`)
      const session = callers.forSubscriptions(call)
      const release = session.useToSubscribe()
      const onUpdate = ({ uri: updated, partOf }: ResourceUpdate) =>
        gateway.changes.emit(partOf === undefined ? { updated: given, audience } : { updated, partOf: given, audience })
      const unsubscribe = await session.host.subscribeResource(uri, onUpdate, { server }).catch((error) => {
        release()
        throw error
      })
      return async () => {
        release()
        await unsubscribe()
      }
    } catch (error) {
      // A mistake of a caller, which could repeat it without end.
      if (!isUnknown(error)) gateway.reportError(error)
      return async () => {}
    }
  }
}

function keyOf(audience: string, uri: string): string {
  return `${audience}\n${uri}`
}
