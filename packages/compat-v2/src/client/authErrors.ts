import { type AnyClass, isInstanceOf } from './oauth/is-instance-of.ts'
import type { OAuthClientMetadata } from './oauth/schemas.ts'

/** The base class of errors that end an authorization, other than error responses of the authorization server. */
export class OAuthClientFlowError extends Error {
  /** Whether a value is an instance of this class. */
  static isInstance<T extends AnyClass>(this: T, value: unknown): value is InstanceType<T> {
    // biome-ignore lint/complexity/noThisInStatic: subclasses inherit it, and mean themselves
    return isInstanceOf(this, value)
  }

  constructor(message: string) {
    super(message)
    this.name = new.target.name
  }
}

/**
 * The issuer of the authorization server is not the expected one: another server may try to get the code or the credentials. Do
 * not show `received` to users, because an attacker may have written it.
 */
export class IssuerMismatchError extends OAuthClientFlowError {
  /** Where it was found: in metadata (RFC 8414, 3.3), or in the redirect back to the client (RFC 9207, 2.4). */
  readonly kind: 'metadata' | 'authorization_response'
  readonly expected: string | undefined
  readonly received: string | undefined

  constructor(kind: 'metadata' | 'authorization_response', expected: string | undefined, received: string | undefined) {
    const place =
      kind === 'metadata' ? 'authorization server metadata (RFC 8414 §3.3)' : 'authorization response (RFC 9207)'
    // As JSON, so that a received value cannot forge lines of a log.
    super(`Issuer mismatch in ${place}: expected ${JSON.stringify(expected)}, received ${JSON.stringify(received)}`)
    this.kind = kind
    this.expected = expected
    this.received = received
  }
}

/** The authorization server did not register the client. */
export class RegistrationRejectedError extends OAuthClientFlowError {
  readonly status: number
  /** The text of the response, usually an error of RFC 7591 as JSON. */
  readonly body: string
  /** The metadata that were sent. */
  readonly submittedMetadata: OAuthClientMetadata

  constructor(args: { status: number; body: string; submittedMetadata: OAuthClientMetadata }) {
    super(`Dynamic Client Registration rejected (HTTP ${args.status}): ${args.body}`)
    this.status = args.status
    this.body = args.body
    this.submittedMetadata = args.submittedMetadata
  }
}

/** The token endpoint is not https:, and not on this machine. Nothing was sent to it. */
export class InsecureTokenEndpointError extends OAuthClientFlowError {
  readonly tokenEndpoint: string

  constructor(tokenEndpoint: string) {
    super(
      `Refusing to send credentials to non-https token endpoint '${tokenEndpoint}'. ` +
        'OAuth token requests MUST use TLS (localhost / *.localhost / 127.0.0.1 / ::1 are exempt).',
    )
    this.tokenEndpoint = tokenEndpoint
  }
}

/** Credentials, or an authorization code, belong to another authorization server than the one of this call. */
export class AuthorizationServerMismatchError extends OAuthClientFlowError {
  readonly recordedIssuer: string
  readonly currentIssuer: string

  constructor(recordedIssuer: string, currentIssuer: string) {
    super(
      `Authorization server mismatch: credentials are bound to ${JSON.stringify(recordedIssuer)} but this call resolved ` +
        `${JSON.stringify(currentIssuer)}; refusing to present them to a different authorization server`,
    )
    this.recordedIssuer = recordedIssuer
    this.currentIssuer = currentIssuer
  }
}

/** The server requires more scopes than the token has. The values come from the server: do not trust them. */
export class InsufficientScopeError extends OAuthClientFlowError {
  /** The scopes that the server requires. */
  readonly requiredScope?: string | undefined
  readonly resourceMetadataUrl?: URL | undefined
  readonly errorDescription?: string | undefined

  constructor(init: { requiredScope?: string; resourceMetadataUrl?: URL; errorDescription?: string }) {
    super(`Insufficient scope${init.requiredScope ? `: required "${init.requiredScope}"` : ''}`)
    this.requiredScope = init.requiredScope
    this.resourceMetadataUrl = init.resourceMetadataUrl
    this.errorDescription = init.errorDescription
  }
}

/** The server requires authorization, and the client has none that it accepts. */
export class UnauthorizedError extends Error {
  /** Whether a value is an instance of this class. */
  static isInstance<T extends AnyClass>(this: T, value: unknown): value is InstanceType<T> {
    // biome-ignore lint/complexity/noThisInStatic: subclasses inherit it, and mean themselves
    return isInstanceOf(this, value)
  }

  constructor(message?: string) {
    super(message ?? 'Unauthorized')
    this.name = 'UnauthorizedError'
  }
}
