import { AsyncLocalStorage } from 'node:async_hooks'
import type { Implementation, InputRequest, ResultObject, RpcNotification, RpcRequest } from 'tenon'
import type { Link } from 'tenon/jsonrpc'
import {
  type Context,
  ProtocolError,
  processStateKey,
  McpError as TenonError,
  Server as TenonServer,
  UrlElicitationRequiredError as TenonUrlError,
} from 'tenon/server'
import type {
  JSONRPCMessage,
  JSONRPCNotification,
  JSONRPCRequest,
  RequestId,
  ServerCapabilities,
} from '../generated/protocol-types.ts'
import {
  type Engine,
  type EngineNotifyOptions,
  type EngineReceiver,
  type EngineRequestOptions,
  relatedCall,
} from '../shared/engine.ts'
import { UrlElicitationRequiredError } from '../shared/errors.ts'
import { ExchangeCall, notifyOn, requestOn, sendOn, toErrorBody, unknownResponse } from '../shared/link-engine.ts'
import type { Transport, TransportSendOptions } from '../shared/transport.ts'
import { toLinkTransport } from '../shared/transport-adapter.ts'
import { IntroducingCall, StatelessCall } from './stateless-call.ts'

/** Methods that Tenon would serve itself. Programs of SDK 1.x serve them, or refuse them. */
const replacedMethods = ['initialize', 'ping', 'logging/setLevel', 'resources/subscribe', 'resources/unsubscribe']

/** SDK 1.x sends what the client asked for, however much that is. */
const noLimits = { toolCalls: false, completions: false, taskRequests: false } as const

/**
 * The request that runs, on revisions where only requests have a way to the client. Others do not enter it. There is one for all
 * servers, because Node.js copies every storage that was ever used to every new promise.
 */
const runningCall = new AsyncLocalStorage<{ readonly engine: ServerEngine; readonly call: StatelessCall }>()

/**
 * Carries the messages of a `Server` over a Tenon server, which answers every revision. Handlers run as they do on SDK 1.x. On
 * revisions without a handshake their questions end the request, and they run again with the answers.
 */
export class ServerEngine implements Engine {
  readonly checksParams = true
  readonly checksResults = false
  readonly #tenon: TenonServer
  /** Methods whose handler has a schema of its own. */
  readonly #unchecked = new Set<string>()
  #receiver: EngineReceiver | undefined
  #link: Link | undefined
  /** Set by the first request of a revision without a handshake. */
  #introduced: Promise<void> | undefined

