import type { ServerResponse } from 'node:http'
import { principalOf } from '../../auth/resource/principal.ts'
import { ClosedError } from '../../errors.ts'
import { classify, Fault, type RpcMessage } from '../../jsonrpc/message.ts'
import { isWatched, type TextSender, type Transport } from '../../jsonrpc/transport.ts'
import type { DiesSilently, HasSession, MessageHandler, RequestStream } from '../../protocol/transport.ts'
import { Deadlines } from '../../util/deadlines.ts'
import { random } from '../../util/random.ts'
import {
  type BodyLimits,
  type CallRequest,
  type EventSink,
  eventHeaders,
  type HttpCall,
  Refusal,
  refusedCode,
  sessionNotFoundCode,
} from '../http/server/call.ts'
import { Guard, type GuardOptions } from '../http/server/guard.ts'
import { NodeCall } from '../http/server/node.ts'
import type { NodeRequest } from '../http/server/node-request.ts'
import { readMessage } from './endpoints.ts'

/** Options of `SSEServerTransport`. */
export interface SSEServerTransportOptions extends GuardOptions {
  /** The largest request body. Default 4 MiB. */
  maxBodyBytes?: number | undefined
  /** How long a request body may take to arrive. Default 30,000. */
  bodyTimeoutMs?: number | undefined
  /** Whether the headers `Host` and `Origin` are checked. Default true. */
  enableDnsRebindingProtection?: boolean | undefined
}

/** Bytes that the client may be behind before it is disconnected. */
const maxQueuedBytes = 4 * 1024 * 1024

/**
 * The HTTP+SSE transport of 2024-11-05 for servers that route requests themselves. Create it with the response to the GET, and
 * pass every POST to `handlePostMessage`. `serveHttp(server, { sse: true })` does all of this.
 */
export class SSEServerTransport implements Transport, TextSender, HasSession, DiesSilently {
  onmessage?: MessageHandler | undefined
  onerror?: Transport['onerror'] | undefined
  onclose?: Transport['onclose'] | undefined
  readonly sessionId = random.uuid()
  readonly diesSilently = true
  readonly #endpoint: string
  readonly #response: ServerResponse
  readonly #bodyLimits: BodyLimits
  readonly #guard: Guard
  #principal: string | undefined
  #sink: EventSink | undefined

  /** @param endpoint The path that the client posts messages to, such as `/messages`. */
  constructor(endpoint: string, response: ServerResponse, options: SSEServerTransportOptions = {}) {
    this.#endpoint = endpoint
    this.#response = response
    const { maxBodyBytes = 4 * 1024 * 1024, bodyTimeoutMs = 30_000 } = options
    this.#bodyLimits = { maxBodyBytes, bodyTimeoutMs, deadlines: new Deadlines(bodyTimeoutMs) }
    const isUnchecked = options.enableDnsRebindingProtection === false
    this.#guard = new Guard(isUnchecked ? { allowAnyHost: true, allowAnyOrigin: true } : options)
  }

  /** The user who opened the stream; undefined for anonymous callers. */
  get principal(): string | undefined {
    return this.#principal
  }

  async start(): Promise<void> {
    const call = new NodeCall(this.#response.req as NodeRequest, this.#response)
    const foreign = this.#guard.check(call)
    if (foreign) {
      foreign.send(call)
      throw new ClosedError(foreign.message)
    }
    this.#principal = await principalOf(call.request)
    this.#sink = call.stream({ ...eventHeaders, ...this.#guard.corsHeaders(call) })
    call.onClose(() => this.#end())
    const separator = this.#endpoint.includes('?') ? '&' : '?'
    this.#sink.write(`event: endpoint\ndata: ${this.#endpoint}${separator}sessionId=${this.sessionId}\n\n`)
  }

  send(message: RpcMessage | RpcMessage[]): void {
    this.sendText(JSON.stringify(message))
  }

  sendText(text: string): void {
    if (!this.#sink) throw new ClosedError('The stream is closed')
    this.#sink.write(`event: message\ndata: ${text}\n\n`)
    if (this.#sink.waiting > maxQueuedBytes) this.#sink.destroy()
  }

  async close(): Promise<void> {
    this.#sink?.end()
    this.#end()
  }

  /** Handles a POST to the endpoint. */
  async handlePostMessage(request: NodeRequest, response: ServerResponse, parsedBody?: unknown): Promise<void> {
    const call = new NodeCall(request, response, parsedBody)
    try {
      await this.#take(call)
      call.reply(202, {}, 'Accepted')
    } catch (problem) {
      if (!(problem instanceof Refusal)) throw problem
      problem.send(call, this.#guard.corsHeaders(call))
    }
  }

  async #take(call: HttpCall): Promise<void> {
    const foreign = this.#guard.check(call)
    if (foreign) throw foreign
    if (!this.#sink) throw new Refusal(500, refusedCode, 'The stream is not open', null)
    const { request } = call
    request.principal = await principalOf(request)
    // Only the user who opened the stream may post.
    if (request.principal !== this.#principal) {
      throw new Refusal(
        404,
        sessionNotFoundCode,
        'Session not found: it ended with its stream. Open the stream again.',
        null,
      )
    }
    const value = await readMessage(call, this.#bodyLimits)
    const kind = Array.isArray(value) ? undefined : classify(value)
    if (kind instanceof Fault) throw new Refusal(400, kind.code, kind.message, kind.id ?? null)
    this.onmessage?.(value, this.#replyTo(request), kind)
  }

  /** Everything is sent on the one stream. The POST identifies the caller for handlers. */
  #replyTo(request: CallRequest): RequestStream {
    return {
      request,
      authInfo: request.auth,
      get requestInfo() {
        return { headers: request.headers }
      },
      era: 'handshake',
      sendText: (text) => this.#reply(text),
      end: () => {},
    }
  }

  #reply(text: string): boolean {
    if (!this.#sink) return false
    if (isWatched(this)) void this.#sendWatched(text)
    else this.sendText(text)
    return true
  }

  /** Sends through the `send` that a program put in place of ours, which may be asynchronous. */
  async #sendWatched(text: string): Promise<void> {
    try {
      await this.send(JSON.parse(text))
    } catch (error) {
      this.onerror?.(error instanceof Error ? error : new Error(String(error)))
    }
  }

  #end(): void {
    if (!this.#sink) return
    this.#sink = undefined
    this.onclose?.()
  }
}
