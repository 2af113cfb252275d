import type { Params, RpcNotification } from '../jsonrpc/message.ts'
import type { ServerNotifications } from '../protocol/methods.ts'
import { paramsChecks } from '../protocol/params.ts'
import type { Emitter } from '../util/emitter.ts'
import type { Connection } from './connection.ts'
import type { ClientEvents } from './events.ts'
import type { Tools } from './features/tools.ts'
import type { InputHandlers } from './input/input-handlers.ts'
import type { CachedRequests } from './response-cache.ts'
import type { ClientTasks } from './tasks/client-tasks.ts'

export interface NotificationReceiverOptions {
  readonly connection: Connection
  readonly cached: CachedRequests
  readonly events: Emitter<ClientEvents>
  readonly inputHandlers: InputHandlers
  readonly tasks: ClientTasks
  readonly tools: Tools
  /** Whether notifications with invalid params are passed on, too. */
  readonly raw: boolean
  warn(message: string): void
}

/** Receives the notifications of the server: updates the cache, emits events and calls the handlers of the program. */
export class NotificationReceiver {
  readonly #options: NotificationReceiverOptions
  readonly #handlers = new Map<string, (params: Params) => void>()
  readonly #listeners = new Map<string, (params: Params) => void>()
  #fallback: ((notification: RpcNotification) => void) | undefined

  constructor(options: NotificationReceiverOptions) {
    this.#options = options
    this.#addListeners()
  }

  setHandler(method: string, handler: (params: Params) => void): void {
    this.#handlers.set(method, handler)
  }

  removeHandler(method: string): void {
    this.#handlers.delete(method)
  }

  setFallback(handler: ((notification: RpcNotification) => void) | undefined): void {
    this.#fallback = handler
  }

  hasHandler(method: string): boolean {
    return this.#handlers.has(method)
  }

  receive(notification: RpcNotification): void {
    const { connection, raw, warn } = this.#options
    const { method, params = {} } = notification
    connection.live?.era.notified(notification)
    const isInvalid = paramsChecks.get(method)?.(params) !== undefined
    if (isInvalid && !raw) return warn(`The server sent ${method} with invalid params, which is ignored`)
    if (!isInvalid) this.#listeners.get(method)?.(params)
    this.#handle(notification, params)
  }

  #handle(notification: RpcNotification, params: Params): void {
    const handler = this.#handlers.get(notification.method)
    try {
      if (handler) handler(params)
      else this.#fallback?.(notification)
    } catch (error) {
      this.#options.events.emit('error', { error })
    }
  }

  #addListeners(): void {
    const { cached, events, inputHandlers, tasks } = this.#options
    this.#on('notifications/tools/list_changed', () => this.#listChanged('toolsChanged', ['tools/list']))
    this.#on('notifications/prompts/list_changed', () => this.#listChanged('promptsChanged', ['prompts/list']))
    this.#on('notifications/resources/list_changed', () =>
      this.#listChanged('resourcesChanged', ['resources/list', 'resources/templates/list']),
    )
    this.#on('notifications/resources/updated', ({ uri }) => {
      // The notification may be about a part of the cached resource.
      cached.forget((method, read) => method === 'resources/read' && read !== undefined && uri.startsWith(read))
      events.emit('resourceUpdated', { uri })
    })
    this.#on('notifications/message', (params) => events.emit('log', params))
    this.#on('notifications/elicitation/complete', ({ elicitationId }) => {
      if (inputHandlers.completed(elicitationId)) events.emit('elicitationComplete', { elicitationId })
    })
    this.#on('notifications/progress', (params) => tasks.progressed(params))
    this.#on('notifications/tasks', (params) => tasks.notified('notifications/tasks', params))
    this.#on('notifications/tasks/status', (params) => tasks.notified('notifications/tasks/status', params))
  }

  #on<M extends keyof ServerNotifications>(method: M, listener: (params: ServerNotifications[M]) => void): void
  #on(method: string, listener: (params: Params) => void): void {
    this.#listeners.set(method, listener)
  }

  #listChanged(event: 'toolsChanged' | 'promptsChanged' | 'resourcesChanged', stale: readonly string[]): void {
    const { cached, events, tools } = this.#options
    cached.forget((method) => stale.includes(method))
    tools.listChanged()
    events.emit(event, undefined)
  }
}
