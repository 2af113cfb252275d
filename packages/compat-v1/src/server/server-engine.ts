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
import { answersWithoutInitialize } from '../shared/without-initialize.ts'
import type { RawTransport } from './raw-transport.ts'
import { IntroducingCall, StatelessCall } from './stateless-call.ts'

/** Methods that Tenon would serve itself. Programs of SDK 1.x serve them, or refuse them. */
const replacedMethods = ['initialize', 'ping', 'logging/setLevel', 'resources/subscribe', 'resources/unsubscribe']

type TenonOptions = ConstructorParameters<typeof TenonServer>[1]

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
  private readonly _tenon: TenonServer
  /** Methods whose handler has a schema of its own. */
  private readonly _unchecked = new Set<string>()
  private _receiver: EngineReceiver | undefined
  private _link: Link | undefined
  private _transport: Transport | undefined
  /** Whether the program answers `initialize` itself, by which it may keep clients out. */
  hasOwnInitialize: () => boolean = () => false
  /** The resources that open requests listen to, by session. A client may name a resource in several of them. */
  private readonly _subscriptions = new Counts()
  /** Whether the program handles a method. */
  handles: (method: string) => boolean = () => false
  /** Set by the first request of a revision without a handshake. */
  private _introduced: Promise<void> | undefined

  constructor(info: Implementation, instructions: string | undefined) {
    this._tenon = new TenonServer(withNames(info), {
      instructions,
      lifecycle: 'lenient',
      // SDK 1.x has no rules per revision.
      results: 'as-is',
      limits: noLimits,
      sanitize: false,
      ping: false,
      listChangedDelayMs: 0,
      // Programs create a server for each request, and any of them may get the answers.
      stateKey: processStateKey,
      mapError: toProtocolError,
      onClosed: (link) => this._closed(link),
      onUnmatched: (response) => this._receiver?.error(unknownResponse(response)),
      onError: (error) => this._receiver?.error(error as Error),
      handshakeOnly: () => this._isHandshakeOnly(),
      acceptSubscriptions: (uris: readonly string[], ctx: Context) => this._subscribe(uris, ctx),
    } as TenonOptions)
    const serve = (request: RpcRequest, ctx: Context) => this._serve(request, ctx)
    const checksParams = (method: string) => !this._unchecked.has(method)
    this._tenon.setFallbackRequestHandler(serve, { checksParams })
    for (const method of replacedMethods) {
      const handler = (_params: unknown, ctx: Context) => serve(ctx.exchange!.request, ctx)
      this._tenon.setRequestHandler(method, handler, { replace: true, checksParams })
    }
    this._tenon.setFallbackNotificationHandler((notification) => this._notified(notification))
  }

  /** The request that runs now, on a revision without a handshake. */
  get running(): StatelessCall | undefined {
    const running = runningCall.getStore()
    return running?.engine === this ? running.call : undefined
  }

  registerCapabilities(capabilities: ServerCapabilities): void {
    this._tenon.registerCapabilities(capabilities as never)
  }

  setChecked(method: string, isChecked: boolean): void {
    if (isChecked) this._unchecked.delete(method)
    else this._unchecked.add(method)
  }

  async connect(transport: Transport, receiver: EngineReceiver): Promise<void> {
    this._receiver = receiver
    this._transport = transport
    this._link = undefined
    this._introduced = undefined
    this._link = await this._tenon.connect(toLinkTransport(transport))
    this._link.firstId = 0
  }

  async close(): Promise<void> {
    await Promise.all(this._tenon.links.map((link) => link.close(0)))
  }

  async request(method: string, params: object | undefined, options: EngineRequestOptions): Promise<ResultObject> {
    const call = options[relatedCall] ?? this.running
    if (call instanceof StatelessCall) return call.ask({ method, params } as InputRequest, options)
    return requestOn(this._linkTo(call, options.relatedRequestId), method, params, options)
  }

  async notify(method: string, params: object | undefined, options: EngineNotifyOptions | undefined): Promise<void> {
    const call = options?.[relatedCall] ?? this.running
    const isChange = changes.has(method)
    if (call instanceof StatelessCall && !isChange) return call.notify(method, params)
    const link = this._linkTo(call, options?.relatedRequestId)
    if (isChange && !this._tenon.callerOf(link) && this._hasStatelessPeer) return this._announce(method, params)
    await notifyOn(link, method, params, withoutCall(options))
  }

  send(message: JSONRPCMessage, { relatedRequestId }: TransportSendOptions): Promise<void> {
    return sendOn(this._linkTo(undefined, relatedRequestId), message, relatedRequestId)
  }

  receive(message: JSONRPCMessage): void {
    this._linkTo(undefined, undefined).receive(message)
  }

  /** The official SDK refuses requests of 2026-07-28, so programs with a session or a check of their own rely on that. */
  private _isHandshakeOnly(): boolean {
    return !answersWithoutInitialize && (this._transport?.sessionId !== undefined || this.hasOwnInitialize())
  }

  private _serve(request: RpcRequest, ctx: Context): ResultObject | PromiseLike<ResultObject> {
    if (ctx.caller.rules.era === 'stateless') return this._serveStateless(request, ctx)
    return this._receiver!.request(request as JSONRPCRequest, new ExchangeCall(ctx.exchange!))
  }

  private async _serveStateless(request: RpcRequest, ctx: Context): Promise<ResultObject> {
    const call = new StatelessCall(ctx, this._sessionIdFor(ctx))
    this._introduced ??= this._introduce(ctx)
    await this._introduced
    try {
      return await this._run(request as JSONRPCRequest, call)
    } catch (error) {
      throw error instanceof UrlElicitationRequiredError ? new TenonUrlError(error.elicitations, error.message) : error
    }
  }

  private async _run(request: JSONRPCRequest, call: StatelessCall): Promise<ResultObject> {
    return runningCall.run({ engine: this, call }, () => this._receiver!.request(request, call))
  }

  /**
   * Programs record subscribers in the handler of `resources/subscribe`, or refuse them there. Clients of 2026-07-28 name all
   * resources in one request, so the handler runs for each, and that of `resources/unsubscribe` when the request ends.
   */
  private async _subscribe(uris: readonly string[], ctx: Context): Promise<string[]> {
    this._introduced ??= this._introduce(ctx)
    await this._introduced
    if (!this.handles('resources/subscribe')) return [...uris]
    const { request } = ctx.exchange!
    const call = new IntroducingCall(ctx, this._sessionIdFor(ctx))
    const run = async (method: string, uri: string) => {
      const params = { uri, _meta: request.params?._meta }
      await this._run({ jsonrpc: '2.0', id: request.id, method, params } as JSONRPCRequest, call)
    }
    const accepted: string[] = []
    for (const uri of new Set(uris)) {
      if (ctx.exchange!.ended) break
      await run('resources/subscribe', uri).then(
        () => accepted.push(uri),
        (error) => this._receiver?.error(error),
      )
    }
    const keyOf = (uri: string) => JSON.stringify([call.sessionId, uri])
    for (const uri of accepted) this._subscriptions.add(keyOf(uri))
    ctx.exchange!.onEnd(() => {
      for (const uri of accepted) {
        if (this._subscriptions.delete(keyOf(uri))) run('resources/unsubscribe', uri).catch(() => {})
      }
    })
    return accepted
  }

  /** Handlers keep what belongs to a client by session id, so that callers without a session must not share one. */
  private _sessionIdFor(ctx: Context): string | undefined {
    if (!answersWithoutInitialize || !ctx.request) return undefined
    const { sessionId, isInitialized } = this._transport as Partial<RawTransport>
    return sessionId !== undefined && !isInitialized ? sessionId : globalThis.crypto.randomUUID()
  }

  /**
   * Programs wait for `notifications/initialized` before they register what depends on the client. Revisions without a handshake
   * do not have it, but their first request says the same. Nothing can be asked meanwhile: the request did not cause the question.
   */
  private async _introduce(ctx: Context): Promise<void> {
    const introduction = { engine: this, call: new IntroducingCall(ctx, undefined) }
    runningCall.run(introduction, () =>
      this._receiver!.notification({ jsonrpc: '2.0', method: 'notifications/initialized' }),
    )
    // Handlers of notifications run in the next microtask.
    await Promise.resolve()
  }

  private _notified(notification: RpcNotification): void {
    this._receiver?.notification(notification as JSONRPCNotification)
  }

  private _closed(link: Link): void {
    if (this._link !== undefined && link !== this._link) return
    this._link = undefined
    this._receiver?.closed()
  }

  /** On HTTP, requests of 2026-07-28 have links of their own beside that of the transport. */
  private get _hasStatelessPeer(): boolean {
    return this._tenon.links.some(({ isStateless }) => isStateless)
  }

  /** The link of a request; without one, that of the client with a session. */
  private _linkTo(call: unknown, id: RequestId | undefined): Link {
    if (call instanceof ExchangeCall) return call.link
    const { links } = this._tenon
    const related = id === undefined ? undefined : links.find((link) => link.exchange(id))
    const link = related ?? links.find((each) => this._tenon.callerOf(each)) ?? this._link ?? links[0]
    if (!link) throw new Error('Not connected')
    return link
  }

  /** Notifies clients that listen for changes, on revisions without a handshake. */
  private _announce(method: string, params: object | undefined): void {
    changes.get(method)?.(this._tenon, params as { uri: string })
  }
}

const changes: ReadonlyMap<string, (server: TenonServer, params: { uri: string }) => void> = new Map([
  ['notifications/tools/list_changed', (server) => server.sendToolListChanged()],
  ['notifications/prompts/list_changed', (server) => server.sendPromptListChanged()],
  ['notifications/resources/list_changed', (server) => server.sendResourceListChanged()],
  ['notifications/resources/updated', (server, { uri }) => server.sendResourceUpdated(uri)],
])

/** How often each key was added. */
class Counts {
  private readonly _counts = new Map<string, number>()

  add(key: string): void {
    this._counts.set(key, (this._counts.get(key) ?? 0) + 1)
  }

  /** Returns whether the key was there for the last time. */
  delete(key: string): boolean {
    const left = (this._counts.get(key) ?? 0) - 1
    if (left > 0) this._counts.set(key, left)
    else this._counts.delete(key)
    return left <= 0
  }
}

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
