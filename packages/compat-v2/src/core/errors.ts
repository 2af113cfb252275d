import type {
  ClientCapabilities,
  ElicitRequestURLParams,
  MissingRequiredClientCapabilityErrorData,
  UnsupportedProtocolVersionErrorData,
} from './types.ts'

/** Codes of errors that never leave this process. */
export const SdkErrorCode = {
  NotConnected: 'NOT_CONNECTED',
  AlreadyConnected: 'ALREADY_CONNECTED',
  NotInitialized: 'NOT_INITIALIZED',
  CapabilityNotSupported: 'CAPABILITY_NOT_SUPPORTED',
  RequestTimeout: 'REQUEST_TIMEOUT',
  ConnectionClosed: 'CONNECTION_CLOSED',
  SendFailed: 'SEND_FAILED',
  InvalidResult: 'INVALID_RESULT',
  UnsupportedResultType: 'UNSUPPORTED_RESULT_TYPE',
  InputRequiredRoundsExceeded: 'INPUT_REQUIRED_ROUNDS_EXCEEDED',
  ListPaginationExceeded: 'LIST_PAGINATION_EXCEEDED',
  MethodNotSupportedByProtocolVersion: 'METHOD_NOT_SUPPORTED_BY_PROTOCOL_VERSION',
  EraNegotiationFailed: 'ERA_NEGOTIATION_FAILED',
  ClientHttpNotImplemented: 'CLIENT_HTTP_NOT_IMPLEMENTED',
  ClientHttpAuthentication: 'CLIENT_HTTP_AUTHENTICATION',
  ClientHttpForbidden: 'CLIENT_HTTP_FORBIDDEN',
  ClientHttpUnexpectedContent: 'CLIENT_HTTP_UNEXPECTED_CONTENT',
  ClientHttpFailedToOpenStream: 'CLIENT_HTTP_FAILED_TO_OPEN_STREAM',
  ClientHttpFailedToTerminateSession: 'CLIENT_HTTP_FAILED_TO_TERMINATE_SESSION',
} as const
export type SdkErrorCode = (typeof SdkErrorCode)[keyof typeof SdkErrorCode]

type AnyClass = abstract new (...args: never[]) => unknown

/** An error with a static `isInstance`, which narrows like `instanceof`. */
class RecognizableError extends Error {
  /** Whether a value is an instance of this class. */
  static isInstance<T extends AnyClass>(this: T, value: unknown): value is InstanceType<T> {
    // biome-ignore lint/complexity/noThisInStatic: the subclass that it is called on
    if (typeof this !== 'function') {
      throw new TypeError('isInstance must be called on the class: (value) => SdkError.isInstance(value)')
    }
    // biome-ignore lint/complexity/noThisInStatic: the subclass that it is called on
    return value instanceof this
  }
}

/** An error of this process: not connected, timed out, a capability that the other side lacks. */
export class SdkError extends RecognizableError {
  readonly code: SdkErrorCode
  readonly data?: unknown

  constructor(code: SdkErrorCode, message: string, data?: unknown) {
    super(message)
    this.name = 'SdkError'
    this.code = code
    this.data = data
  }
}

/** What is known about the HTTP response behind an `SdkHttpError`. */
export interface SdkHttpErrorData {
  status: number
  statusText?: string
  [key: string]: unknown
}

/** An HTTP response that a client transport cannot use. */
export class SdkHttpError extends SdkError {
  declare readonly data: SdkHttpErrorData

  constructor(code: SdkErrorCode, message: string, data: SdkHttpErrorData) {
    super(code, message, data)
    this.name = 'SdkHttpError'
  }

  get status(): number {
    return this.data.status
  }

  get statusText(): string | undefined {
    return this.data.statusText
  }
}

/** Codes of JSON-RPC error responses. */
export const ProtocolErrorCode = {
  ParseError: -32700,
  InvalidRequest: -32600,
  MethodNotFound: -32601,
  InvalidParams: -32602,
  InternalError: -32603,
  ResourceNotFound: -32002,
  MissingRequiredClientCapability: -32021,
  UnsupportedProtocolVersion: -32022,
  UrlElicitationRequired: -32042,
} as const
export type ProtocolErrorCode = (typeof ProtocolErrorCode)[keyof typeof ProtocolErrorCode]

/** A JSON-RPC error response: throw it in a handler to send it; requests reject with the one that was received. */
export class ProtocolError extends RecognizableError {
  readonly code: number
  readonly data?: unknown

  constructor(code: number, message: string, data?: unknown) {
    super(message)
    this.name = 'ProtocolError'
    this.code = code
    this.data = data
  }

  /** Returns the class that fits a received error. */
  static fromError(code: number, message: string, data?: unknown): ProtocolError {
    return specialError(code, message, data) ?? new ProtocolError(code, message, data)
  }
}

/** The resource does not exist. */
export class ResourceNotFoundError extends ProtocolError {
  constructor(uri: string, message: string = `Resource not found: ${uri}`) {
    super(ProtocolErrorCode.InvalidParams, message, { uri })
  }

  get uri(): string {
    return (this.data as { uri: string }).uri
  }
}

