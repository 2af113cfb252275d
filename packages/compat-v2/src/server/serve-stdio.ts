import {
  CLIENT_CAPABILITIES_META_KEY,
  CLIENT_INFO_META_KEY,
  PROTOCOL_VERSION_META_KEY,
  SERVER_INFO_META_KEY,
  SUBSCRIPTION_ID_META_KEY,
} from '../core/constants.ts'
import { UnsupportedProtocolVersionError } from '../core/errors.ts'
import { classifyInboundRequest, type InboundClassificationOutcome, metaOf, refuseLegacy } from '../core/inbound.ts'
import type { Transport, TransportSendOptions } from '../core/transport.ts'
import type {
  ClientCapabilities,
  Implementation,
  JSONRPCMessage,
  JSONRPCRequest,
  MessageExtraInfo,
  ProtocolEra,
  RequestId,
} from '../core/types.ts'
import { type McpServerFactory, makeModern, modernVersions, serverOf, toError } from './factory.ts'
import type { McpServer } from './mcp.ts'
import { type Server, serverInfoOf, setClientIdentity } from './server.ts'
import { defaultMaxSubscriptions, eventOf, ListenSubscription, listenProblem } from './server-events.ts'
import { StdioServerTransport } from './stdio-transport.ts'

export interface ServeStdioOptions {
  /** Whether clients of handshake revisions are served. Default `serve`. */
  legacy?: 'serve' | 'reject'
  /** Default: the standard streams of the process. */
  transport?: Transport
  onerror?: (error: Error) => void
  /** How many `subscriptions/listen` requests may be open. Default 1,024. */
  maxSubscriptions?: number
}

export interface StdioServerHandle {
  close(): Promise<void>
}

/**
 * Serves one client over stdio. The first request decides on the era, and the factory builds one server for it.
 *
 * @example
 * ```ts
 * serveStdio(() => createServer())
 * ```
 */
export function serveStdio(factory: McpServerFactory, options: ServeStdioOptions = {}): StdioServerHandle {
  const connection = new StdioConnection(factory, options)
  return { close: () => connection.close() }
}

interface Instance {
  readonly era: ProtocolEra
  readonly product: McpServer | Server
  readonly channel: Channel
}

class StdioConnection {
  private readonly _factory: McpServerFactory
  private readonly _options: ServeStdioOptions
  private readonly _wire: Transport
  private readonly _subscriptions = new Map<RequestId, ListenSubscription>()
  private readonly _started: Promise<void>
  private readonly _queue: JSONRPCMessage[] = []
  private _isPumping = false
  private _instance: Instance | undefined
  /** Whether the era is decided. A client may ask `server/discover` and then fall back to `initialize`. */
  private _isPinned = false
  private _isClosed = false

  constructor(factory: McpServerFactory, options: ServeStdioOptions) {
    this._factory = factory
    this._options = options
    this._wire = options.transport ?? new StdioServerTransport()
    this._wire.onmessage = (message) => {
      this._queue.push(message)
      void this._pump()
    }
    this._wire.onerror = (error) => {
      this._report(error)
      this._instance?.channel.onerror?.(error)
    }
    this._wire.onclose = () => void this._end(false)
    this._started = this._wire.start()
    this._started.catch((error) => this._report(error))
  }

  async close(): Promise<void> {
    await this._started.catch(() => {})
    await this._end(true)
  }

  private async _end(isOurs: boolean): Promise<void> {
    if (this._isClosed) return
    this._isClosed = true
    if (isOurs) for (const id of this._subscriptions.keys()) await this._send(this._listenResult(id))
    await this._instance?.product.close().catch((error) => this._report(error))
    if (isOurs) await this._wire.close().catch((error) => this._report(error))
  }

  /** Messages are handled in order, because building an instance may take a while. */
  private async _pump(): Promise<void> {
    if (this._isPumping) return
    this._isPumping = true
    for (let message = this._queue.shift(); message; message = this._queue.shift()) {
      try {
        await this._receive(message)
      } catch (error) {
        if (isRequest(message)) await this._fail(message.id, { code: -32603, message: 'Internal server error' })
        this._report(error)
      }
    }
    this._isPumping = false
  }

