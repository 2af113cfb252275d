import { checkSafeUrl } from './util/safe-url.ts'

/** Everything Tenon itself can find wrong, plus `'peer'` for what the other side sent. A closed list: switch on it. */
export type McpErrorCode =
  | 'timeout'
  | 'cancelled'
  | 'closed'
  | 'not-connected'
  | 'overloaded'
  | 'spawn-failed'
  | 'listen-failed'
  | 'no-common-revision'
  | 'capability-missing'
  | 'invalid-response'
  | 'invalid-output'
  | 'invalid-argument'
  | 'http'
  | 'session-renewed'
  | 'auth'
  | 'protocol'
  | 'suspended'
  | 'peer'

/** The base of every error that Tenon throws. `code` says what happened; subclasses carry the details. */
export class McpError extends Error {
  override name = 'McpError'
  readonly code: McpErrorCode

  constructor(code: McpErrorCode, message: string, options?: ErrorOptions) {
    super(message, options)
    this.code = code
  }
}

/** No answer came in time. Found by us, so it never wears a JSON-RPC number. */
export class TimeoutError extends McpError {
  override name = 'TimeoutError'
  declare readonly code: 'timeout'
  readonly timeoutMs: number

  constructor(message: string, timeoutMs: number, options?: ErrorOptions) {
    super('timeout', message, options)
    this.timeoutMs = timeoutMs
  }
}

/** The connection ended while, or before, something was under way. `detail` holds what the transport knows. */
export class ClosedError extends McpError {
  override name = 'ClosedError'
  declare readonly code: 'closed'
  readonly detail: CloseDetail | undefined

  constructor(message: string, detail?: CloseDetail, options?: ErrorOptions) {
    super('closed', message, options)
    this.detail = detail
  }
}

/** How a child process ended, with the last of what it wrote to stderr; or that a session was lost. */
export interface CloseDetail {
  /** The server forgot the session, or the stream that carried it broke: a new one can take its place. */
  sessionLost?: boolean | undefined
  /** What happened, where it was no process that ended. */
  reason?: string | undefined
  exitCode?: number | null | undefined
  signal?: string | null | undefined
  stderr?: string | undefined
  /** Text that the process printed to stdout in place of messages. */
  stdout?: string | undefined
}

/** What an HTTP request that failed means for what it asked for. */
export type HttpOutcome =
  /** The server was not reached, so nothing happened. */
  | 'not-sent'
  /** The server answered with a refusal, or with something that is no answer. */
  | 'refused'
  /** The connection broke after the request was sent; the server may have acted on it. */
  | 'unknown'

/** An HTTP request did not bring the answer that it should. */
export class HttpError extends McpError {
  override name = 'HttpError'
  declare readonly code: 'http'
  /** Undefined when there was no answer. */
  readonly status: number | undefined
  readonly outcome: HttpOutcome
  /** The beginning of what the server answered with. */
  readonly body: string | undefined

  constructor(message: string, detail: HttpErrorDetail) {
    super('http', message, 'cause' in detail ? { cause: detail.cause } : undefined)
    this.status = detail.status
    this.outcome = detail.outcome
    this.body = detail.body
  }
}

export interface HttpErrorDetail {
  outcome: HttpOutcome
  status?: number | undefined
  body?: string | undefined
  cause?: unknown
}

/** An error answer from the other side, as it came. */
export class PeerError extends McpError {
  override name = 'PeerError'
  declare readonly code: 'peer'
  readonly rpcCode: number
  readonly data: unknown

  constructor(rpcCode: number, message: string, data: unknown) {
    super('peer', message)
    this.rpcCode = rpcCode
    this.data = data
  }
}

/** The peer did not declare what this call needs. */
export class CapabilityError extends McpError {
  override name = 'CapabilityError'
  declare readonly code: 'capability-missing'
  readonly capability: string
  /** What a client would have to declare, in the form of its capabilities; undefined when it is the server's. */
  readonly required: Readonly<Record<string, object>> | undefined