  constructor(info: Implementation, instructions: string | undefined) {
    this.#tenon = new TenonServer(withNames(info), {
      instructions,
      lifecycle: 'lenient',
      limits: noLimits,
      listChangedDelayMs: 0,
      // Programs create a server for each request, and any of them may get the answers.
      stateKey: processStateKey,
      mapError: toProtocolError,
      onClosed: (link) => this.#closed(link),
      onUnmatched: (response) => this.#receiver?.error(unknownResponse(response)),
      onError: (error) => this.#receiver?.error(error as Error),
    })
    const serve = (request: RpcRequest, ctx: Context) => this.#serve(request, ctx)
    const checksParams = (method: string) => !this.#unchecked.has(method)
    this.#tenon.setFallbackRequestHandler(serve, { checksParams })
    for (const method of replacedMethods) {
      const handler = (_params: unknown, ctx: Context) => serve(ctx.exchange!.request, ctx)
      this.#tenon.setRequestHandler(method, handler, { replace: true, checksParams })
    }
    this.#tenon.setFallbackNotificationHandler((notification) => this.#notified(notification))
  }

  /** The request that runs now, on a revision without a handshake. */
  get running(): StatelessCall | undefined {
    const running = runningCall.getStore()
    return running?.engine === this ? running.call : undefined
  }

  registerCapabilities(capabilities: ServerCapabilities): void {
    this.#tenon.registerCapabilities(capabilities as never)
  }

  setChecked(method: string, isChecked: boolean): void {
    if (isChecked) this.#unchecked.delete(method)
    else this.#unchecked.add(method)
  }

  async connect(transport: Transport, receiver: EngineReceiver): Promise<void> {
    this.#receiver = receiver
    this.#link = undefined
    this.#introduced = undefined
    this.#link = await this.#tenon.connect(toLinkTransport(transport))
    this.#link.firstId = 0
  }

  async close(): Promise<void> {
    await Promise.all(this.#tenon.links.map((link) => link.close(0)))
  }

  async request(method: string, params: object | undefined, options: EngineRequestOptions): Promise<ResultObject> {
    const call = options[relatedCall] ?? this.running
    if (call instanceof StatelessCall) return call.ask({ method, params } as InputRequest, options)
    return requestOn(this.#linkTo(call, options.relatedRequestId), method, params, options)
  }

  async notify(method: string, params: object | undefined, options: EngineNotifyOptions | undefined): Promise<void> {
    const call = options?.[relatedCall] ?? this.running
    const isChange = changes.has(method)
    if (call instanceof StatelessCall && !isChange) return call.notify(method, params)
    const link = this.#linkTo(call, options?.relatedRequestId)
    if (isChange && link.isStateless && !this.#tenon.callerOf(link)) return this.#announce(method, params)
    await notifyOn(link, method, params, withoutCall(options))
  }

  send(message: JSONRPCMessage, { relatedRequestId }: TransportSendOptions): Promise<void> {
    return sendOn(this.#linkTo(undefined, relatedRequestId), message, relatedRequestId)
  }

  receive(message: JSONRPCMessage): void {
    this.#linkTo(undefined, undefined).receive(message)
  }

  #serve(request: RpcRequest, ctx: Context): ResultObject | PromiseLike<ResultObject> {
    if (ctx.caller.rules.era === 'stateless') return this.#serveStateless(request, ctx)
    return this.#receiver!.request(request as JSONRPCRequest, new ExchangeCall(ctx.exchange!))
  }

  async #serveStateless(request: RpcRequest, ctx: Context): Promise<ResultObject> {
    const call = new StatelessCall(ctx)
    this.#introduced ??= this.#introduce(ctx)
    await this.#introduced
    try {
      return await runningCall.run({ engine: this, call }, () =>
        this.#receiver!.request(request as JSONRPCRequest, call),
      )
    } catch (error) {
      throw error instanceof UrlElicitationRequiredError ? new TenonUrlError(error.elicitations, error.message) : error
    }
  }

  /**
   * Programs wait for `notifications/initialized` before they register what depends on the client. Revisions without a handshake
   * do not have it, but their first request says the same. Nothing can be asked meanwhile: the request did not cause the question.
   */
  async #introduce(ctx: Context): Promise<void> {
    const introduction = { engine: this, call: new IntroducingCall(ctx) }
    runningCall.run(introduction, () =>
      this.#receiver!.notification({ jsonrpc: '2.0', method: 'notifications/initialized' }),
    )
    // Handlers of notifications run in the next microtask.
    await Promise.resolve()
  }

  #notified(notification: RpcNotification): void {
    this.#receiver?.notification(notification as JSONRPCNotification)
  }

  #closed(link: Link): void {
    if (this.#link !== undefined && link !== this.#link) return
    this.#link = undefined
    this.#receiver?.closed()
  }

  /** The link of a request; without one, that of the client with a session. */
  #linkTo(call: unknown, id: RequestId | undefined): Link {
    if (call instanceof ExchangeCall) return call.link
    const { links } = this.#tenon
    const related = id === undefined ? undefined : links.find((link) => link.exchange(id))
    const link = related ?? links.find((each) => this.#tenon.callerOf(each)) ?? this.#link ?? links[0]
    if (!link) throw new Error('Not connected')
    return link
  }

  /** Notifies clients that listen for changes, on revisions without a handshake. */
  #announce(method: string, params: object | undefined): void {
    changes.get(method)?.(this.#tenon, params as { uri: string })
  }
}

const changes: ReadonlyMap<string, (server: TenonServer, params: { uri: string }) => void> = new Map([
  ['notifications/tools/list_changed', (server) => server.sendToolListChanged()],
  ['notifications/prompts/list_changed', (server) => server.sendPromptListChanged()],
  ['notifications/resources/list_changed', (server) => server.sendResourceListChanged()],
  ['notifications/resources/updated', (server, { uri }) => server.sendResourceUpdated(uri)],
])

/** SDK 1.x accepts a server without a name or a version, and icons with relative URLs. */
function withNames(info: Implementation): Implementation {
  const { name = '', version = '', icons } = info ?? {}
  return {
    ...info,
    name: String(name),
    version: String(version),
    ...(icons && { icons: icons.filter(({ src }) => URL.canParse(src)) }),
  }
}

function toProtocolError(error: unknown): unknown {
  if (error instanceof TenonError) return error
  const { code, message, data } = toErrorBody(error)
  return new ProtocolError(code, message, data)
}

/** Transports get the options that programs know. */
function withoutCall(options: EngineNotifyOptions | undefined): TransportSendOptions | undefined {
  if (!options || !(relatedCall in options)) return options
  const { [relatedCall]: _call, ...rest } = options
  return rest
}
