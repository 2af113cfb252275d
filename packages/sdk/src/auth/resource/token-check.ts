import { clock } from '../../util/clock.ts'
import { isObject } from '../../util/objects.ts'
import { warnOnce } from '../../util/warn.ts'
import type { EndpointError, RequestHead } from '../http.ts'
import {
  type ChallengeParameters,
  type Credentials,
  checkScopeNames,
  parseCredentials,
  toChallenge,
  withoutOffline,
} from './challenge.ts'
import type { AuthInfo, AuthOptions, TokenRequest } from './options.ts'
import { issuerOf, principalFor, subjectOf } from './principal.ts'

export type TokenCheckOptions = Pick<AuthOptions, 'verify' | 'requiredScopes' | 'impliedScopes' | 'dpop'>

/** The identity behind a request whose token is valid. */
export interface VerifiedToken {
  readonly auth: AuthInfo
  readonly scheme: Credentials['scheme']
  /** The owner of sessions, streams and limits. */
  readonly principal: string
  /** Headers to add to every response. */
  readonly headers: Readonly<Record<string, string>> | undefined
}

/** The request to check, and where to report problems. */
export interface TokenCheckContext {
  readonly request: TokenRequest
  /** The URL of the resource metadata, for challenges. */
  readonly metadataUrl: string | undefined
  readonly reportError: (error: unknown) => void
}

/** A problem with a token, with the status codes and error names of RFC 6750. */
interface TokenProblem {
  readonly status: 400 | 401 | 403
  /** Undefined if the request has no token. */
  readonly error?: string | undefined
  readonly description: string
  readonly scheme?: Credentials['scheme'] | undefined
  readonly nonce?: string | undefined
}

/** Checks the access token of a request: syntax, signature or status, audience, key binding, expiry and scopes. */
export class TokenCheck {
  readonly #options: TokenCheckOptions
  readonly #required: readonly string[]

  constructor(options: TokenCheckOptions) {
    if (typeof options.verify !== 'function')
      throw new TypeError(
        'auth.verify must be a function: auth: { verify: (token) => ..., resource, authorizationServers }. jwtVerifier() returns one.',
      )
    this.#options = options
    this.#required = checkScopeNames('requiredScopes', options.requiredScopes ?? [])
    for (const implied of Object.values(options.impliedScopes ?? {})) checkScopeNames('impliedScopes', implied)
  }

  /** Returns the verified identity, or a refusal with the challenge. */
  async check({ url }: Pick<RequestHead, 'url'>, context: TokenCheckContext): Promise<VerifiedToken | EndpointError> {
    const outcome = await this.#examine(url, context)
    return 'description' in outcome ? this.#refuse(outcome, context.metadataUrl) : outcome
  }

  /** Returns the challenge of a 403 for an operation that needs more scopes than every request does. It names all of them. */
  insufficient(scheme: Credentials['scheme'], needed: readonly string[], metadataUrl: string | undefined): string {
    return this.#challenge(scheme, 'insufficient_scope', insufficientScope, needed, metadataUrl)
  }