  constructor(capability: string, message: string, required?: Readonly<Record<string, object>>) {
    super('capability-missing', message)
    this.capability = capability
    this.required = required
  }
}

/**
 * Goes through a handler whose question has no answer yet, on revisions where the client answers by calling again; the
 * handler then runs anew and gets past the question. Let it pass: catching it changes nothing.
 */
export class Suspended extends McpError {
  override name = 'Suspended'
  declare readonly code: 'suspended'

  constructor(key: string) {
    super('suspended', `Waits for the client to answer ${JSON.stringify(key)}; let this pass`)
  }
}

/** No permission was had, or none that the server takes. `trace` tells what was tried, without secrets: print it. */
export class AuthError extends McpError {
  override name = 'AuthError'
  declare readonly code: 'auth'
  readonly trace: { toString(): string }

  constructor(message: string, trace: { toString(): string }, options?: ErrorOptions) {
    super('auth', message, options)
    this.trace = trace
  }
}

/** Throw it in a handler to answer with a JSON-RPC error of your choosing. */
export class ProtocolError extends McpError {
  override name = 'ProtocolError'
  declare readonly code: 'protocol'
  readonly rpcCode: number
  readonly data: unknown

  constructor(rpcCode: number, message: string, data?: unknown) {
    super('protocol', message)
    this.rpcCode = rpcCode
    this.data = data
  }

  /** As it goes out. */
  toBody(code = this.rpcCode): { code: number; message: string; data?: unknown } {
    return { code, message: this.message, ...(this.data !== undefined && { data: this.data }) }
  }
}

/** A page that a user must visit before a request can be served. */
export interface RequiredUrl {
  message: string
  url: string
  /** 2025-11-25: what a later completion names. Made up when absent. */
  elicitationId?: string | undefined
}

/**
 * Throw it in a handler that cannot go on before the user has visited a page; the client may show the page and call again
 * (2025-11-25 elicitation, -32042). On 2026-07-28 it becomes a question, after which the client does call again.
 */
export class UrlElicitationRequiredError extends ProtocolError {
  override name = 'UrlElicitationRequiredError'
  readonly elicitations: readonly RequiredUrl[]

  constructor(elicitations: readonly RequiredUrl[], message = 'Visit the page first, then call again') {
    if (elicitations.length === 0) throw new TypeError('UrlElicitationRequiredError names at least one page')
    const pages = elicitations.map(({ message, url, elicitationId }) => ({
      mode: 'url',
      message,
      url: checkSafeUrl(url),
      elicitationId: elicitationId ?? crypto.randomUUID(),
    }))
    super(RpcCode.UrlElicitationRequired, message, { elicitations: pages })
    this.elicitations = pages
  }
}

/** JSON-RPC and MCP error numbers by name. */
export const RpcCode = {
  ParseError: -32700,
  InvalidRequest: -32600,
  MethodNotFound: -32601,
  InvalidParams: -32602,
  InternalError: -32603,
  ResourceNotFound: -32002,
  UrlElicitationRequired: -32042,
  HeaderMismatch: -32020,
  MissingClientCapability: -32021,
  UnsupportedProtocolVersion: -32022,
} as const

/**
 * Whether a server reported that a resource does not exist. Revisions before 2026-07-28 use the code -32002, which later servers
 * may still send; 2026-07-28 uses -32602 with the URI in `data`.
 *
 * @example
 * const found = await client.readResource(uri).catch((error) => {
 *   if (isResourceNotFound(error)) return undefined
 *   throw error
 * })
 */
export function isResourceNotFound(error: unknown): boolean {
  if (!(error instanceof PeerError)) return false
  const { rpcCode, data } = error
  if (rpcCode === RpcCode.ResourceNotFound) return true
  const hasUri = typeof data === 'object' && data !== null && typeof (data as { uri?: unknown }).uri === 'string'
  return rpcCode === RpcCode.InvalidParams && hasUri
}
