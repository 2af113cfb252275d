import type { ServerResponse } from 'node:http'
import type { RequestId, RpcMessage } from '../../../../jsonrpc/message.ts'
import type { TextSender, Transport } from '../../../../jsonrpc/transport.ts'
import type { Endpoint } from '../../../../protocol/endpoint.ts'
import type { CarriesManyPeers, Disconnectable, HasSession, MessageHandler } from '../../../../protocol/transport.ts'
import type { NodeRequest } from '../node-request.ts'
import type { FetchExtras } from '../web.ts'
import { RawHttpCore } from './core.ts'
import type { RawHttpOptions, RawSendOptions } from './options.ts'

/**
 * A Streamable HTTP transport for one client, for programs that route sessions and messages themselves: proxies, and code
 * written for the official SDK. Every response is an event stream unless `enableJsonResponse` is set, refusals have the codes
 * and texts of the official SDK, and `onmessage` gets each message with its HTTP request. Requests of 2026-07-28 need no
 * session: if the transport is connected to a server, they are answered beside it.
 *
 * Most servers use `serveHttp` or `createMcpHandler`.
 */
export class RawHttpTransport implements Transport, TextSender, HasSession, Disconnectable, CarriesManyPeers {
  readonly hasOwnPeer = true
  /**
   * @internal No `#private` member: programs wrap this object in a `Proxy`, which has none, and extend the class, so the name is
   * one that theirs do not have.
   */
  readonly _tenonCore: RawHttpCore

  constructor(options: RawHttpOptions = {}) {
    this._tenonCore = new RawHttpCore(this, options, originalSend)
  }

  get onmessage(): MessageHandler | undefined {
    return this._tenonCore.onmessage
  }

  set onmessage(handler: MessageHandler | undefined) {
    this._tenonCore.onmessage = handler
  }

  get onerror(): Transport['onerror'] | undefined {
    return this._tenonCore.onerror
  }

  set onerror(handler: Transport['onerror'] | undefined) {
    this._tenonCore.onerror = handler
  }

  get onclose(): Transport['onclose'] | undefined {
    return this._tenonCore.onclose
  }

  set onclose(handler: Transport['onclose'] | undefined) {
    this._tenonCore.onclose = handler
  }

  get sessionId(): string | undefined {
    return this._tenonCore.sessionId
  }

  set sessionId(sessionId: string | undefined) {
    this._tenonCore.sessionId = sessionId
  }

  /** Whether `initialize` was received. */
  get isInitialized(): boolean {
    return this._tenonCore.isInitialized
  }

  /** Continues a session that was opened elsewhere, for example by another process. */
  resumeSession(sessionId: string | undefined): void {
    this._tenonCore.resumeSession(sessionId)
  }

  /** @internal */
  serves(server: Endpoint): void {
    this._tenonCore.serves(server, this)
  }

  /** Called by `server.connect`. Programs without a server set `onmessage` and call it themselves. */
  async start(): Promise<void> {
    this._tenonCore.start(this)
  }

  /**
   * Sends a message. A response goes to the stream of its request, other messages to the stream of `relatedRequestId` or to
   * the one that the client opened by GET. Rejects if the client cannot get it.
   */
  send(message: RpcMessage, options?: RawSendOptions): Promise<void> {
    return this._tenonCore.send(message, options)
  }

  /** Sends a message that belongs to no request on the stream that the client opened by GET. */
  sendText(text: string): void {
    this._tenonCore.sendText(text)
  }

  close(): Promise<void> {
    return this._tenonCore.close()
  }

  /** Handles a request of `node:http`, Express or the like. Resolves when the response was sent or the client is gone. */
  handleRequest(request: NodeRequest, response: ServerResponse, parsedBody?: unknown): Promise<void> {
    return this._tenonCore.handleRequest(request, response, parsedBody)
  }

  /** Handles a web-standard request. */
  handleFetch(request: Request, extras?: FetchExtras): Promise<Response> {
    return this._tenonCore.handleFetch(request, extras)
  }

  /** Ends the connection of a request, so that the client resumes it later. Use it with an event store. */
  closeStream(requestId: RequestId): void {
    this._tenonCore.closeStream(requestId)
  }

  /** Ends the connection of the stream opened by GET, so that the client resumes it later. */
  closeStandaloneStream(): void {
    this._tenonCore.closeStandaloneStream()
  }

  disconnect(retryMs: number): void {
    this._tenonCore.disconnect(retryMs)
  }
}

/** The `send` of the class. Named outside of it, because a class that names itself stays in every bundle. */
function originalSend(): RawHttpTransport['send'] {
  return RawHttpTransport.prototype.send
}