  async #examine(url: string, context: TokenCheckContext): Promise<VerifiedToken | TokenProblem | EndpointError> {
    const { request } = context
    if (/[?&]access_token=/i.test(url)) {
      return malformed('Access tokens in the URL are not accepted. Send the token in the Authorization header.')
    }
    const credentials = parseCredentials(request.header('authorization'))
    if (credentials === null) return malformed('Malformed Authorization header: it must contain exactly one token.')
    if (credentials === undefined) {
      return { status: 401, description: 'Authentication required: send an access token in the Authorization header.' }
    }
    const found = await this.#verify(credentials.token, context)
    if (found === 'unavailable') return notVerified
    if (!found) return invalid('The access token is not valid.', credentials)
    const proof = await this.#checkProof(found, credentials, context)
    return 'status' in proof ? proof : this.#authorize(found, credentials, request, proof)
  }

  async #verify(token: string, context: TokenCheckContext): Promise<AuthInfo | 'unavailable' | undefined> {
    try {
      const found: unknown = await this.#options.verify(token, context.request)
      if (!found || isObject(found)) return (found || undefined) as AuthInfo | undefined
      throw new TypeError(
        `auth.verify returned ${String(found)}. Return the identity, such as { subject, scopes }, or undefined for an invalid token.`,
      )
    } catch (error) {
      if (saysInvalid(error)) return undefined
      if (!(error instanceof TypeError)) warnAboutVerify()
      context.reportError(error)
      return 'unavailable'
    }
  }

  async #checkProof(
    found: AuthInfo,
    { scheme, token }: Credentials,
    { request, reportError }: TokenCheckContext,
  ): Promise<TokenProblem | EndpointError | ExtraHeaders> {
    const { dpop } = this.#options
    const thumbprint = thumbprintOf(found)
    // RFC 9449 7.2: a token that is bound to a key is not a bearer token, and the other way round.
    if (scheme === 'Bearer' && thumbprint === undefined && !dpop?.required) return {}
    if (scheme === 'Bearer')
      return invalid('Send this access token with the DPoP scheme and a proof.', { scheme: 'DPoP' })
    if (!dpop) return invalid('The DPoP scheme is not supported. Use Bearer.', { scheme: 'Bearer' })
    if (thumbprint === undefined) return invalid('The access token is not bound to a key.', { scheme })
    try {
      const { problem, nonce } = await dpop.check(request, token, thumbprint)
      if (problem) return { status: 401, scheme, nonce, ...problem }
      return nonce === undefined ? {} : { headers: { 'dpop-nonce': nonce } }
    } catch (error) {
      reportError(error)
      return notVerified
    }
  }

  async #authorize(
    found: AuthInfo,
    { scheme, token }: Credentials,
    request: TokenRequest,
    { headers }: ExtraHeaders,
  ): Promise<VerifiedToken | TokenProblem> {
    const { expiresAt, resource } = found
    if (resource !== undefined && !request.isFor(resource)) {
      return invalid('The access token was issued for another server.', { scheme })
    }
    if (expiresAt !== undefined && !(expiresAt > clock.now() / 1000)) {
      return invalid('The access token has expired.', { scheme })
    }
    const auth = toAuthInfo(found, this.#options.impliedScopes ?? {})
    const isSufficient = this.#required.every((scope) => auth.scopes.includes(scope))
    if (isSufficient) return { auth, scheme, principal: await principalFor(found, token), headers }
    return { status: 403, error: 'insufficient_scope', description: insufficientScope, scheme }
  }

  #refuse(problem: TokenProblem, metadataUrl: string | undefined): EndpointError {
    const { status, error, description, nonce } = problem
    const challenges = this.#schemesFor(problem).map((scheme) =>
      this.#challenge(scheme, error, error && description, [], metadataUrl),
    )
    return {
      status,
      message: description,
      headers: { 'www-authenticate': challenges.join(', '), ...(nonce !== undefined && { 'dpop-nonce': nonce }) },
      ...(error && { data: { error, ...(status === 403 && { scopes: this.#required }) } }),
    }
  }

  /** Returns the scheme that was used, or every accepted scheme if the request has no token. */
  #schemesFor({ scheme }: TokenProblem): Credentials['scheme'][] {
    const { dpop } = this.#options
    if (!dpop) return ['Bearer']
    if (scheme) return [scheme]
    return dpop.required ? ['DPoP'] : ['Bearer', 'DPoP']
  }

  #challenge(
    scheme: Credentials['scheme'],
    error: string | undefined,
    description: string | undefined,
    needed: readonly string[],
    metadataUrl: string | undefined,
  ): string {
    const parameters: ChallengeParameters = {
      error,
      error_description: description,
      // A client may request exactly the scopes that it is told, so the ones that every request needs are always named.
      scope: withoutOffline([...this.#required, ...needed]).join(' '),
      resource_metadata: metadataUrl,
      algs: scheme === 'DPoP' ? this.#options.dpop?.algorithms.join(' ') : undefined,
    }
    return toChallenge(scheme, parameters)
  }
}

interface ExtraHeaders {
  readonly headers?: Readonly<Record<string, string>> | undefined
}

const insufficientScope = 'Insufficient scope: the access token does not allow this request.'

function malformed(description: string): TokenProblem {
  return { status: 400, error: 'invalid_request', description }
}

function invalid(description: string, { scheme }: Pick<Credentials, 'scheme'>): TokenProblem {
  return { status: 401, error: 'invalid_token', description, scheme }
}

/** A verifier that throws for every invalid token makes clients repeat the request instead of logging in. */
function warnAboutVerify(): void {
  warnOnce(
    'auth.verify threw',
    'auth.verify threw an error, which was answered with 503: the token could not be verified. To refuse a token with 401, return undefined or throw InvalidTokenError of tenon/auth/server.',
  )
}

/** Not a 401: the token may be valid, and a client that is told otherwise discards it. */
const notVerified: EndpointError = {
  status: 503,
  message: 'The access token could not be verified. Try again later.',
  headers: { 'retry-after': '1' },
}

/** Recognizes the errors of common verification libraries: OAuth's own error name, and the codes of `jose`. */
function saysInvalid(error: unknown): boolean {
  if (!isObject(error)) return false
  const { code, errorCode } = error
  if (errorCode === 'invalid_token' || code === 'invalid_token') return true
  return typeof code === 'string' && /^ERR_(?:JWT_|JWS_|JWKS_NO_MATCHING_KEY|JOSE_ALG_NOT_ALLOWED)/.test(code)
}

/** Copies only known members, so that others that a verifier may return, such as the token, do not reach handlers. */
function toAuthInfo(found: AuthInfo, implied: Readonly<Record<string, readonly string[]>>): AuthInfo {
  const { clientId, expiresAt, resource, claims, scopes = [] } = found
  const issuer = issuerOf(found)
  const subject = found.subject ?? subjectOf(found)
  if (!Array.isArray(scopes)) throw new TypeError('auth.verify must return `scopes` as an array of strings.')
  return Object.freeze({
    ...(issuer !== undefined && { issuer }),
    ...(subject !== undefined && { subject }),
    ...(clientId !== undefined && { clientId }),
    scopes: Object.freeze(withImplied(scopes, implied)),
    ...(expiresAt !== undefined && { expiresAt }),
    ...(resource !== undefined && { resource }),
    ...(claims !== undefined && { claims }),
  })
}

/** 2026-07-28 authorization, scope hierarchies: a token with a larger scope has the smaller ones that it includes. */
function withImplied(scopes: readonly string[], implied: Readonly<Record<string, readonly string[]>>): string[] {
  const all = new Set(scopes)
  // Iterating a set also visits values that are added on the way, so chains are followed and cycles end.
  for (const scope of all) {
    const included = Object.hasOwn(implied, scope) ? implied[scope] : undefined
    for (const further of included ?? []) all.add(further)
  }
  return [...all]
}

function thumbprintOf({ claims }: AuthInfo): string | undefined {
  const cnf = claims?.cnf
  return isObject(cnf) && cnf.jkt !== undefined ? String(cnf.jkt) : undefined
}
