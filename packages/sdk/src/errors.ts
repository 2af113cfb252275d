import { random } from './util/random.ts'
import { checkSafeUrl } from './util/safe-url.ts'

/** What went wrong. A closed list, so that you can switch on it: `'peer'` is an error that the other side sent, all others are found locally. */
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
  | 'denied'
  | 'protocol'
  | 'suspended'
  | 'peer'

/** The base class of all errors that Tenon throws. `code` says what happened; subclasses add details. */
export class McpError extends Error {
  override name = 'McpError'
  readonly code: McpErrorCode

  constructor(code: McpErrorCode, message: string, options?: ErrorOptions) {
    super(message, options)
    this.code = code
  }
}

/** A request timed out. This is a local error, so it has no JSON-RPC error code. */
export class TimeoutError extends McpError {
  override name = 'TimeoutError'
  declare readonly code: 'timeout'
  readonly timeoutMs: number

  constructor(message: string, timeoutMs: number, options?: ErrorOptions) {
    super('timeout', message, options)
    this.timeoutMs = timeoutMs
  }
}

/** The connection was closed before or during a request. `detail` holds what the transport knows. */
export class ClosedError extends McpError {
  override name = 'ClosedError'
  declare readonly code: 'closed'
  readonly detail: CloseDetail | undefined

  constructor(message: string, detail?: CloseDetail, options?: ErrorOptions) {
    super('closed', message, options)
    this.detail = detail
  }
}

/** How a connection ended: the exit of a child process with the end of its stderr, or a lost session. */
export interface CloseDetail {
  /** The session expired on the server, or its stream broke. A new session can replace it. */
  sessionLost?: boolean | undefined
  /** Why the connection ended, if the exit of a process does not say it. */
  reason?: string | undefined
  exitCode?: number | null | undefined
  signal?: string | null | undefined
  stderr?: string | undefined
  /** Text that the process wrote to stdout instead of messages. */
  stdout?: string | undefined
}

/** Says how a connection ended, to be appended to an error message. */
export function describeClose(detail: CloseDetail): string {
  const how = detail.reason ?? (detail.signal ? `signal ${detail.signal}` : `exit code ${detail.exitCode}`)
  return ` (${how})${describeOutput(detail.stderr, detail.stdout)}`
}

/** The output of a server process, for error messages. */
export function describeOutput(stderr: string | undefined, stdout: string | undefined): string {
  const errors = stderr?.trim()
  const printed = stdout?.trim()
  const stray = printed
    ? `. It printed text to stdout, which must carry MCP messages only. Is it an MCP server?\n${printed}`
    : ''
  return `${stray}${errors ? `${stray ? '\n' : '. '}The end of its stderr:\n${errors}` : ''}`
}

/** An error message without the output of a server process, which may contain secrets, or orders to a model. */
export function withoutOutput(message: string): string {
  const start = message.search(/\.? ?(?:It printed text to stdout|The end of its stderr)/)
  return start < 0 ? message : `${message.slice(0, start).trimEnd()}.`
}

/** The client and the server have no protocol revision in common. */
export class RevisionError extends McpError {
  override name = 'RevisionError'
  declare readonly code: 'no-common-revision'
  /** The revision that the server chose, or the revisions that it listed. */
  readonly offered: string

  constructor(message: string, offered: string, options?: ErrorOptions) {
    super('no-common-revision', message, options)
    this.offered = offered
  }
}

/** Whether a failed HTTP request may have had an effect on the server. */
export type HttpOutcome =
  /** The request did not reach the server. */
  | 'not-sent'
  /** The server rejected the request, or its response was invalid. */
  | 'refused'
  /** The connection broke after the request was sent; the server may have acted on it. */
  | 'unknown'

/** An HTTP request failed. */
export class HttpError extends McpError {
  override name = 'HttpError'
  declare readonly code: 'http'
  /** Undefined if there was no response. */
  readonly status: number | undefined
  readonly outcome: HttpOutcome
  /** The start of the response body. */
  readonly body: string | undefined
  /** The method of the HTTP request: `POST` for messages, `GET` for streams, `DELETE` for the end of a session. */
  readonly method: string | undefined
  /** The reason phrase of the response, if there was one. */
  readonly statusText: string | undefined
  /** The content type of a successful response that is not a message. */
  readonly contentType: string | undefined

  constructor(message: string, detail: HttpErrorDetail) {
    super('http', message, 'cause' in detail ? { cause: detail.cause } : undefined)
    this.status = detail.status
    this.method = detail.method
    this.statusText = detail.statusText
    this.contentType = detail.contentType
    this.outcome = detail.outcome
    this.body = detail.body
  }
}

