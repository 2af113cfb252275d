import { type ClientAuth, processRefreshTokenResponse, refreshTokenGrantRequest } from 'oauth4webapi'
import { AuthError } from '../../errors.ts'
import { clock } from '../../util/clock.ts'
import type { TokenStore } from '../token-store.ts'
import { bearerChallenge, type Challenge, scopesIn } from './challenge.ts'
import { AuthContext, type AuthFetch, inPlainWords, messageOf, plain } from './context.ts'
import {
  checkIssuer,
  clientFor,
  clientKey,
  keepTokens,
  keptClient,
  keptDpopKey,
  readJson,
  serverKey,
  withoutQuery,
} from './credential-storage.ts'
import { chooseScopes, discover, type Found } from './discovery.ts'
import type { DpopKey } from './dpop.ts'
import { beginFlow, completeFlow } from './flow.ts'
import type { Grant } from './grants.ts'
import { requestOptions } from './http-options.ts'
import { signatureOf } from './private-key.ts'
import type { ClientIdentity } from './registration.ts'
import { authenticationOf, isStale, type Tokens, toTokens, withNonce } from './tokens.ts'
import { Trace } from './trace.ts'

/** Takes the user to the page, and gives what they came back with. */
export interface UserAgent {
  /** Where the user comes back to; settled before the client is registered. */
  prepare(registered: string | undefined): Promise<Redirect>
}

export interface Redirect {
  readonly url: string
  visit(page: URL, state: string): Promise<URLSearchParams>
  close(): Promise<void> | void
}

export interface SessionOptions {
  readonly identity: ClientIdentity
  readonly userAgent: UserAgent | undefined
  readonly grant: Grant | undefined
  /** Asked for besides what the server asks for. */
  readonly scopes: readonly string[]
  readonly store: TokenStore
  readonly fetch: AuthFetch
  readonly dpop: boolean
}

type Header = (name: string) => string | undefined

/** A token that was refused this soon after it was given is not replaced by another. */
const freshMs = 5_000

/** Permission to use one server: found out, asked for, kept, renewed. */
export class OAuthSession {
  readonly #serverUrl: URL
  readonly #options: SessionOptions
  #tokens: Tokens | undefined
  #loading: Promise<void> | undefined
  readonly #signature: ClientAuth | undefined
  #isLoaded = false
  #renewing: Promise<void> | undefined
  #found: Found | undefined
  #dpop: DpopKey | undefined
  #givenAt = 0
  /** The token that refreshing gave last. */
  #refreshed: string | undefined
  readonly #steppedUp = new Set<string>()
  /** Where the server last said that its metadata is. */
  #metadataUrl: string | undefined
  #revision: string | undefined

  constructor(serverUrl: URL, options: SessionOptions) {
    this.#serverUrl = withoutQuery(serverUrl)
    this.#options = options
    this.#signature = signatureOf(options.identity)
  }

  headers(request: Asked): Record<string, string> | Promise<Record<string, string>> {
    const tokens = this.#tokens
    const isPlain = this.#isLoaded && tokens?.tokenType !== 'dpop' && !(tokens && isStale(tokens, clock.now()))
    return isPlain ? bearerHeaders(tokens) : this.#prepareHeaders(request)
  }

