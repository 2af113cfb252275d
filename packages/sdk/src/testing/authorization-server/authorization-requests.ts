import { createHash } from 'node:crypto'
import { invalidGrant } from '../../auth/server/oauth-error.ts'
import { random } from '../../util/random.ts'
import type { RegisteredClient } from './clients.ts'
import type { Settings } from './options.ts'
import type { Family, Grant } from './tokens.ts'

/** A request for authorization that is in order. */
export interface AuthorizationRequest {
  readonly client: RegisteredClient
  readonly redirectUri: string
  readonly state: string | undefined
  readonly scope: readonly string[]
  readonly resource: readonly string[]
  readonly codeChallenge: string
  /** RFC 9449 section 10: the code works with this key only. */
  readonly jkt: string | undefined
  /** Comes back in the ID token. */
  readonly nonce: string | undefined
}

/** What a code was given for. */
export interface Code {
  readonly request: AuthorizationRequest
  readonly grant: Grant
  readonly expiresAt: number
  /** What came of it. */
  family: Family | undefined
}

const codeSeconds = 60
const ticketSeconds = 600

/** Requests between their beginning and the code: those that wait for a person, and those that were granted. */
export class AuthorizationRequests {
  readonly #settings: Settings
  readonly #waiting = new Map<string, { request: AuthorizationRequest; expiresAt: number }>()
  readonly #codes = new Map<string, Code>()

  constructor(settings: Settings) {
    this.#settings = settings
  }

  /** The ticket by which the page's answer finds its request. */
  wait(request: AuthorizationRequest): string {
    const ticket = random.uuid()
    this.#waiting.set(ticket, { request, expiresAt: this.#settings.now() + ticketSeconds * 1_000 })
    return ticket
  }

  /** Works once. */
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

  /** Takes a code in. It works once; when it comes again, what came of it ends too (OAuth 2.1 section 4.1.3). */
  useCode(code: string, proof: CodeProof): { family: Family; request: AuthorizationRequest } {
    const held = this.#codes.get(code)
    if (!held || held.request.client.client_id !== proof.clientId) throw invalidGrant('There is no such code')
    if (held.family) held.family.isRevoked = true
    if (held.family) throw invalidGrant('The code was used before; its tokens have ended')
    // A code that failed its checks is used up as well.
    held.family = { grant: held.grant, isRevoked: false }
    const { request } = held
    if (held.expiresAt <= this.#settings.now()) throw invalidGrant('The code has expired')
    // OAuth 2.1 has no redirect_uri here; who sends it as OAuth 2.0 did is held to it.
    const isOtherUri = proof.redirectUri !== undefined && proof.redirectUri !== request.redirectUri
    if (isOtherUri) throw invalidGrant('redirect_uri is not the one of the request')
    if (s256(proof.codeVerifier) !== request.codeChallenge) throw invalidGrant('code_verifier is not the right one')
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