/** The details of an `HttpError`. */
export interface HttpErrorDetail {
  outcome: HttpOutcome
  status?: number | undefined
  body?: string | undefined
  method?: string | undefined
  statusText?: string | undefined
  contentType?: string | undefined
  cause?: unknown
}

/** An error response from the other side, unchanged. */
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

/** The other side did not declare a capability that this call needs. */
export class CapabilityError extends McpError {
  override name = 'CapabilityError'
  declare readonly code: 'capability-missing'
  readonly capability: string
  /** The capabilities that the client would have to declare. Undefined if the server lacks the capability. */
  readonly required: Readonly<Record<string, object>> | undefined

  constructor(capability: string, message: string, required?: Readonly<Record<string, object>>) {
    super('capability-missing', message)
    this.capability = capability
    this.required = required
  }
}

/**
 * Ends the current run of a handler whose question has no answer yet, on revisions where the client answers by repeating the
 * request. The handler then runs again, and the question returns its answer. If you catch it, rethrow it.
 */
export class Suspended extends McpError {
  override name = 'Suspended'
  declare readonly code: 'suspended'

  constructor(key: string) {
    super('suspended', `Waiting for the client to answer ${JSON.stringify(key)}. If you caught this error, rethrow it.`)
  }
}

/** Authorization failed, or the server rejected the token. Print `trace` to see each step; it contains no secrets. */
export class AuthError extends McpError {
  override name = 'AuthError'
  declare readonly code: 'auth'
  readonly trace: { toString(): string }

  constructor(message: string, trace: { toString(): string }, options?: ErrorOptions) {
    super('auth', message, options)
    this.trace = trace
  }
}

/** A policy or the user denied an action of a host. */
export class DeniedError extends McpError {
  override name = 'DeniedError'
  declare readonly code: 'denied'

  constructor(message: string, options?: ErrorOptions) {
    super('denied', message, options)
  }
}

/** Throw it in a handler to respond with a specific JSON-RPC error. */
export class ProtocolError extends McpError {
  override name = 'ProtocolError'
  declare readonly code: 'protocol'
  readonly rpcCode: number
  readonly data: unknown

  constructor(rpcCode: number, message: string, data?: unknown) {
    super('protocol', message)
    // JSON-RPC: a code is an integer.
    this.rpcCode = Number.isInteger(rpcCode) ? rpcCode : ErrorCode.InternalError
    this.data = data
  }

  /** Returns the JSON-RPC error object. */
  toBody(code = this.rpcCode): { code: number; message: string; data?: unknown } {
    return { code, message: this.message, ...(this.data !== undefined && { data: this.data }) }
  }
}

/** Creates the error for params that are not valid, which says in `data.details` what is wrong with them. */
export function invalidParams(details: string): ProtocolError {
  return new ProtocolError(ErrorCode.InvalidParams, details, { details })
}

/** A URL that the user must open before a request can be served. */
export interface RequiredUrl {
  message: string
  url: string
  /** Identifies the elicitation in the completion notification of 2025-11-25. Default: a random id. */
  elicitationId?: string | undefined
}

/**
 * Throw it in a handler that cannot continue until the user has opened a URL. The client may open the URL and repeat the request
 * (2025-11-25 elicitation, -32042). On 2026-07-28 it becomes a URL elicitation, after which the client repeats the request.
 */
export class UrlElicitationRequiredError extends ProtocolError {
  override name = 'UrlElicitationRequiredError'
  readonly elicitations: readonly RequiredUrl[]

  constructor(elicitations: readonly RequiredUrl[], message = 'Open the URL first, then repeat the request') {
    if (elicitations.length === 0) throw new TypeError('UrlElicitationRequiredError requires at least one URL')
    const required = elicitations.map(({ message, url, elicitationId }) => ({
      mode: 'url',
      message,
      url: checkSafeUrl(url),
      elicitationId: elicitationId ?? random.uuid(),
    }))
    super(ErrorCode.UrlElicitationRequired, message, { elicitations: required })
    this.elicitations = required
  }
}

/** JSON-RPC and MCP error codes by name. */
export const ErrorCode = {
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
 * Returns whether a server reported that a resource does not exist. Revisions before 2026-07-28 use the code -32002, which later servers
 * may still send; 2026-07-28 uses -32602 with the URI in `data`.
 *
 * @example
 * ```ts
 * const found = await client.readResource(uri).catch((error) => {
 *   if (isResourceNotFound(error)) return undefined
 *   throw error
 * })
 * ```
 */
export function isResourceNotFound(error: unknown): boolean {
  if (!(error instanceof PeerError)) return false
  const { rpcCode, data } = error
  if (rpcCode === ErrorCode.ResourceNotFound) return true
  const hasUri = typeof data === 'object' && data !== null && typeof (data as { uri?: unknown }).uri === 'string'
  return rpcCode === ErrorCode.InvalidParams && hasUri
}