  async refused({ status, header, sent, count, revision }: Refusal): Promise<boolean> {
    this.#revision = revision
    const challenge = bearerChallenge(header('www-authenticate'))
    if (this.#takesNonce(challenge, header)) return count < 3
    if (status === 403) {
      return challenge?.params.error === 'insufficient_scope' ? this.#stepUp(challenge, sent, count) : false
    }
    if (this.#tokens && !isSameToken(this.#tokens, sent.authorization)) return count < 3
    if (count > 2) return false
    await this.#renew({ challenge, isRefused: true }, this.#tokens)
    return true
  }

  taken(header: Header): void {
    const nonce = this.#dpop && header('dpop-nonce')
    if (nonce) this.#dpop!.nonce = nonce
  }

  async #prepareHeaders({ method, url, revision }: Asked): Promise<Record<string, string>> {
    this.#revision = revision
    await this.#load()
    const tokens = this.#tokens
    if (tokens && isStale(tokens, clock.now()) && (tokens.refreshToken || this.#options.grant)) {
      // One that is still good for a moment is used when it cannot be replaced now.
      await this.#renew({ isRefused: false }, tokens).catch((error) => {
        if (tokens.expiresAt! <= clock.now()) throw error
      })
    }
    const current = this.#tokens
    if (current?.tokenType !== 'dpop') return bearerHeaders(current)
    const proof = await this.#dpop!.proof(method, url, current.accessToken)
    return { authorization: `DPoP ${current.accessToken}`, dpop: proof }
  }

