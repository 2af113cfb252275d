import { clock } from '../../../../util/clock.ts'
import { isObject } from '../../../../util/objects.ts'
import { type HeaderFields, type HttpCall, Refusal, refusedCode } from '../call.ts'
import type { AuthInfo, AuthOptions, TokenRequest } from '../options.ts'
import { issuerOf, principalFor, subjectOf } from '../principal.ts'
import {
  type ChallengeParameters,
  type Credentials,
  checkScopeNames,
  parseCredentials,
  toChallenge,
  withoutOffline,
} from './challenge.ts'

export type TokenCheckOptions = Pick<AuthOptions, 'verify' | 'requiredScopes' | 'impliedScopes' | 'dpop'>

/** Whom a request comes from. */
export interface Verified {
  readonly auth: AuthInfo
  readonly scheme: Credentials['scheme']
  /** Sessions, streams and limits belong to it. */
  readonly principal: string
  /** What every answer has besides its own headers. */
  readonly headers: HeaderFields | undefined
}

/** What is wrong with a token, by the numbers and names of RFC 6750. */
interface Problem {
  readonly status: 400 | 401 | 403
  /** Undefined: nothing was presented, so nothing is wrong with it. */
  readonly error?: string | undefined
  readonly description: string
  readonly scheme?: Credentials['scheme'] | undefined
  readonly nonce?: string | undefined
}

/** Checks the token of a request: whether it is one, is for us, is bound to the caller, still valid, and enough. */
export class TokenCheck {
  readonly #options: TokenCheckOptions
  readonly #required: readonly string[]

  constructor(options: TokenCheckOptions) {
    if (typeof options.verify !== 'function') throw new TypeError('auth.verify must be a function')
    this.#options = options
    this.#required = checkScopeNames('requiredScopes', options.requiredScopes ?? [])
    for (const implied of Object.values(options.impliedScopes ?? {})) checkScopeNames('impliedScopes', implied)
  }

  /**
   * Throws a `Refusal` with the challenge.
   * @param metadata Where clients learn how to get a token.
   */
  async check(
    call: HttpCall,
    request: TokenRequest,
    metadata: string | undefined,
    reportError: (error: unknown) => void,
  ): Promise<Verified> {
    const outcome = await this.#examine(call, request, reportError)
    if ('auth' in outcome) return outcome
    throw this.#refuse(outcome, metadata)
  }

  /** The header of a 403 for an operation that needs more than every request does: all of it, at once. */
  insufficient(scheme: Credentials['scheme'], needed: readonly string[], metadata: string | undefined): string {
    return this.#challenge(scheme, 'insufficient_scope', tooLittle, needed, metadata)
  }

