import { Fault, type RequestId } from '../../../jsonrpc/message.ts'
import { boundsProblem, parseUnambiguous } from '../../../jsonrpc/parse.ts'
import type { HttpRequest } from '../../../protocol/http-request.ts'
import type { Deadlines } from '../../../util/deadlines.ts'
import type { IncomingBodies } from './incoming-bodies.ts'
import type { UnsentOutputs } from './unsent-output.ts'

export type HeaderFields = Readonly<Record<string, string>>

/**
 * One HTTP request and the way to answer it: all that the engine knows of a runtime. The rims in `node.ts` and `web.ts`
 * implement it directly, so that neither pays for the objects of the other.
 */
export interface HttpCall {
  readonly method: string
  readonly request: CallRequest
  /** The `Access-Control-Allow-Origin` that a layer in front of us, such as the `cors` middleware, already set on the response. */
  readonly allowedOrigin: string | undefined
  /** Whether that layer also said which headers pages may read (`Access-Control-Expose-Headers`). */
  readonly exposesHeaders: boolean
  /** Hands over the body, or a `Refusal` when it is too large, too slow or not UTF-8. No promise: this is every call's way. */
  body(limits: BodyLimits, done: (body: Body | Refusal) => void): void
  reply(status: number, headers: HeaderFields, body?: string | Uint8Array): void
  /** Answers with a stream of events. */
  stream(headers: HeaderFields): EventSink
  /** Called when the client is gone before the answer was complete. */
  onClose(listener: () => void): void
  /** Bounds what waits for a client that does not read; set before anything is sent. */
  limitOutput(limits: OutputLimits): void
  /** Where the caller has a token: answers with 403 and a challenge that names the scopes. */
  replyInsufficientScope?(scopes: readonly string[], headers: HeaderFields, body: string): void
  /** Where the caller has a token: runs `end` when the token expires, unless the call is over by then. */
  atExpiry?(end: () => void): void
}

export interface OutputLimits {
  readonly backlogs: UnsentOutputs
  /** Bytes that may wait on one connection before more is written to it. */
  readonly maxQueuedBytes: number
}

/** The request, and who makes it once that is known. */
export interface CallRequest extends HttpRequest {
  principal: string | undefined
  /** Whether some headers were left out because there were too many. */
  readonly truncated: boolean
  /** The address of the client, where it is known: that of the connection, or what `clientAddress` says. */
  peer: string | undefined
}

export interface BodyLimits {
  readonly maxBodyBytes: number
  readonly bodyTimeoutMs: number
  /** Bodies that are on their way; undefined where the server below us has an eye on them. */
  readonly deadlines: Deadlines | undefined
  /** Counts the large bodies that are arriving; undefined where `maxBodyBytes` is small. */
  readonly incoming?: IncomingBodies | undefined
}

/** The body as text, or as the value that a framework in front of us made of it. */
export type Body = string | ParsedBody

export interface ParsedBody {
  readonly value: unknown
  /** The text that it was made of, where the framework kept it. */
  readonly text?: string | undefined
}

/** What a framework has read of a body: as it is, or what it made of it. */
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

export function decodeBody(bytes: Uint8Array): string | Refusal {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    return notUtf8()
  }
}

/**
 * The message in a body. What a framework has parsed is held to the same bounds, as far as it can still be seen: members that
 * come twice only if it kept the text.
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

/** The open end of a stream. */
export interface EventSink {
  write(text: string): void
  /** Bytes that the client has not taken yet. */
  readonly waiting: number
  /** Settles when the client has taken what was written, or is gone; undefined when there is nothing to wait for. */
  drained(): Promise<void> | undefined
  end(): void
  /** Cuts the connection. */
  destroy(): void
}

/** An answer that says no, with a JSON-RPC error as its body. */
export class Refusal {
  readonly status: number
  readonly code: number
  readonly message: string
  /** Left out of the body when undefined; null on the revisions whose clients expect it so. */
  readonly id: RequestId | null | undefined
  readonly headers: HeaderFields | undefined
  /** What helps the client on, such as the versions that it could speak. */
  data: unknown

  constructor(status: number, code: number, message: string, id?: RequestId | null, headers?: HeaderFields) {
    this.status = status
    this.code = code
    this.message = message
    this.id = id
    this.headers = headers
  }

  send(call: HttpCall, extra?: HeaderFields): void {
    const error = { code: this.code, message: this.message, ...(this.data !== undefined && { data: this.data }) }
    const body = { jsonrpc: '2.0', ...(this.id !== undefined && { id: this.id }), error }
    call.reply(this.status, { ...jsonHeaders, ...this.headers, ...extra }, JSON.stringify(body))
  }
}

/** For refusals that the protocol gives no number of its own. */
export const refusedCode = -32000
export const sessionNotFoundCode = -32001

export const jsonHeaders: HeaderFields = Object.freeze({ 'content-type': 'application/json' })

/** 2026-07-28 streamable-http: proxies must not hold events back. */
export const eventHeaders: HeaderFields = Object.freeze({
  'content-type': 'text/event-stream',
  'cache-control': 'no-cache, no-transform',
  'x-accel-buffering': 'no',
})

export function tooLarge(maxBodyBytes: number): Refusal {
  // The rest of the body is not read, so the connection cannot be used again.
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

/** @param id Null on the revisions whose clients expect it so. */
export function tooManyStreams(id?: null): Refusal {
  return new Refusal(429, refusedCode, 'Too many streams are open: close one first', id, { 'retry-after': '5' })
}

export function notUtf8(): Refusal {
  return new Refusal(400, -32700, 'The body is not valid UTF-8')
}

const closing: HeaderFields = { connection: 'close' }