  private async _receive(message: JSONRPCMessage): Promise<void> {
    if (this._isClosed) return
    if (this._instance && this._isPinned) return this._receivePinned(this._instance, message)
    if (!('method' in message)) {
      return this._report(new Error('Discarded a response received before the connection negotiated an era'))
    }
    const outcome = classify(message)
    if (outcome.kind === 'modern') return this._openModern(message, outcome.classification.revision ?? '')
    if (outcome.kind === 'legacy') return this._openLegacy(message, outcome)
    this._report(new Error(`Rejected a message: ${outcome.message}`))
    if (isRequest(message)) await this._fail(message.id, outcome)
  }

  private async _receivePinned({ era, channel }: Instance, message: JSONRPCMessage): Promise<void> {
    if (era === 'legacy') return channel.deliver(message)
    if (isRequest(message) && message.method === 'initialize') {
      const outcome = classify(message)
      if (outcome.kind === 'legacy') return this._refuseLegacy(message, outcome)
    }
    if (!(await this._listens(message))) channel.deliver(message)
  }

  private async _openModern(message: JSONRPCMessage, revision: string): Promise<void> {
    if (!modernVersions.includes(revision)) {
      const error = new UnsupportedProtocolVersionError({ supported: [...modernVersions], requested: revision })
      this._report(error)
      if (isRequest(message)) await this._fail(message.id, error)
      return
    }
    this._instance ??= await this._connect('modern', revision, message)
    const isProbe = isRequest(message) && message.method === 'server/discover'
    if (!isProbe && isRequest(message)) this._isPinned = true
    if (await this._listens(message)) return
    this._instance.channel.deliver(message, { classification: { era: 'modern', revision } })
  }

  private async _openLegacy(
    message: JSONRPCMessage,
    outcome: InboundClassificationOutcome & { kind: 'legacy' },
  ): Promise<void> {
    if (this._options.legacy === 'reject') return this._refuseLegacy(message, outcome)
    const probe = this._instance
    if (probe) {
      await probe.channel.idle()
      this._instance = undefined
      await probe.product.close().catch((error) => this._report(error))
    }
    this._instance = await this._connect('legacy', undefined, message)
    this._isPinned = true
    this._instance.channel.deliver(message)
  }

  private async _connect(era: ProtocolEra, revision: string | undefined, first: JSONRPCMessage): Promise<Instance> {
    const product = await this._factory({ era })
    if (revision) {
      makeModern(serverOf(product), revision)
      const meta = metaOf(first) ?? {}
      const clientInfo = meta[CLIENT_INFO_META_KEY] as Implementation | undefined
      const clientCapabilities = meta[CLIENT_CAPABILITIES_META_KEY] as ClientCapabilities | undefined
      setClientIdentity(serverOf(product), {
        ...(clientInfo && { clientInfo }),
        ...(clientCapabilities && { clientCapabilities }),
      })
    }
    const intercept = (message: JSONRPCMessage) => era === 'modern' && this._publish(message)
    const channel = new Channel(this._wire, intercept, () => {
      if (this._instance?.channel === channel) void this._end(true)
    })
    await product.connect(channel)
    return { era, product, channel }
  }

  private async _refuseLegacy(
    message: JSONRPCMessage,
    outcome: InboundClassificationOutcome & { kind: 'legacy' },
  ): Promise<void> {
    const refusal = refuseLegacy(outcome, modernVersions)
    if (!refusal || !isRequest(message)) return
    this._report(new Error(`Rejected a 2025-era request on a modern-only connection: ${refusal.message}`))
    await this._fail(message.id, refusal)
  }

