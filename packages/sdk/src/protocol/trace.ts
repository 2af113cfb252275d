import { clock } from '../util/clock.ts'
import { isThenable } from '../util/maybe-async.ts'
import { warnOnce } from '../util/warn.ts'

/** Something that happened on the wire of a client, in order. `redactTraceEvent` of `tenon/host` removes secrets. */
export type TraceEvent =
  | TracedMessage
  | TracedFault
  | TracedHttpRequest
  | TracedHttpResponse
  | TracedHttpEnd
  | TracedStderr

interface Traced {
  /** Milliseconds since 1970, with fractions. It never goes back. */
  readonly at: number
}

/** A JSON-RPC message that was sent or received. */
export interface TracedMessage extends Traced {
  readonly type: 'message'
  readonly direction: 'sent' | 'received'
  /** The message, or an array of messages (a batch). Do not change it: the client uses the same object. */
  readonly message: unknown
  /** The id of the HTTP exchange that carried it. */
  readonly http?: string | undefined
}

/** Input that is not a valid JSON-RPC message. */
export interface TracedFault extends Traced {
  readonly type: 'fault'
  /** What is wrong with it, with the beginning of the text. */
  readonly problem: string
  readonly http?: string | undefined
}

/** The reason of an HTTP exchange: the protocol itself, or OAuth (discovery, registration, tokens). */
export type HttpPurpose = 'mcp' | 'auth'

interface TracedHttp extends Traced {
  /** Identifies the exchange within this process. A retry, and each redirect of an MCP request, is another exchange. */
  readonly http: string
  readonly purpose: HttpPurpose
}

/** An HTTP request is being sent. */
export interface TracedHttpRequest extends TracedHttp {
  readonly type: 'http-request'
  readonly method: string
  readonly url: string
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>
  /** The body, of requests for OAuth only. The body of others is the next `message`. */
  readonly body?: string | undefined
}

/** The status and headers of an HTTP response arrived. */
export interface TracedHttpResponse extends TracedHttp {
  readonly type: 'http-response'
  readonly method: string
  /** For OAuth: the URL after redirects. */
  readonly url: string
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  /** Milliseconds since the request. */
  readonly durationMs: number
  /** The body, of responses for OAuth only. */
  readonly body?: string | undefined
}

/** An HTTP exchange ended. */
export interface TracedHttpEnd extends TracedHttp {
  readonly type: 'http-end'
  /** `closed`: by the client, for example to cancel a request, or because it needs no more of the response. */
  readonly outcome: 'complete' | 'closed' | 'failed'
  /** Why it failed. */
  readonly error?: string | undefined
  /** Milliseconds since the request. */
  readonly durationMs: number
}

/** The server process wrote to its stderr. */
export interface TracedStderr extends Traced {
  readonly type: 'stderr'
  readonly text: string
}

/** Receives the events of a client. */
export type TraceListener = (event: TraceEvent) => void

/** An event before its time is known. */
export type UntimedEvent = TraceEvent extends infer E ? (E extends TraceEvent ? Omit<E, 'at'> : never) : never

/** Trait: reports to a tracer what it sends and receives. The client sets `tracer` before it starts the transport. */
export interface Traceable {
  tracer: Tracer | undefined
  /** True if it reports its messages itself, because it knows more about them. */
  readonly tracesMessages?: boolean | undefined
}

let lastHttp = 0

/** Passes events to a listener, whose failures do not reach the connection. */
export class Tracer {
  readonly #listener: TraceListener
  readonly #epoch = clock.now() - clock.monotonic()
  /** The id of the HTTP exchange whose response is being read. */
  #http: string | undefined

  constructor(listener: TraceListener) {
    this.#listener = listener
  }

  emit(event: UntimedEvent): void {
    try {
      const result: unknown = this.#listener({ at: this.#epoch + clock.monotonic(), ...event })
      if (isThenable(result)) result.then(undefined, warnAbout)
    } catch (error) {
      warnAbout(error)
    }
  }

  /** Returns a new id for an HTTP exchange. */
  nextHttp(): string {
    return String(++lastHttp)
  }

  /** Reads a part of a response. Messages that `read` reports belong to this HTTP exchange. */
  reading(http: string, read: () => void): void {
    const before = this.#http
    this.#http = http
    try {
      read()
    } finally {
      this.#http = before
    }
  }

  /** @param text A message as JSON. */
  sent(text: string, http?: string): void {
    this.emit({ type: 'message', direction: 'sent', message: JSON.parse(text), ...(http !== undefined && { http }) })
  }

  received(message: unknown): void {
    this.emit({ type: 'message', direction: 'received', message, ...this.#carrier })
  }

  fault(problem: string): void {
    this.emit({ type: 'fault', problem, ...this.#carrier })
  }

  get #carrier(): { http?: string } {
    return this.#http === undefined ? {} : { http: this.#http }
  }
}

function warnAbout(error: unknown): void {
  warnOnce('trace', `The trace function failed: ${error instanceof Error ? error.message : String(error)}`)
}
