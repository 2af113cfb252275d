import { createHash } from 'node:crypto'
import { invalidGrant } from '../../auth/server/oauth-error.ts'
import { random } from '../../util/random.ts'
import type { RegisteredClient } from './clients.ts'
import type { Settings } from './options.ts'
import type { Family, Grant } from './tokens.ts'

/** A valid authorization request. */
export interface AuthorizationRequest {
  readonly client: RegisteredClient
  readonly redirectUri: string
  readonly state: string | undefined
  readonly scope: readonly string[]
  readonly resource: readonly string[]
  readonly codeChallenge: string
  /** RFC 9449 section 10: the code can be redeemed only with this key. */
  readonly jkt: string | undefined
  /** Returned in the ID token. */
  readonly nonce: string | undefined
}

/** An authorization code and the grant that it stands for. */
export interface Code {
  readonly request: AuthorizationRequest
  readonly grant: Grant
  readonly expiresAt: number
  /** The tokens that were issued for the code. */
  family: Family | undefined
}

const codeSeconds = 60
const ticketSeconds = 600

/** Authorization requests that wait for the user, and the codes of those that were granted. */
export class AuthorizationRequests {
  readonly #settings: Settings
  readonly #waiting = new Map<string, { request: AuthorizationRequest; expiresAt: number }>()
  readonly #codes = new Map<string, Code>()

  constructor(settings: Settings) {
    this.#settings = settings
  }

  /** Stores a request until the user decides. Returns the ticket that the form submits. */
  wait(request: AuthorizationRequest): string {
    const ticket = random.uuid()
    this.#waiting.set(ticket, { request, expiresAt: this.#settings.now() + ticketSeconds * 1_000 })
    return ticket
  }

  /** Returns the request of a ticket. A ticket can be used once. */
  resume(ticket: string): AuthorizationRequest | undefined {
    const found = this.#waiting.get(ticket)
    this.#waiting.delete(ticket)
    return found && found.expiresAt > this.#settings.now() ? found.request : undefined
  }

  issueCode(request: AuthorizationRequest, grant: Grant): string {
    const code = random.uuid()
    const expiresAt = this.#settings.now() + codeSeconds * 1_000
    this.#codes.set(code, { request, grant, expiresAt, family: undefined })
    return code
  }

  /** Redeems a code. It can be used once; if it is used again, its tokens are revoked too (OAuth 2.1 section 4.1.3). */
  useCode(code: string, proof: CodeProof): { family: Family; request: AuthorizationRequest } {
    const held = this.#codes.get(code)
    if (!held || held.request.client.client_id !== proof.clientId) throw invalidGrant('Unknown code')
    if (held.family) held.family.isRevoked = true
    if (held.family) throw invalidGrant('The code was already used. Its tokens were revoked.')
    // A code that fails these checks cannot be used again either.
    held.family = { grant: held.grant, isRevoked: false }
    const { request } = held
    if (held.expiresAt <= this.#settings.now()) throw invalidGrant('The code has expired')
    // OAuth 2.1 has no redirect_uri here. If a client sends one, as in OAuth 2.0, it must match.
    const isOtherUri = proof.redirectUri !== undefined && proof.redirectUri !== request.redirectUri
    if (isOtherUri) throw invalidGrant('redirect_uri does not match the authorization request')
    if (s256(proof.codeVerifier) !== request.codeChallenge) throw invalidGrant('code_verifier does not match')
    if (request.jkt !== undefined && request.jkt !== proof.jkt) throw invalidGrant('The code is bound to another key')
    return { family: held.family, request }
  }
}

interface CodeProof {
  readonly clientId: string
  readonly redirectUri: string | undefined
  readonly codeVerifier: string
  readonly jkt: string | undefined
}

function s256(verifier: string): string {
  return createHash('sha256').update(verifier).digest('base64url')
}