  /** Handles what belongs to subscriptions. Returns false for other messages. */
  private async _listens(message: JSONRPCMessage): Promise<boolean> {
    if (!('method' in message)) return false
    if (message.method === 'notifications/cancelled') {
      return this._subscriptions.delete(message.params?.requestId as RequestId)
    }
    if (message.method !== 'subscriptions/listen' || !isRequest(message)) return false
    const outcome = classify(message)
    const limit = this._options.maxSubscriptions ?? defaultMaxSubscriptions
    const problem =
      outcome.kind === 'modern'
        ? listenProblem(message, this._subscriptions.size, limit)
        : { code: -32602, message: `Invalid _meta envelope: ${PROTOCOL_VERSION_META_KEY}: missing` }
    if (problem) await this._fail(message.id, problem)
    else {
      const subscription = new ListenSubscription(message, serverOf(this._instance!.product).getCapabilities())
      this._subscriptions.set(message.id, subscription)
      await this._send(subscription.acknowledgement())
    }
    return true
  }

  /** Sends a change to the subscriptions that want it. Returns false for other messages. */
  private _publish(message: JSONRPCMessage): boolean {
    const event = 'method' in message ? eventOf(message as { method: string }) : undefined
    if (!event) return false
    for (const subscription of this._subscriptions.values()) {
      const notification = subscription.notificationOf(event)
      if (notification) void this._send(notification)
    }
    return true
  }

  private _listenResult(id: RequestId): JSONRPCMessage {
    const serverInfo = this._instance && serverInfoOf(serverOf(this._instance.product))
    const meta = { [SUBSCRIPTION_ID_META_KEY]: id, ...(serverInfo && { [SERVER_INFO_META_KEY]: serverInfo }) }
    return { jsonrpc: '2.0', id, result: { resultType: 'complete', _meta: meta } }
  }

  private _fail(
    id: RequestId,
    { code, message, data }: { code: number; message: string; data?: unknown },
  ): Promise<void> {
    return this._send({ jsonrpc: '2.0', id, error: { code, message, ...(data !== undefined && { data }) } })
  }

  private async _send(message: JSONRPCMessage): Promise<void> {
    await this._wire.send(message).catch((error) => this._report(error))
  }

  private _report(error: unknown): void {
    try {
      this._options.onerror?.(toError(error))
    } catch {
      // Reporting must not change what is sent.
    }
  }
}

/** The transport of one instance: it shares the standard streams with the entry point. */
class Channel implements Transport {
  onclose?: (() => void) | undefined
  onerror?: ((error: Error) => void) | undefined
  onmessage?: Transport['onmessage']
  private readonly _wire: Transport
  private readonly _intercept: (message: JSONRPCMessage) => boolean
  private readonly _onClosed: () => void
  private readonly _open = new Set<RequestId>()
  private _onIdle: (() => void) | undefined
  private _isClosed = false

  constructor(wire: Transport, intercept: (message: JSONRPCMessage) => boolean, onClosed: () => void) {
    this._wire = wire
    this._intercept = intercept
    this._onClosed = onClosed
  }

  async start(): Promise<void> {}

  deliver(message: JSONRPCMessage, extra?: MessageExtraInfo): void {
    if (isRequest(message)) this._open.add(message.id)
    this.onmessage?.(message, extra)
  }

  async send(message: JSONRPCMessage, options?: TransportSendOptions): Promise<void> {
    if (this._isClosed || this._intercept(message)) return
    await this._wire.send(message, options)
    if (!('method' in message) && this._open.delete(message.id as RequestId) && this._open.size === 0) this._onIdle?.()
  }

  /** Waits until every request has its response, for at most two seconds. */
  async idle(): Promise<void> {
    if (this._open.size === 0) return
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, 2_000)
      this._onIdle = () => {
        clearTimeout(timer)
        resolve()
      }
    })
  }

  async close(): Promise<void> {
    if (this._isClosed) return
    this._isClosed = true
    this.onclose?.()
    this._onClosed()
  }
}

function classify(message: JSONRPCMessage): InboundClassificationOutcome {
  return classifyInboundRequest({ httpMethod: 'POST', body: message })
}

function isRequest(message: JSONRPCMessage): message is JSONRPCRequest {
  return 'method' in message && 'id' in message
}
