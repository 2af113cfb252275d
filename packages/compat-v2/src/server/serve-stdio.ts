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
  readonly #factory: McpServerFactory
  readonly #options: ServeStdioOptions
  readonly #wire: Transport
  readonly #subscriptions = new Map<RequestId, ListenSubscription>()
  readonly #started: Promise<void>
  readonly #queue: JSONRPCMessage[] = []
  #isPumping = false
  #instance: Instance | undefined
  /** Whether the era is decided. A client may ask `server/discover` and then fall back to `initialize`. */
  #isPinned = false
  #isClosed = false

  constructor(factory: McpServerFactory, options: ServeStdioOptions) {
    this.#factory = factory
    this.#options = options
    this.#wire = options.transport ?? new StdioServerTransport()
    this.#wire.onmessage = (message) => {
      this.#queue.push(message)
      void this.#pump()
    }
    this.#wire.onerror = (error) => {
      this.#report(error)
      this.#instance?.channel.onerror?.(error)
    }
    this.#wire.onclose = () => void this.#end(false)
    this.#started = this.#wire.start()
    this.#started.catch((error) => this.#report(error))
  }

  async close(): Promise<void> {
    await this.#started.catch(() => {})
    await this.#end(true)
  }

  async #end(isOurs: boolean): Promise<void> {
    if (this.#isClosed) return
    this.#isClosed = true
    if (isOurs) for (const id of this.#subscriptions.keys()) await this.#send(this.#listenResult(id))
    await this.#instance?.product.close().catch((error) => this.#report(error))
    if (isOurs) await this.#wire.close().catch((error) => this.#report(error))
  }

  /** Messages are handled in order, because building an instance may take a while. */
  async #pump(): Promise<void> {
    if (this.#isPumping) return
    this.#isPumping = true
    for (let message = this.#queue.shift(); message; message = this.#queue.shift()) {
      try {
        await this.#receive(message)
      } catch (error) {
        if (isRequest(message)) await this.#fail(message.id, { code: -32603, message: 'Internal server error' })
        this.#report(error)
      }
    }
    this.#isPumping = false
  }

  async #receive(message: JSONRPCMessage): Promise<void> {
    if (this.#isClosed) return
    if (this.#instance && this.#isPinned) return this.#receivePinned(this.#instance, message)
    if (!('method' in message)) {
      return this.#report(new Error('Discarded a response received before the connection negotiated an era'))
    }
    const outcome = classify(message)
    if (outcome.kind === 'modern') return this.#openModern(message, outcome.classification.revision ?? '')
    if (outcome.kind === 'legacy') return this.#openLegacy(message, outcome)
    this.#report(new Error(`Rejected a message: ${outcome.message}`))
    if (isRequest(message)) await this.#fail(message.id, outcome)
  }

  async #receivePinned({ era, channel }: Instance, message: JSONRPCMessage): Promise<void> {
    if (era === 'legacy') return channel.deliver(message)
    if (isRequest(message) && message.method === 'initialize') {
      const outcome = classify(message)
      if (outcome.kind === 'legacy') return this.#refuseLegacy(message, outcome)
    }
    if (!(await this.#listens(message))) channel.deliver(message)
  }

  async #openModern(message: JSONRPCMessage, revision: string): Promise<void> {
    if (!modernVersions.includes(revision)) {
      const error = new UnsupportedProtocolVersionError({ supported: [...modernVersions], requested: revision })
      this.#report(error)
      if (isRequest(message)) await this.#fail(message.id, error)
      return
    }
    this.#instance ??= await this.#connect('modern', revision, message)
    const isProbe = isRequest(message) && message.method === 'server/discover'
    if (!isProbe && isRequest(message)) this.#isPinned = true
    if (await this.#listens(message)) return
    this.#instance.channel.deliver(message, { classification: { era: 'modern', revision } })
  }

  async #openLegacy(
    message: JSONRPCMessage,
    outcome: InboundClassificationOutcome & { kind: 'legacy' },
  ): Promise<void> {
    if (this.#options.legacy === 'reject') return this.#refuseLegacy(message, outcome)
    const probe = this.#instance
    if (probe) {
      await probe.channel.idle()
      this.#instance = undefined
      await probe.product.close().catch((error) => this.#report(error))
    }
    this.#instance = await this.#connect('legacy', undefined, message)
    this.#isPinned = true
    this.#instance.channel.deliver(message)
  }

  async #connect(era: ProtocolEra, revision: string | undefined, first: JSONRPCMessage): Promise<Instance> {
    const product = await this.#factory({ era })
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
    const intercept = (message: JSONRPCMessage) => era === 'modern' && this.#publish(message)
    const channel = new Channel(this.#wire, intercept, () => {
      if (this.#instance?.channel === channel) void this.#end(true)
    })
    await product.connect(channel)
    return { era, product, channel }
  }

  async #refuseLegacy(
    message: JSONRPCMessage,
    outcome: InboundClassificationOutcome & { kind: 'legacy' },
  ): Promise<void> {
    const refusal = refuseLegacy(outcome, modernVersions)
    if (!refusal || !isRequest(message)) return
    this.#report(new Error(`Rejected a 2025-era request on a modern-only connection: ${refusal.message}`))
    await this.#fail(message.id, refusal)
  }

  /** Handles what belongs to subscriptions. Returns false for other messages. */
  async #listens(message: JSONRPCMessage): Promise<boolean> {
    if (!('method' in message)) return false
    if (message.method === 'notifications/cancelled') {
      return this.#subscriptions.delete(message.params?.requestId as RequestId)
    }
    if (message.method !== 'subscriptions/listen' || !isRequest(message)) return false
    const outcome = classify(message)
    const limit = this.#options.maxSubscriptions ?? defaultMaxSubscriptions
    const problem =
      outcome.kind === 'modern'
        ? listenProblem(message, this.#subscriptions.size, limit)
        : { code: -32602, message: `Invalid _meta envelope: ${PROTOCOL_VERSION_META_KEY}: missing` }
    if (problem) await this.#fail(message.id, problem)
    else {
      const subscription = new ListenSubscription(message, serverOf(this.#instance!.product).getCapabilities())
      this.#subscriptions.set(message.id, subscription)
      await this.#send(subscription.acknowledgement())
    }
    return true
  }

  /** Sends a change to the subscriptions that want it. Returns false for other messages. */
  #publish(message: JSONRPCMessage): boolean {
    const event = 'method' in message ? eventOf(message as { method: string }) : undefined
    if (!event) return false
    for (const subscription of this.#subscriptions.values()) {
      const notification = subscription.notificationOf(event)
      if (notification) void this.#send(notification)
    }
    return true
  }

  #listenResult(id: RequestId): JSONRPCMessage {
    const serverInfo = this.#instance && serverInfoOf(serverOf(this.#instance.product))
    const meta = { [SUBSCRIPTION_ID_META_KEY]: id, ...(serverInfo && { [SERVER_INFO_META_KEY]: serverInfo }) }
    return { jsonrpc: '2.0', id, result: { resultType: 'complete', _meta: meta } }
  }

  #fail(id: RequestId, { code, message, data }: { code: number; message: string; data?: unknown }): Promise<void> {
    return this.#send({ jsonrpc: '2.0', id, error: { code, message, ...(data !== undefined && { data }) } })
  }

  async #send(message: JSONRPCMessage): Promise<void> {
    await this.#wire.send(message).catch((error) => this.#report(error))
  }

  #report(error: unknown): void {
    try {
      this.#options.onerror?.(toError(error))
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
  readonly #wire: Transport
  readonly #intercept: (message: JSONRPCMessage) => boolean
  readonly #onClosed: () => void
  readonly #open = new Set<RequestId>()
  #onIdle: (() => void) | undefined
  #isClosed = false

  constructor(wire: Transport, intercept: (message: JSONRPCMessage) => boolean, onClosed: () => void) {
    this.#wire = wire
    this.#intercept = intercept
    this.#onClosed = onClosed
  }

  async start(): Promise<void> {}

  deliver(message: JSONRPCMessage, extra?: MessageExtraInfo): void {
    if (isRequest(message)) this.#open.add(message.id)
    this.onmessage?.(message, extra)
  }

  async send(message: JSONRPCMessage, options?: TransportSendOptions): Promise<void> {
    if (this.#isClosed || this.#intercept(message)) return
    await this.#wire.send(message, options)
    if (!('method' in message) && this.#open.delete(message.id as RequestId) && this.#open.size === 0) this.#onIdle?.()
  }

  /** Waits until every request has its response, for at most two seconds. */
  async idle(): Promise<void> {
    if (this.#open.size === 0) return
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, 2_000)
      this.#onIdle = () => {
        clearTimeout(timer)
        resolve()
      }
    })
  }

  async close(): Promise<void> {
    if (this.#isClosed) return
    this.#isClosed = true
    this.onclose?.()
    this.#onClosed()
  }
}

function classify(message: JSONRPCMessage): InboundClassificationOutcome {
  return classifyInboundRequest({ httpMethod: 'POST', body: message })
}

function isRequest(message: JSONRPCMessage): message is JSONRPCRequest {
  return 'method' in message && 'id' in message
}
