import type { AuthorizationServer, ClientAuth, TokenEndpointResponse } from 'oauth4webapi'
import { AuthError } from '../../errors.ts'
import type { TokenStore } from '../token-store.ts'
import { type Challenge, scopesIn } from './challenge.ts'
import { signatureOf } from './client-authentication.ts'
import { type AuthContext, messageOf, redacted, type Trace } from './context.ts'
import {
  checkIssuer,
  clientFor,
  clientKey,
  loadClient,
  loadDpopKey,
  readJson,
  serverKey,
  withoutQuery,
} from './credential-storage.ts'
import { type Credentials, type IssuedGrant, type ObtainRequest, type Tokens, toTokens } from './credentials.ts'
import type { DpopKey } from './dpop.ts'
import { beginFlow, completeFlow } from './flow.ts'
import type { Grant } from './grants.ts'
import { chooseScopes, type Discovery } from './metadata.ts'
import type { UserAgent } from './redirect-flow.ts'
import type { ClientIdentity } from './registration.ts'

export interface StoredCredentialsOptions {
  readonly identity: ClientIdentity
  /** Undefined if there is no user to ask. */
  readonly userAgent: UserAgent | undefined
  /** Obtains tokens without a user. */
  readonly grant: Grant | undefined
  /** Scopes to request in addition to those that the server requires. */
  readonly scopes: readonly string[]
  readonly store: TokenStore
  readonly dpop: boolean
}

/** Credentials in a `TokenStore`, obtained from a user in a browser or with a grant. */
export class StoredCredentials implements Credentials {
  readonly failureMessage = 'The login failed'
  readonly isPending = false
  readonly signature: ClientAuth | undefined
  readonly #serverUrl: URL
  readonly #options: StoredCredentialsOptions
  #tokens: Tokens | undefined
  #isLoaded = false
  #loading: Promise<Tokens | undefined> | undefined
  #dpop: Promise<DpopKey> | undefined

  constructor(serverUrl: URL, options: StoredCredentialsOptions) {
    this.#serverUrl = withoutQuery(serverUrl)
    this.#options = options
    this.signature = signatureOf(options.identity)
  }

  get isUnattended(): boolean {
    return this.#options.grant !== undefined
  }

  get issuer(): string | undefined {
    return this.#options.grant?.issuer ?? this.#options.identity.issuer
  }

