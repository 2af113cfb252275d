import type { Call } from '../../era/call.ts'
import type { Update } from '../../era/changes.ts'
import type { SubscriptionFollower } from '../../era/subscribed-uris.ts'
import { ErrorCode, McpError, PeerError, ProtocolError, withoutOutput } from '../../errors.ts'
import type { AuthInfo } from '../../protocol/auth-info.ts'
import type { Server } from '../../server/server.ts'
import { pause } from '../../util/scheduler.ts'
import type { Host } from '../host.ts'
import type { ResourceUpdate } from '../server-subscriptions.ts'
import type { CallerTable, Subscriber } from './caller-table.ts'
import { fromGatewayUri } from './gateway-uri.ts'
import { audienceOf, authOf } from './identity.ts'
import { isUnknown, toResourceError } from './not-found.ts'

export interface GatewaySubscriptionsOptions {
  readonly server: Server
  readonly host: Host
  readonly callers: CallerTable
  /** Whether all callers share the connection to a server. */
  isShared(server: string): boolean
  /** Whether a caller with this token may use a server. */
  isAllowed(auth: AuthInfo | undefined, server: string): boolean
}

interface Held {
  count: number
  /** Resolves when the server has the subscription, with a function that ends it. */
  readonly begun: Promise<() => Promise<void>>
}

/** How long a caller waits for the server. Clients of this library wait a little longer. */
const confirmMs = 20_000

/** Subscribes to resources of servers for as long as callers do, and passes updates on to those callers only. */
export class GatewaySubscriptions {
  readonly #options: GatewaySubscriptionsOptions
  /** By audience and URI. A caller may subscribe with several streams. */
  readonly #held = new Map<string, Held>()
  /** The update that is about to be emitted. */
  #last: { readonly update: Pick<Update, 'updated' | 'partOf'>; readonly audience: Set<string> } | undefined

  constructor(options: GatewaySubscriptionsOptions) {
    this.#options = options
    options.server.followSubscriptions((call, caller) => this.#follow({ ...sourceOf(call), caller }))
  }

  #follow(call: Subscriber): SubscriptionFollower {
    const audience = audienceOf(call)
    return {
      audience,
      added: (uri) => this.#added(audience, uri, call),
      removed: (uri) => this.#removed(audience, uri),
    }
  }

  /** The caller is told that it is subscribed when the server is, so that no update after that is missed. */
  async #added(audience: string, uri: string, call: Subscriber): Promise<void> {
    const key = keyOf(audience, uri)
    const held = this.#held.get(key) ?? { count: 0, begun: this.#subscribe(audience, uri, call) }
    held.count++
    this.#held.set(key, held)
    const late = new ProtocolError(ErrorCode.InternalError, `Not subscribed within ${confirmMs} ms: ${shorten(uri)}`)
    await within(held.begun, confirmMs, late)
  }

  #removed(audience: string, uri: string): void {
    const key = keyOf(audience, uri)
    const held = this.#held.get(key)
    if (!held || --held.count > 0) return
    this.#held.delete(key)
    // Those who waited for the beginning got its error.
    const end = (unsubscribe: () => Promise<void>) =>
      unsubscribe().catch((error) => this.#options.server.reportError(error))
    held.begun.then(end, () => {})
  }

  async #subscribe(audience: string, given: string, call: Subscriber): Promise<() => Promise<void>> {
    try {
      const { server, uri } = await this.#find(given, authOf(call))
      return await this.#begin({ audience, given, call, server, uri })
    } catch (error) {
      // The caller gets the error. A mistake of its own it could repeat without end, and fill the log.
      if (!isUnknown(error) && !(error instanceof PeerError)) this.#options.server.reportError(error)
      throw toSubscriptionError(toResourceError(error, given))
    }
  }

  /** An update for many callers comes to each of them one after the other. It is emitted once, because that looks at every session. */
  #emit(update: Pick<Update, 'updated' | 'partOf'>, audience: string): void {
    const last = this.#last
    if (last && last.update.updated === update.updated && last.update.partOf === update.partOf)
      return void last.audience.add(audience)
    const next = { update, audience: new Set([audience]) }
    this.#last = next
    queueMicrotask(() => {
      if (this.#last === next) this.#last = undefined
      this.#options.server.changes.emit({ ...update, audience: next.audience })
    })
  }

  async #find(given: string, auth: AuthInfo | undefined): Promise<{ readonly server: string; readonly uri: string }> {
    const { host, isAllowed } = this.#options
    const { uri, server: named } = fromGatewayUri(given)
    const server = named ?? (await host.findResource(uri, (id) => isAllowed(auth, id)))
    if (isAllowed(auth, server)) return { server, uri }
    throw new McpError('invalid-argument', `Resource not found: ${given}`)
  }

  async #begin({ audience, given, call, server, uri }: Beginning): Promise<() => Promise<void>> {
    const { callers, isShared } = this.#options
    const { session, release } = callers.subscribe(call, isShared(server))
    const onUpdate = ({ uri: updated, partOf }: ResourceUpdate) =>
      this.#emit(partOf === undefined ? { updated: given } : { updated, partOf: given }, audience)
    try {
      const unsubscribe = await session.host.subscribeResource(uri, onUpdate, { server })
      return async () => {
        await unsubscribe().finally(release)
      }
    } catch (error) {
      release()
      throw error
    }
  }
}

interface Beginning {
  readonly audience: string
  /** The URI as the caller knows it. */
  readonly given: string
  readonly call: Subscriber
  readonly server: string
  readonly uri: string
}

/** Errors of servers stay what they are. */
function toSubscriptionError(error: unknown): ProtocolError {
  if (error instanceof ProtocolError) return error
  if (error instanceof PeerError) return new ProtocolError(error.rpcCode, error.message, error.data)
  return new ProtocolError(
    ErrorCode.InternalError,
    error instanceof McpError ? withoutOutput(error.message) : 'Internal error',
  )
}

function shorten(uri: string): string {
  return uri.slice(0, 200)
}

async function within<T>(promise: Promise<T>, ms: number, late: Error): Promise<T> {
  const stop = new AbortController()
  const timeout = pause(ms, { signal: stop.signal, unref: true }).then(() => Promise.reject(late))
  try {
    return await Promise.race([promise, timeout])
  } finally {
    timeout.catch(() => {})
    stop.abort()
  }
}

/** Not the whole call: that of a session would be kept as long as the session. */
function sourceOf({ stream, link }: Pick<Call, 'stream' | 'link'>): Pick<Call, 'stream' | 'link'> {
  return { stream, link }
}

function keyOf(audience: string, uri: string): string {
  return `${audience}\n${uri}`
}