  #load(): Promise<void> {
    this.#loading ??= this.#read().then(
      () => {
        this.#isLoaded = true
      },
      (error) => {
        this.#loading = undefined
        throw error
      },
    )
    return this.#loading
  }

  async #read(): Promise<void> {
    const { store } = this.#options
    const text = await store.get(this.#key('tokens'))
    this.#tokens = readJson<Tokens>(text)
    if (this.#tokens?.tokenType === 'dpop') await this.#loadDpop()
  }

  async #loadDpop(): Promise<DpopKey> {
    this.#dpop ??= await keptDpopKey(this.#options.store, this.#serverUrl)
    return this.#dpop
  }

  /** RFC 9449, 9: the server wants its nonce in the next proof. */
  #takesNonce(challenge: Challenge | undefined, header: Header): boolean {
    const nonce = header('dpop-nonce')
    if (!this.#dpop || nonce === undefined || challenge?.params.error !== 'use_dpop_nonce') return false
    this.#dpop.nonce = nonce
    return true
  }

  /** 2026-07-28 authorization, step-up: what was asked for before and what is missing, once for each missing set. */
  async #stepUp(challenge: Challenge, sent: Readonly<Record<string, string>>, count: number): Promise<boolean> {
    if (count > 2) return false
    // Others may be getting it, or have got it.
    if (this.#renewing) await this.#renewing
    if (this.#tokens && !isSameToken(this.#tokens, sent.authorization)) return true
    const missing = scopesIn(challenge.params.scope)
    const wanted = missing.join(' ')
    if (this.#steppedUp.has(wanted)) return false
    this.#steppedUp.add(wanted)
    const scopes = [...new Set([...(this.#tokens?.scopes ?? []), ...missing])]
    await this.#renew({ challenge, isRefused: true, scopes }, this.#tokens)
    return true
  }

  /** However many requests are refused at once, permission is asked for once. */
  #renew(reason: Reason, old: Tokens | undefined): Promise<void> {
    const trace = new Trace()
    const renew = () => this.#renewNow(trace, reason, old)
    this.#renewing ??= inPlainWords(trace, 'The login failed', renew).finally(() => {
      this.#renewing = undefined
    })
    return this.#renewing
  }

  async #renewNow(trace: Trace, { challenge, isRefused, scopes }: Reason, old: Tokens | undefined): Promise<void> {
    const context = new AuthContext(this.#serverUrl, trace, this.#options.fetch, this.#revision, this.#signature)
    // A refusal may mean that the server has another authorization server now; a token that ends does not.
    this.#metadataUrl = challenge?.params.resource_metadata ?? this.#metadataUrl
    const { identity, grant } = this.#options
    const found =
      isRefused || !this.#found
        ? await discover(context, challenge, this.#metadataUrl, grant?.issuer ?? identity.issuer)
        : this.#found
    this.#found = found
    const isFresh = old?.issuer === found.server.issuer && clock.now() - this.#givenAt < freshMs
    if (isRefused && !scopes && isFresh) {
      throw new AuthError(
        'The server refuses (HTTP 401) a token that was given just now: it may want another issuer or audience than it names',
        trace,
      )
    }
    const { store } = this.#options
    // Nobody waits behind a user who thinks: only what goes by itself is done inside the lock.
    const renewed = await store.lock(this.#key('renew'), () =>
      this.#reuse(context, found, old, isRefused, scopes !== undefined),
    )
    const tokens = renewed ?? (await this.#obtain(context, found, old, challenge, scopes))
    if (!renewed) {
      this.#givenAt = clock.now()
      if (!scopes) this.#steppedUp.clear()
      await keepTokens(store, this.#serverUrl, tokens)
    }
    this.#tokens = tokens
    this.#isLoaded = true
  }

  /** Inside the lock: what another process has got meanwhile, or a refreshed token. Undefined: permission must be asked for. */
  async #reuse(
    context: AuthContext,
    found: Found,
    old: Tokens | undefined,
    isRefused: boolean,
    needsMore: boolean,
  ): Promise<Tokens | undefined> {
    const { store } = this.#options
    const text = await store.get(this.#key('tokens'))
    const stored = readJson<Tokens>(text)
    if (!stored || stored.issuer !== found.server.issuer) return undefined
    if (stored.accessToken !== old?.accessToken) {
      context.trace.done('token', 'another one has got it already')
      return stored
    }
    // One for something else, or one that is refused though it was refreshed a moment ago, is not made good by refreshing.
    const isLost = stored.resource !== found.resource || (isRefused && stored.accessToken === this.#refreshed)
    const refreshed = needsMore || isLost ? undefined : await this.#refresh(context, found, stored)
    if (!refreshed) return undefined
    this.#refreshed = refreshed.accessToken
    await store.set(this.#key('tokens'), JSON.stringify(refreshed))
    return refreshed
  }

  /** Undefined: the token is no good any more. A fault on the way is not taken for that, and costs nobody their token. */
  async #refresh(context: AuthContext, found: Found, tokens: Tokens): Promise<Tokens | undefined> {
    const { server } = found
    const client = await keptClient(this.#options.store, server, this.#options.identity.clientId)
    if (tokens.refreshToken === undefined || !client) return undefined
    const dpop = tokens.tokenType === 'dpop' ? await this.#loadDpop() : undefined
    try {
      const response = await withNonce(dpop?.handle, async () =>
        processRefreshTokenResponse(
          server,
          client,
          await refreshTokenGrantRequest(server, client, authenticationOf(client, context), tokens.refreshToken!, {
            ...requestOptions(context),
            ...(tokens.resource !== undefined && { additionalParameters: { resource: tokens.resource } }),
            ...(dpop && { DPoP: dpop.handle }),
          }),
        ),
      )
      context.trace.done('refresh', `at ${server.token_endpoint}`)
      return toTokens(response, server, client.client_id, tokens.resource, tokens.scopes, tokens.refreshToken)
    } catch (cause) {
      context.trace.failed('refresh', messageOf(cause))
      const error = (cause as { error?: unknown }).error
      if (error === 'invalid_client' || error === 'unauthorized_client') {
        await this.#options.store.delete(clientKey(server))
      } else if (error !== 'invalid_grant') {
        throw new AuthError(`The token could not be refreshed: ${messageOf(cause)}`, context.trace, {
          cause: plain(cause),
        })
      }
      await this.#options.store.delete(this.#key('tokens'))
      return undefined
    }
  }

  async #obtain(
    context: AuthContext,
    found: Found,
    stored: Tokens | undefined,
    challenge: Challenge | undefined,
    scopes: readonly string[] | undefined,
  ): Promise<Tokens> {
    const { grant, dpop: wantsDpop } = this.#options
    const dpop =
      wantsDpop || challenge?.scheme === 'dpop' || stored?.tokenType === 'dpop' ? await this.#loadDpop() : undefined
    const before = stored?.issuer === found.server.issuer ? stored.scopes : []
    const chosen = chooseScopes(found, challenge, this.#options.scopes, grant !== undefined)
    const wanted = scopes ?? [...new Set([...chosen, ...before])]
    if (grant) return this.#obtainByGrant(context, found, grant, wanted, dpop)
    return this.#obtainFromUser(context, found, wanted, dpop)
  }

  async #obtainByGrant(
    context: AuthContext,
    { server, resource }: Found,
    grant: Grant,
    scopes: readonly string[],
    dpop: DpopKey | undefined,
  ): Promise<Tokens> {
    await checkIssuer(context, this.#options.store, server, grant)
    try {
      const response = await grant.obtain({ context, server, resource, scopes, dpop })
      context.trace.done('token', `from ${server.token_endpoint}`)
      return { ...toTokens(response, server, grant.clientId, resource, scopes), refreshToken: undefined }
    } catch (cause) {
      context.trace.failed('token', messageOf(cause))
      throw new AuthError(`${server.issuer} gave no token: ${messageOf(cause)}`, context.trace, { cause: plain(cause) })
    }
  }

  async #obtainFromUser(
    context: AuthContext,
    { server, resource }: Found,
    scopes: readonly string[],
    dpop: DpopKey | undefined,
  ): Promise<Tokens> {
    const { userAgent, store, identity } = this.#options
    if (!userAgent) throw nobodyAsked(context.trace)
    const known = await keptClient(store, server, identity.clientId)
    const redirect = await asked(userAgent.prepare(known?.redirectUrl), context.trace)
    try {
      const client = await clientFor(context, store, server, identity, redirect.url, scopes)
      const { url, flow } = await beginFlow({ context, server, client, redirectUrl: redirect.url, resource, scopes })
      const params = await asked(redirect.visit(url, flow.state), context.trace)
      const response = await completeFlow(context, flow, params, dpop)
      return toTokens(response, server, client.client_id, resource, scopes)
    } catch (error) {
      const said = ((error as Error).cause as { error?: unknown } | undefined)?.error
      // The server has forgotten the client; next time it is registered anew.
      if (said === 'invalid_client') await store.delete(clientKey(server))
      throw error
    } finally {
      await redirect.close()
    }
  }

  #key(what: 'tokens' | 'renew'): string {
    return serverKey(what, this.#serverUrl)
  }
}

/** Why a token is replaced. */
interface Reason {
  readonly challenge?: Challenge | undefined
  /** The server refused it, rather than that it ends. */
  readonly isRefused: boolean
  /** All that is needed now, where that is more than before. */
  readonly scopes?: readonly string[] | undefined
}

interface Asked {
  readonly method: string
  readonly url: URL
  /** The newest that the connection would speak. */
  readonly revision?: string | undefined
}

interface Refusal {
  readonly revision?: string | undefined
  readonly status: number
  readonly header: Header
  readonly sent: Readonly<Record<string, string>>
  readonly count: number
}

function nobodyAsked(trace: Trace): AuthError {
  trace.failed('authorization', 'nobody is asked')
  return new AuthError(
    'A user has to log in first, and this client asks nobody by itself: send the user with beginAuthorization, or give oauth() an authorize',
    trace,
  )
}

/** Where a user could not be asked, or did not come back, the login is what failed. */
async function asked<T>(work: Promise<T>, trace: Trace): Promise<T> {
  try {
    return await work
  } catch (cause) {
    if (cause instanceof AuthError) throw cause
    trace.failed('authorization', messageOf(cause))
    const cannotWait = (cause as { code?: unknown } | undefined)?.code === 'listen-failed'
    const way = cannotWait ? '. Give oauth() an authorize, or send the user with beginAuthorization' : ''
    throw new AuthError(`The user did not log in: ${messageOf(cause)}${way}`, trace, { cause: plain(cause) })
  }
}

function bearerHeaders(tokens: Tokens | undefined): Record<string, string> {
  return tokens ? { authorization: `Bearer ${tokens.accessToken}` } : {}
}

function isSameToken({ accessToken }: Tokens, sent: string | undefined): boolean {
  return sent?.endsWith(` ${accessToken}`) === true
}