  async #examine(
    call: HttpCall,
    request: TokenRequest,
    reportError: (error: unknown) => void,
  ): Promise<Verified | Problem> {
    if (/[?&]access_token=/i.test(call.request.url)) {
      return malformed('A token in the URL is not accepted: send it in the Authorization header')
    }
    const credentials = parseCredentials(request.header('authorization'))
    if (credentials === null) return malformed('The Authorization header must hold one token')
    if (credentials === undefined) return { status: 401, description: 'A token is needed' }
    const found = await this.#verify(credentials.token, request, reportError)
    if (!found) return invalid('The token is not valid', credentials)
    const proof = await this.#prove(found, credentials, request, reportError)
    if ('status' in proof) return proof
    return this.#judge(found, credentials, request, proof)
  }

  async #verify(
    token: string,
    request: TokenRequest,
    reportError: (error: unknown) => void,
  ): Promise<AuthInfo | undefined> {
    try {
      return await this.#options.verify(token, request)
    } catch (error) {
      if (saysInvalid(error)) return undefined
      reportError(error)
      throw notChecked()
    }
  }

  async #prove(
    found: AuthInfo,
    credentials: Credentials,
    request: TokenRequest,
    reportError: (error: unknown) => void,
  ): Promise<Problem | { headers?: HeaderFields | undefined }> {
    const { dpop } = this.#options
    const { scheme, token } = credentials
    const thumbprint = thumbprintOf(found)
    // RFC 9449 7.2: a token that is bound to a key is no bearer token, and the other way round.
    if (scheme === 'Bearer' && thumbprint === undefined && !dpop?.required) return {}
    if (scheme === 'Bearer') return invalid('The token needs the scheme DPoP, with a proof', { scheme: 'DPoP' })
    if (!dpop) return invalid('The scheme DPoP is not supported', { scheme: 'Bearer' })
    if (thumbprint === undefined) return invalid('The token is bound to no key', credentials)
    try {
      const { problem, nonce } = await dpop.check(request, token, thumbprint)
      if (problem) return { status: 401, scheme, nonce, ...problem }
      return nonce === undefined ? {} : { headers: { 'dpop-nonce': nonce } }
    } catch (error) {
      reportError(error)
      throw notChecked()
    }
  }

  async #judge(
    found: AuthInfo,
    credentials: Credentials,
    request: TokenRequest,
    { headers }: { headers?: HeaderFields | undefined },
  ): Promise<Verified | Problem> {
    const { expiresAt, resource } = found
    if (resource !== undefined && !request.isFor(resource)) {
      return invalid('The token was issued for another server', credentials)
    }
    if (expiresAt !== undefined && !(expiresAt > clock.now() / 1000))
      return invalid('The token has expired', credentials)
    const auth = toAuthInfo(found, this.#options.impliedScopes ?? {})
    const isEnough = this.#required.every((scope) => auth.scopes.includes(scope))
    const { scheme, token } = credentials
    if (isEnough) return { auth, scheme, principal: await principalFor(found, token), headers }
    return { status: 403, error: 'insufficient_scope', description: tooLittle, scheme }
  }

  #refuse(problem: Problem, metadata: string | undefined): Refusal {
    const { status, error, description, nonce } = problem
    const headers = {
      'www-authenticate': this.#schemesFor(problem)
        .map((scheme) => this.#challenge(scheme, error, error && description, [], metadata))
        .join(', '),
      ...(nonce !== undefined && { 'dpop-nonce': nonce }),
    }
    const refusal = new Refusal(status, refusedCode, description, undefined, headers)
    if (error) refusal.data = { error, ...(status === 403 && { scopes: this.#required }) }
    return refusal
  }

  /** The one that was used; to somebody who has no token yet, every one that would do. */
  #schemesFor({ scheme }: Problem): Credentials['scheme'][] {
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
    metadata: string | undefined,
  ): string {
    const parameters: ChallengeParameters = {
      error,
      error_description: description,
      // A client that asks for nothing but what it is told must not lose what every request needs.
      scope: withoutOffline([...this.#required, ...needed]).join(' '),
      resource_metadata: metadata,
      algs: scheme === 'DPoP' ? this.#options.dpop?.algorithms.join(' ') : undefined,
    }
    return toChallenge(scheme, parameters)
  }
}

const tooLittle = 'The token does not allow this'

function malformed(description: string): Problem {
  return { status: 400, error: 'invalid_request', description }
}

function invalid(description: string, { scheme }: Pick<Credentials, 'scheme'>): Problem {
  return { status: 401, error: 'invalid_token', description, scheme }
}

/** Not a 401: the token may be good, and a client that is told otherwise throws it away. */
function notChecked(): Refusal {
  return new Refusal(503, refusedCode, 'The token could not be checked: try again later', undefined, {
    'retry-after': '1',
  })
}

/** The errors that say it in libraries people verify tokens with: OAuth's own name, and the codes of `jose`. */
function saysInvalid(error: unknown): boolean {
  if (!isObject(error)) return false
  const { code, errorCode } = error
  if (errorCode === 'invalid_token' || code === 'invalid_token') return true
  return typeof code === 'string' && /^ERR_(?:JWT_|JWS_|JWKS_NO_MATCHING_KEY|JOSE_ALG_NOT_ALLOWED)/.test(code)
}

/** Only what is known of it: whatever else a verifier leaves there, such as the token, stays behind. */
function toAuthInfo(found: AuthInfo, implied: Readonly<Record<string, readonly string[]>>): AuthInfo {
  const { clientId, expiresAt, resource, claims, scopes = [] } = found
  const issuer = issuerOf(found)
  const subject = found.subject ?? subjectOf(found)
  if (!Array.isArray(scopes)) throw new TypeError('auth.verify must give scopes as an array of strings')
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

/** 2026-07-28 authorization, scope hierarchies: a token with the larger scope has the smaller ones. */
function withImplied(scopes: readonly string[], implied: Readonly<Record<string, readonly string[]>>): string[] {
  const all = new Set(scopes)
  // A set also goes over what is added on the way, so that implications of implications are found, and circles end.
  for (const scope of all) {
    if (Object.hasOwn(implied, scope)) for (const further of implied[scope]!) all.add(further)
  }
  return [...all]
}

function thumbprintOf({ claims }: AuthInfo): string | undefined {
  const cnf = claims?.cnf
  return isObject(cnf) && cnf.jkt !== undefined ? String(cnf.jkt) : undefined
}