/** The user has to open URLs before the request can succeed. */
export class UrlElicitationRequiredError extends ProtocolError {
  constructor(
    elicitations: ElicitRequestURLParams[],
    message: string = `URL elicitation${elicitations.length > 1 ? 's' : ''} required`,
  ) {
    super(ProtocolErrorCode.UrlElicitationRequired, message, { elicitations })
  }

  get elicitations(): ElicitRequestURLParams[] {
    return (this.data as { elicitations?: ElicitRequestURLParams[] } | undefined)?.elicitations ?? []
  }
}

/** The other side does not serve the requested revision. */
export class UnsupportedProtocolVersionError extends ProtocolError {
  constructor(
    data: UnsupportedProtocolVersionErrorData,
    message: string = `Unsupported protocol version: ${data.requested}`,
  ) {
    super(ProtocolErrorCode.UnsupportedProtocolVersion, message, data)
  }

  get supported(): string[] {
    return (this.data as UnsupportedProtocolVersionErrorData).supported
  }

  get requested(): string {
    return (this.data as UnsupportedProtocolVersionErrorData).requested
  }
}

/** The request needs a capability that the client did not declare. */
export class MissingRequiredClientCapabilityError extends ProtocolError {
  constructor(
    data: MissingRequiredClientCapabilityErrorData,
    message: string = `Missing required client capabilities: ${Object.keys(data.requiredCapabilities).join(', ')}`,
  ) {
    super(ProtocolErrorCode.MissingRequiredClientCapability, message, data)
  }

  get requiredCapabilities(): ClientCapabilities {
    return (this.data as MissingRequiredClientCapabilityErrorData).requiredCapabilities
  }
}

function specialError(code: number, message: string, data: unknown): ProtocolError | undefined {
  if (typeof data !== 'object' || data === null) return undefined
  const detail = data as Record<string, unknown>
  switch (code) {
    case ProtocolErrorCode.UrlElicitationRequired: {
      const { elicitations } = detail
      return elicitations
        ? new UrlElicitationRequiredError(elicitations as ElicitRequestURLParams[], message)
        : undefined
    }
    case ProtocolErrorCode.UnsupportedProtocolVersion: {
      const { supported, requested } = detail
      if (!Array.isArray(supported) || typeof requested !== 'string') return undefined
      return new UnsupportedProtocolVersionError({ supported, requested }, message)
    }
    case ProtocolErrorCode.MissingRequiredClientCapability: {
      const { requiredCapabilities: required } = detail
      if (typeof required !== 'object' || required === null || Array.isArray(required)) return undefined
      return new MissingRequiredClientCapabilityError({ requiredCapabilities: required as ClientCapabilities }, message)
    }
    // Other errors about params may mention a URI too, so that only `{ uri }` alone means a missing resource.
    case ProtocolErrorCode.InvalidParams:
      return typeof detail.uri === 'string' && Object.keys(detail).length === 1
        ? new ResourceNotFoundError(detail.uri, message)
        : undefined
    case ProtocolErrorCode.ResourceNotFound:
      return typeof detail.uri === 'string' ? new ResourceNotFoundError(detail.uri, message) : undefined
    default:
      return undefined
  }
}

/** Codes of OAuth error responses. */
export const OAuthErrorCode = {
  InvalidRequest: 'invalid_request',
  InvalidClient: 'invalid_client',
  InvalidGrant: 'invalid_grant',
  UnauthorizedClient: 'unauthorized_client',
  UnsupportedGrantType: 'unsupported_grant_type',
  InvalidScope: 'invalid_scope',
  AccessDenied: 'access_denied',
  ServerError: 'server_error',
  TemporarilyUnavailable: 'temporarily_unavailable',
  UnsupportedResponseType: 'unsupported_response_type',
  UnsupportedTokenType: 'unsupported_token_type',
  InvalidToken: 'invalid_token',
  MethodNotAllowed: 'method_not_allowed',
  TooManyRequests: 'too_many_requests',
  InvalidClientMetadata: 'invalid_client_metadata',
  InvalidRedirectUri: 'invalid_redirect_uri',
  InsufficientScope: 'insufficient_scope',
  InvalidTarget: 'invalid_target',
  InvalidDpopProof: 'invalid_dpop_proof',
  UseDpopNonce: 'use_dpop_nonce',
} as const
export type OAuthErrorCode = (typeof OAuthErrorCode)[keyof typeof OAuthErrorCode]

/** The body of an OAuth error response. */
export interface OAuthErrorBody {
  error: string
  error_description?: string | undefined
  error_uri?: string | undefined
}

/** An OAuth error response. */
export class OAuthError extends RecognizableError {
  readonly code: OAuthErrorCode | string
  readonly errorUri?: string | undefined

  constructor(code: OAuthErrorCode | string, message: string, errorUri?: string) {
    super(message)
    this.name = 'OAuthError'
    this.code = code
    this.errorUri = errorUri
  }

  /** The body of the response. */
  toResponseObject(): OAuthErrorBody {
    return {
      error: this.code,
      error_description: this.message,
      ...(this.errorUri && { error_uri: this.errorUri }),
    }
  }

  /** Reads the body of a response. */
  static fromResponse({ error, error_description, error_uri }: OAuthErrorBody): OAuthError {
    return new OAuthError(error, error_description ?? error, error_uri)
  }
}
