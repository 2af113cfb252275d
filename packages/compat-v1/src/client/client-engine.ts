import { type ResultObject, type RevisionId, revisionIds } from 'tenon'
import { type IncomingRequest, RevisionError, type ServerDescription, Client as TenonClient } from 'tenon/client'
import type { Link, RpcMessage } from 'tenon/jsonrpc'
import type {
  ClientCapabilities,
  Implementation,
  InitializeRequest,
  JSONRPCMessage,
  JSONRPCNotification,
  JSONRPCRequest,
} from '../generated/protocol-types.ts'
import { LATEST_PROTOCOL_VERSION } from '../shared/constants.ts'
import type { Engine, EngineCall, EngineReceiver, EngineRequestOptions } from '../shared/engine.ts'
import { notifyOn, requestOn, sendOn, serve, unknownResponse } from '../shared/link-engine.ts'
import { toMcpError } from '../shared/to-mcp-error.ts'
import type { Transport, TransportSendOptions } from '../shared/transport.ts'
import { TransportAdapter, toLinkTransport } from '../shared/transport-adapter.ts'
import { requestStateless } from './stateless-requests.ts'

/** How a client describes itself. */
export interface ClientIdentity {
  readonly info: Implementation
  readonly capabilities: ClientCapabilities
}

/** Options of one connection. */
export interface EngineConnectOptions {
  readonly identity: ClientIdentity
  /** In milliseconds. */
  readonly timeout: number
  readonly signal: AbortSignal | undefined
  /** Sends `initialize` through `request` of the client, if a program replaced it. Undefined: the engine sends it. */
  readonly initialize?: ((params: InitializeRequest['params']) => Promise<unknown>) | undefined
}

/**
 * Carries the messages of a `Client` over a Tenon client, which negotiates the revision. Each connection has a Tenon client of
 * its own, because programs connect one `Client` several times.
 */
export class ClientEngine implements Engine {
  readonly checksParams = false
  readonly checksResults = false
  private _client: TenonClient | undefined
  /** Opens the connection when the program sends `initialize` itself. */
  private _initialize: ((version: string) => Promise<ResultObject>) | undefined
  private _options!: EngineConnectOptions

  /** What the server says about itself; undefined if the connection continues a session that began earlier. */
  server: ServerDescription | undefined

  /** Sets the options of the next connection, before it is opened. */
  set connectOptions(options: EngineConnectOptions) {
    this._options = options
  }

  async connect(transport: Transport, receiver: EngineReceiver): Promise<void> {
    const { initialize } = this._options
    if (!initialize || sessionOf(transport)) return this._open(transport, receiver, undefined)
    this._initialize = async (version) => {
      this._initialize = undefined
      await this._open(transport, receiver, version)
      return toInitializeResult(this.server!)
    }
    const { info, capabilities } = this._options.identity
    await initialize({ protocolVersion: LATEST_PROTOCOL_VERSION, capabilities, clientInfo: info })
  }

  /** @param version The version that the program offers; undefined: the newest. */
  private async _open(transport: Transport, receiver: EngineReceiver, version: string | undefined): Promise<void> {
    const { timeout, signal } = this._options
    const client = this._createClient(timeout, version)
    listen(client, receiver)
    this._client = client
    const known = sessionOf(transport)
    try {
      await client.connect(toLinkTransport(known ? withoutVersion(transport) : transport), {
        server: known,
        signal,
        // `Client` sends it, so that programs see it.
        sendInitialized: false,
      })
    } catch (error) {
      throw toConnectError(error, timeout)
    }
    this.server = known ? undefined : client.server
    if (this._isStateless) listenForChanges(client, receiver)
  }

  async close(): Promise<void> {
    await this._client?.close()
  }

  async request(method: string, params: object | undefined, options: EngineRequestOptions): Promise<ResultObject> {
    if (method === 'initialize' && this._initialize)
      return this._initialize((params as InitializeRequest['params']).protocolVersion)
    const client = this._opened
    if (!this._isStateless || options.enqueue) return requestOn(linkOf(client), method, params, options)
    try {
      return await requestStateless(client, method, params, options)
    } catch (error) {
      throw toMcpError(error, options)
    }
  }

  async notify(method: string, params: object | undefined, options: TransportSendOptions | undefined): Promise<void> {
    const link = linkOf(this._opened)
    if (link.transport instanceof TransportAdapter || options?.relatedRequestId !== undefined)
      return notifyOn(link, method, params, options)
    // Programs wait for the delivery, and get its errors.
    await link.transport.send({ jsonrpc: '2.0', method, ...(params && { params }) } as RpcMessage)
  }

  /** Whether the server waits for `notifications/initialized`. */
  get awaitsInitialized(): boolean {
    return this.server !== undefined && !this._isStateless
  }

