import type { InspectorEvent } from '../../../src/inspector/protocol.ts'
import { Changes } from './changes.ts'
import type { ViewModel } from './view-model.ts'

/** A resource that the user subscribed to. */
export interface SubscriptionView {
  readonly uri: string
  readonly updates: number
  readonly lastUpdateAt?: number | undefined
}

/** Live subscriptions: derived from the requests that succeeded and the updates that the server announced. */
export class Subscriptions implements ViewModel {
  readonly changes = new Changes()
  readonly #byServer = new Map<string, Map<string, SubscriptionView>>()
  readonly #pending = new Map<string, { server: string; uri: string; isOn: boolean }>()

  apply(event: InspectorEvent): void {
    if (event.kind === 'operation') return this.#start(event)
    if (event.kind === 'operation-ended') return this.#settle(event.operation, event.error === undefined)
    if (event.kind === 'changed' && event.uri !== undefined) return this.#update(event.server, event.uri, event.at)
    if (event.kind === 'server-state' && event.state !== 'ready') this.#forget(event.server)
  }

  /** The subscription of a resource, if there is one. */
  get(server: string, uri: string): SubscriptionView | undefined {
    return this.#byServer.get(server)?.get(uri)
  }

  of(server: string): SubscriptionView[] {
    return [...(this.#byServer.get(server)?.values() ?? [])]
  }

  #start({ operation, method, server, params }: Extract<InspectorEvent, { kind: 'operation' }>): void {
    if (method !== 'resources/subscribe' && method !== 'resources/unsubscribe') return
    if (typeof params.uri !== 'string') return
    this.#pending.set(operation, { server, uri: params.uri, isOn: method === 'resources/subscribe' })
  }

  #settle(operation: string, hasSucceeded: boolean): void {
    const pending = this.#pending.get(operation)
    this.#pending.delete(operation)
    if (pending === undefined || !hasSucceeded) return
    const { server, uri, isOn } = pending
    const subscriptions = this.#byServer.get(server) ?? new Map<string, SubscriptionView>()
    this.#byServer.set(server, subscriptions)
    if (isOn) subscriptions.set(uri, { uri, updates: 0 })
    else subscriptions.delete(uri)
    this.changes.mark()
  }

  #update(server: string, uri: string, at: number): void {
    const subscriptions = this.#byServer.get(server)
    const before = subscriptions?.get(uri)
    if (before === undefined) return
    subscriptions?.set(uri, { uri, updates: before.updates + 1, lastUpdateAt: at })
    this.changes.mark()
  }

  #forget(server: string): void {
    if (this.#byServer.delete(server)) this.changes.mark()
  }
}