  tokens(): Tokens | undefined | Promise<Tokens | undefined> {
    if (this.#isLoaded) return this.#tokens
    this.#loading ??= this.#load().catch((error) => {
      this.#loading = undefined
      throw error
    })
    return this.#loading
  }

  async reload({ server }: Discovery): Promise<Tokens | undefined> {
    const stored = await this.#read()
    if (stored?.issuer !== server.issuer) return undefined
    this.#use(stored)
    return stored
  }

  lock<T>(work: () => Promise<T>): Promise<T> {
    return this.#options.store.lock(serverKey('renew', this.#serverUrl), work)
  }

  client(_context: AuthContext, server: AuthorizationServer) {
    return loadClient(this.#options.store, server, this.#options.identity.clientId)
  }

  async save(response: TokenEndpointResponse, grant: IssuedGrant): Promise<Tokens> {
    const tokens = toTokens(response, grant)
    await this.#options.store.set(serverKey('tokens', this.#serverUrl), JSON.stringify(tokens))
    this.#use(tokens)
    return tokens
  }

  async forget(what: 'tokens' | 'client', server: AuthorizationServer): Promise<void> {
    const { store } = this.#options
    if (what === 'client') await store.delete(clientKey(server))
    await store.delete(serverKey('tokens', this.#serverUrl))
  }

  async obtain({ context, discovery, challenge, held, isStepUp }: ObtainRequest): Promise<Tokens> {
    const { grant, dpop: wantsDpop } = this.#options
    const isBound = wantsDpop || challenge?.scheme === 'dpop' || held?.tokenType === 'dpop'
    const dpop = isBound ? await this.dpopKey() : undefined
    const scopes = isStepUp
      ? joined(held?.scopes, scopesIn(challenge?.params.scope))
      : this.#scopes(discovery, challenge, held)
    const issued = grant
      ? await this.#obtainWithGrant(context, discovery, grant, scopes, dpop)
      : await this.#obtainFromUser(context, discovery, scopes, dpop)
    return this.lock(() => this.save(issued.response, issued.grant))
  }

  dpopKey(): Promise<DpopKey> {
    this.#dpop ??= loadDpopKey(this.#options.store, this.#serverUrl).catch((error) => {
      this.#dpop = undefined
      throw error
    })
    return this.#dpop
  }

  async #load(): Promise<Tokens | undefined> {
    const tokens = await this.#read()
    // Tokens that were obtained in the meantime are newer.
    if (!this.#isLoaded) this.#use(tokens)
    return this.#tokens
  }

  async #read(): Promise<Tokens | undefined> {
    return readJson<Tokens>(await this.#options.store.get(serverKey('tokens', this.#serverUrl)))
  }

  #use(tokens: Tokens | undefined): void {
    this.#tokens = tokens
    this.#isLoaded = true
  }

  #scopes(discovery: Discovery, challenge: Challenge | undefined, held: Tokens | undefined): string[] {
    const before = held?.issuer === discovery.server.issuer ? held.scopes : []
    return joined(chooseScopes(discovery, challenge, this.#options.scopes, this.isUnattended), before)
  }

  async #obtainWithGrant(
    context: AuthContext,
    { server, resource }: Discovery,
    grant: Grant,
    scopes: readonly string[],
    dpop: DpopKey | undefined,
  ): Promise<Issued> {
    await checkIssuer(context, this.#options.store, server, grant)
    try {
      const response = await grant.obtain({ context, server, resource, scopes, dpop })
      context.trace.done('token', `from ${server.token_endpoint}`)
      // A grant can be repeated at any time, so its refresh token is not needed.
      const { refresh_token: _, ...rest } = response
      return { response: rest, grant: { server, clientId: grant.clientId, resource, scopes } }
    } catch (cause) {
      context.trace.failed('token', messageOf(cause))
      const message = `${server.issuer} did not issue a token: ${messageOf(cause)}`
      throw new AuthError(message, context.trace, { cause: redacted(cause) })
    }
  }

  async #obtainFromUser(
    context: AuthContext,
    { server, resource }: Discovery,
    scopes: readonly string[],
    dpop: DpopKey | undefined,
  ): Promise<Issued> {
    const { userAgent, store, identity } = this.#options
    if (!userAgent) throw loginRequired(context.trace)
    const known = await this.client(context, server)
    const redirect = await attemptLogin(userAgent.prepare(known?.redirectUrl), context.trace)
    try {
      const client = await clientFor(context, store, server, identity, redirect.url, scopes)
      const { url, flow } = await beginFlow({ context, server, client, redirectUrl: redirect.url, resource, scopes })
      const params = await attemptLogin(redirect.visit(url, flow.state), context.trace)
      const response = await completeFlow(context, flow, params, dpop)
      return { response, grant: { server, clientId: client.client_id, resource, scopes } }
    } catch (error) {
      const said = ((error as Error).cause as { error?: unknown } | undefined)?.error
      // The authorization server does not know the client any more. It is registered again next time.
      if (said === 'invalid_client') await store.delete(clientKey(server))
      throw error
    } finally {
      await redirect.close()
    }
  }
}

interface Issued {
  readonly response: TokenEndpointResponse
  readonly grant: IssuedGrant
}

function joined(some: readonly string[] = [], others: readonly string[] = []): string[] {
  return [...new Set([...some, ...others])]
}

function loginRequired(trace: Trace): AuthError {
  trace.failed('authorization', 'no user can be asked')
  return new AuthError(
    'Login required, but this client cannot ask a user. Send the user to beginAuthorization, or pass `authorize` to oauth()',
    trace,
  )
}

/** If the user could not be asked, or did not come back, the login has failed. */
async function attemptLogin<T>(work: Promise<T>, trace: Trace): Promise<T> {
  try {
    return await work
  } catch (cause) {
    if (cause instanceof AuthError) throw cause
    trace.failed('authorization', messageOf(cause))
    const cannotListen = (cause as { code?: unknown } | undefined)?.code === 'listen-failed'
    const hint = cannotListen ? '. Pass `authorize` to oauth(), or send the user to beginAuthorization' : ''
    throw new AuthError(`The user did not log in: ${messageOf(cause)}${hint}`, trace, { cause: redacted(cause) })
  }
}
