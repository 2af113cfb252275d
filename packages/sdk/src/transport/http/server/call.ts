import { Fault, type RequestId } from '../../../jsonrpc/message.ts'
import { boundsProblem, parseUnambiguous } from '../../../jsonrpc/parse.ts'
import type { HttpRequest } from '../../../protocol/http-request.ts'
import type { Deadlines } from '../../../util/deadlines.ts'
import type { IncomingBodies } from './incoming-bodies.ts'
import type { UnsentOutputs } from './unsent-output.ts'

/** Response headers, with lower-case names. */
export type HeaderFields = Readonly<Record<string, string>>

/**
 * One HTTP request and its response, independent of the runtime. `node.ts` and `web.ts` implement it directly, so that neither
 * pays for the objects of the other.
 */
export interface HttpCall {
  readonly method: string
  readonly request: CallRequest
  /** The `Access-Control-Allow-Origin` header that a layer in front of us, such as `cors` middleware, set on the response. */
  readonly allowedOrigin: string | undefined
  /** Whether that layer also set `Access-Control-Expose-Headers`. */
  readonly exposesHeaders: boolean
  /** Calls `done` with the body, or a `Refusal` if it is too large, too slow or not UTF-8. No promise, because every call passes here. */
  body(limits: BodyLimits, done: (body: Body | Refusal) => void): void
  reply(status: number, headers: HeaderFields, body?: string | Uint8Array): void
  /** Responds with an event stream. */
  stream(headers: HeaderFields): EventSink
  /** Calls `listener` if the client disconnects before the response is complete. */
  onClose(listener: () => void): void
  /** Bounds the output that waits for a slow client. Set before anything is sent. */
  limitOutput(limits: OutputLimits): void
  /** Where the caller has a token: answers with 403 and a challenge that names the scopes. */
  replyInsufficientScope?(scopes: readonly string[], headers: HeaderFields, body: string): void
  /** Where the caller has a token: runs `end` when the token expires, unless the call is over by then. */
  atExpiry?(end: () => void): void
}

/** Limits for output that clients do not read. */
export interface OutputLimits {
  readonly unsentOutputs: UnsentOutputs
  /** Unread bytes on one connection above which no further response may wait. */
  readonly maxQueuedBytes: number
}

/** An HTTP request, with its caller once that is known. */
export interface CallRequest extends HttpRequest {
  principal: string | undefined
  /** Whether the runtime dropped headers because there were too many. */
  readonly truncated: boolean
  /** The address of the client, if known: that of the connection, or the result of `clientAddress`. */
  peer: string | undefined
}

/** Limits for request bodies. */
export interface BodyLimits {
  readonly maxBodyBytes: number
  readonly bodyTimeoutMs: number
  /** Deadlines of the bodies that are arriving; undefined if the HTTP server has timeouts of its own. */
  readonly deadlines: Deadlines | undefined
  /** Counts the large bodies that are arriving; undefined if they are not limited in total. */
  readonly incoming?: IncomingBodies | undefined
}

/** The body as text, or as a framework in front of us parsed it. */
export type Body = string | ParsedBody

export interface ParsedBody {
  readonly value: unknown
  /** The text that was parsed, if the framework kept it. */
  readonly text?: string | undefined
}

/** Converts what a framework read or parsed of a body. */
export function toBody(parsed: unknown, raw: unknown, maxBodyBytes: number): Body | Refusal {
  const text = toText(parsed)
  if (typeof text === 'string' && text.length > maxBodyBytes) return tooLarge(maxBodyBytes)
  if (text !== undefined) return text
  const kept = toText(raw)
  return kept instanceof Refusal ? kept : { value: parsed, text: kept }
}

function toText(content: unknown): string | Refusal | undefined {
  if (typeof content === 'string') return content
  return content instanceof Uint8Array ? decodeBody(content) : undefined
}

/** Decodes UTF-8. */
export function decodeBody(bytes: Uint8Array): string | Refusal {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    return notUtf8()
  }
}

/**
 * Parses the message in a body. A body that a framework parsed has the same limits; repeated members can be found only if the
 * framework kept the text.
 */
export function messageIn(body: Body, maxBodyBytes: number): unknown | Fault {
  if (typeof body === 'string') return parseUnambiguous(body)
  const { value, text } = body
  const problem = boundsProblem(value, maxBodyBytes)
  if (problem === 'too-large') throw tooLarge(maxBodyBytes)
  if (problem || text === undefined) return problem ?? value
  const reread = parseUnambiguous(text)
  return reread instanceof Fault ? reread : value
}

/** The writable end of an event stream. */
export interface EventSink {
  write(text: string): void
  /** Bytes that the client has not read yet. */
  readonly waiting: number
  /** Resolves when the client has read enough or is gone; undefined if there is nothing to wait for. */
  drained(): Promise<void> | undefined
  end(): void
  /** Closes the connection. */
  destroy(): void
}

/** A response that refuses a request, with a JSON-RPC error as its body. */
export class Refusal {
  readonly status: number
  readonly code: number
  readonly message: string
  /** Left out of the body if undefined; null for revisions whose clients expect it. */
  readonly id: RequestId | null | undefined
  readonly headers: HeaderFields | undefined
  /** Details for the client, such as the supported versions. */
  data: unknown

  constructor(status: number, code: number, message: string, id?: RequestId | null, headers?: HeaderFields) {
    this.status = status
    this.code = code
    this.message = message
    this.id = id
    this.headers = headers
  }

  /** The text of the response. */
  get json(): string {
    const error = { code: this.code, message: this.message, ...(this.data !== undefined && { data: this.data }) }
    return JSON.stringify({ jsonrpc: '2.0', ...(this.id !== undefined && { id: this.id }), error })
  }

  /** @param extra Further response headers. */
  send(call: HttpCall, extra?: HeaderFields): void {
    call.reply(this.status, { ...jsonHeaders, ...this.headers, ...extra }, this.json)
  }
}

/** The code of refusals for which the protocol defines none. */
export const refusedCode = -32000
export const sessionNotFoundCode = -32001

export const jsonHeaders: HeaderFields = Object.freeze({ 'content-type': 'application/json' })

/** 2026-07-28 streamable-http: proxies must not buffer events. */
export const eventHeaders: HeaderFields = Object.freeze({
  'content-type': 'text/event-stream',
  'cache-control': 'no-cache, no-transform',
  'x-accel-buffering': 'no',
})

export function tooLarge(maxBodyBytes: number): Refusal {
  // The rest of the body stays unread, so the connection cannot be reused.
  return new Refusal(
    413,
    refusedCode,
    `The request body is larger than ${maxBodyBytes} bytes (maxBodyBytes)`,
    undefined,
    closing,
  )
}

export function tooSlow(bodyTimeoutMs: number): Refusal {
  return new Refusal(408, refusedCode, `The body did not arrive within ${bodyTimeoutMs} ms`, undefined, closing)
}

export function tooManyBodies(): Refusal {
  const headers = { ...closing, 'retry-after': '5' }
  return new Refusal(503, refusedCode, 'Too many large requests are arriving (maxIncomingBytes)', undefined, headers)
}

/** @param id Null for revisions whose clients expect it. */
export function tooManyStreams(id?: null): Refusal {
  return new Refusal(429, refusedCode, 'Too many open streams: close one first', id, { 'retry-after': '5' })
}

export function notUtf8(): Refusal {
  return new Refusal(400, -32700, 'The body is not valid UTF-8')
}

const closing: HeaderFields = { connection: 'close' }