  send(message: JSONRPCMessage, { relatedRequestId }: TransportSendOptions): Promise<void> {
    return sendOn(linkOf(this._opened), message, relatedRequestId)
  }

  receive(message: JSONRPCMessage): void {
    linkOf(this._opened).receive(message)
  }

  private _createClient(connectTimeoutMs: number, version: string | undefined): TenonClient {
    const { info, capabilities } = this._options.identity
    return new TenonClient(info, {
      ...(version !== undefined && { revisions: offered(version) }),
      capabilities: capabilities as never,
      negotiation: 'handshake-first',
      connectTimeoutMs,
      raw: true,
      recover: false,
      cache: false,
    })
  }

  private get _opened(): TenonClient {
    if (!this._client) throw new Error('Not connected')
    return this._client
  }

  /** Whether the server has no handshake, so that it sends no requests and needs to be asked for notifications. */
  private get _isStateless(): boolean {
    const { link } = this._opened
    return link !== undefined && this._opened.revision > LATEST_PROTOCOL_VERSION
  }
}

/** The revisions to offer, of which the newest is the version that a program wants. Undefined: all. */
function offered(version: string): RevisionId[] | undefined {
  const known = revisionIds.filter((id) => id <= version)
  return known.length > 0 ? known : undefined
}

function toInitializeResult({ revision, capabilities, info, instructions }: ServerDescription): ResultObject {
  const result = { protocolVersion: revision, capabilities, serverInfo: info }
  return instructions === undefined ? result : { ...result, instructions }
}

function linkOf({ link }: TenonClient): Link {
  if (!link) throw new Error('Not connected')
  return link
}

/** Passes everything that the server sends to the protocol. */
function listen(client: TenonClient, receiver: EngineReceiver): void {
  client.removeRequestHandler('ping')
  client.setFallbackRequestHandler((params, request) => answer(request, params, receiver))
  client.setFallbackNotificationHandler((notification) => receiver.notification(notification as JSONRPCNotification))
  client.on('error', ({ error }) => receiver.error(error as Error))
  client.on('unmatched', ({ response }) => receiver.error(unknownResponse(response)))
  client.on('state', ({ state }) => {
    if (state === 'closed') receiver.closed()
  })
}

async function answer(request: IncomingRequest, params: object, receiver: EngineReceiver): Promise<unknown> {
  const { exchange } = request
  if (!exchange) return answerInput(request, params, receiver)
  serve(exchange, receiver)
  // The exchange has its response then.
  await new Promise<void>((resolve) => exchange.onEnd(resolve))
  return {}
}

let inputRequests = 0

/** Answers a request that came in a result, as if it had come as a request. */
async function answerInput(
  { method, signal }: IncomingRequest,
  params: object,
  receiver: EngineReceiver,
): Promise<ResultObject> {
  const request = { jsonrpc: '2.0', id: `input-${++inputRequests}`, method, params } as JSONRPCRequest
  return receiver.request(request, new InputCall(signal))
}

class InputCall implements EngineCall {
  readonly signal: AbortSignal
  readonly sessionId = undefined
  readonly authInfo = undefined
  readonly requestInfo = undefined
  readonly closeSSEStream = undefined
  readonly closeStandaloneSSEStream = undefined

  constructor(signal: AbortSignal) {
    this.signal = signal
  }

  get cancelled(): boolean {
    return this.signal.aborted
  }

  end(): void {}
}

/** A server of 2026-07-28 announces changes of its lists, and sends log messages, only to clients that asked for them. */
function listenForChanges(client: TenonClient, receiver: EngineReceiver): void {
  client.on('log', () => {})
  const { tools, prompts, resources } = client.server.capabilities
  const filter = {
    ...(tools?.listChanged && { toolsListChanged: true }),
    ...(prompts?.listChanged && { promptsListChanged: true }),
    ...(resources?.listChanged && { resourcesListChanged: true }),
  }
  if (Object.keys(filter).length > 0) client.listen(filter).catch((error) => receiver.error(error))
}

/** A transport with a session id continues a session, which needs no handshake. */
function sessionOf(transport: Transport): ServerDescription | undefined {
  if (transport.sessionId === undefined) return undefined
  return { revision: LATEST_PROTOCOL_VERSION, info: undefined, capabilities: {}, instructions: undefined }
}

/** The revision of a continued session is known to the program, not to the client. */
function withoutVersion(transport: Transport): Transport {
  return new Proxy(transport, {
    get: (target, key) => {
      const value = key === 'setProtocolVersion' ? undefined : Reflect.get(target, key, target)
      return typeof value === 'function' && key !== 'constructor' ? value.bind(target) : value
    },
    set: (target, key, value) => Reflect.set(target, key, value, target),
  })
}

function toConnectError(error: unknown, timeout: number): unknown {
  if (error instanceof RevisionError) return new Error(`Server's protocol version is not supported: ${error.offered}`)
  return toMcpError(error, { timeout })
}
