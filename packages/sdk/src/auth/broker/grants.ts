import type { AuthInfo } from '../../util/auth-info.ts'
import { sha256 } from '../../util/base64url.ts'
import type { JsonObject } from '../../util/objects.ts'
import type { AuthorizationRequest, CodeRequest, OAuthTokens, RefreshRequest } from '../server/backend.ts'
import type { OAuthClient } from '../server/client.ts'
import { invalidGrant, OAuthError } from '../server/oauth-error.ts'
import { isWithin } from '../server/params.ts'
import { randomText } from '../server/random.ts'
import type { BrokerSettings } from './options.ts'
import { type Upstream, UpstreamEnded, type UpstreamLogin, type UpstreamTokens } from './upstream.ts'
import type { Vault } from './vault.ts'

/** What a person allowed a client, with their login at the provider. All tokens that come of it end with it. */
interface Grant {
  readonly subject: string
  readonly profile: JsonObject
  readonly clientId: string
  readonly scopes: readonly string[]
  readonly resource: string
  readonly upstream: UpstreamTokens
  /** In milliseconds since 1970. */
  readonly endsAt: number
}

/** What a code has to fit to. */
interface KeptCode {
  readonly redirectUri: string
  readonly codeChallenge: string
}

interface KeptToken {
  readonly grantId: string
  readonly scopes: readonly string[]
  /** In seconds since 1970. */
  readonly expiresAt: number
}

const codeMs = 60_000
/** Longer than anything that was under way when a grant ended. */
const endedMs = 600_000
/** A token that ends so soon is not handed out any more. */
const earlyMs = 60_000

/**
 * Codes and tokens are random texts that are kept by their hashes. Codes and refresh tokens name their grant in their first
 * half, so that one which is used again ends the grant however long ago it was used first, and nothing has to be kept of it.
 * The id of a grant is the hash of that half: who sees the id learns nothing that opens anything.
 */
export class Grants {
  readonly #vault: Vault
  readonly #upstream: Upstream
  readonly #settings: BrokerSettings
  readonly #renewing = new Map<string, Promise<Grant>>()

  constructor(vault: Vault, upstream: Upstream, settings: BrokerSettings) {
    this.#vault = vault
    this.#upstream = upstream
    this.#settings = settings
  }

  /** Gives the code. Unless it is redeemed in time, nothing is left of it. */
  async open(request: Omit<AuthorizationRequest, 'client'>, clientId: string, login: UpstreamLogin): Promise<string> {
    const { subject, profile, tokens: upstream } = login
    const half = randomText(128)
    const { resource } = this.#settings
    const endsAt = Date.now() + codeMs
    await this.#save(await sha256(half), {
      subject,
      profile,
      clientId,
      scopes: request.scopes,
      resource,
      upstream,
      endsAt,
    })
    const code = `${half}.${randomText()}`
    const { redirectUri, codeChallenge } = request
    await this.#vault.set('code', await sha256(code), { redirectUri, codeChallenge } satisfies KeptCode, codeMs)
    return code
  }

  /** OAuth 2.1, 4.1.3: a code works once, also where it fails; one that comes again ends what it gave. */
  async redeem(client: OAuthClient, { code, codeVerifier, redirectUri }: CodeRequest): Promise<OAuthTokens> {
    const half = halfOf(code)
    const grantId = await sha256(half)
    const kept = await this.#vault.take<KeptCode>('code', await sha256(code))
    const grant = await this.#find(grantId)
    const isRight =
      grant?.clientId === client.client_id &&
      // OAuth 2.1 has no redirect_uri here; who sends it as OAuth 2.0 did is held to it.
      (redirectUri === undefined || redirectUri === kept?.redirectUri) &&
      kept?.codeChallenge === (await sha256(codeVerifier))
    if (!grant || !kept || !isRight) {
      if (grant) await this.#end(grantId)
      throw invalidGrant('The code is not valid, or was used before')
    }
    return this.#issue(client, half, grantId, grant, grant.scopes)
  }

  /** Each refresh token works once (2025-06-18 authorization, token theft). One that comes again ends the grant. */
  async refresh(client: OAuthClient, { refreshToken, scopes }: RefreshRequest): Promise<OAuthTokens> {
    const half = halfOf(refreshToken)
    const grantId = await sha256(half)
    const hash = await sha256(refreshToken)
    const grant = await this.#find(grantId)
    if (!grant || grant.clientId !== client.client_id) throw invalidGrant('The refresh token is not valid')
    if ((await this.#vault.get('refresh', hash)) === undefined) throw await this.#usedBefore(grantId)
    if (scopes && !isWithin(scopes, grant.scopes)) {
      throw new OAuthError('invalid_scope', 'scope goes beyond what was granted')
    }
    // Before the token is used up: when the provider does not answer, nothing is lost.
    const renewed = await this.#renew(grantId, grant)
    if ((await this.#vault.take('refresh', hash)) === undefined) throw await this.#usedBefore(grantId)
    return this.#issue(client, half, grantId, renewed, scopes ?? grant.scopes)
  }

  async verify(token: string): Promise<AuthInfo | undefined> {
    const kept = await this.#vault.get<KeptToken>('token', await sha256(token))
    if (!kept || kept.expiresAt <= Date.now() / 1000) return undefined
    const grant = await this.#find(kept.grantId)
    if (!grant) return undefined
    const { subject, clientId, profile, resource } = grant
    const { scopes, expiresAt } = kept
    const { issuer } = this.#settings
    return { issuer, subject, clientId, scopes, expiresAt, resource, claims: { ...profile, sid: kept.grantId } }
  }

  /** RFC 7009: an access token, or with a refresh token all of its grant. Tokens of other clients stay as they are. */
  async revoke({ client_id: clientId }: OAuthClient, token: string): Promise<void> {
    const hash = await sha256(token)
    const access = await this.#vault.get<KeptToken>('token', hash)
    const isRefresh = !access && (await this.#vault.get('refresh', hash)) !== undefined
    const grantId = access?.grantId ?? (isRefresh ? await sha256(halfOf(token)) : undefined)
    const grant = grantId === undefined ? undefined : await this.#find(grantId)
    if (grant?.clientId !== clientId) return
    if (access) await this.#vault.delete('token', hash)
    else await this.#end(grantId!)
  }

  /** The provider's token for the person that a call is made for; undefined when the login has ended. */
  async upstreamToken(grantId: string): Promise<string | undefined> {
    const grant = await this.#find(grantId)
    if (!grant) return undefined
    const { expiresAt } = grant.upstream
    if (expiresAt === undefined || expiresAt - earlyMs > Date.now()) return grant.upstream.accessToken
    try {
      return (await this.#renew(grantId, grant)).upstream.accessToken
    } catch (error) {
      if (error instanceof OAuthError && error.errorCode === 'invalid_grant') return undefined
      throw error
    }
  }

  async #issue(
    client: OAuthClient,
    half: string,
    grantId: string,
    grant: Grant,
    scopes: readonly string[],
  ): Promise<OAuthTokens> {
    const { accessTokenSeconds, refreshTokenSeconds } = this.#settings
    const mayRefresh = client.grant_types?.includes('refresh_token') ?? true
    const lasts = mayRefresh && this.#upstream.isLasting(grant.upstream)
    const seconds = lasts ? accessTokenSeconds : Math.min(accessTokenSeconds, secondsLeft(grant.upstream))
    if (seconds <= 0) throw invalidGrant('The login has ended')
    const ttlMs = (lasts ? refreshTokenSeconds : seconds) * 1_000
    await this.#save(grantId, { ...grant, endsAt: Date.now() + ttlMs })
    const token = randomText()
    const kept: KeptToken = { grantId, scopes, expiresAt: Math.floor(Date.now() / 1000) + seconds }
    await this.#vault.set('token', await sha256(token), kept, seconds * 1_000)
    return {
      access_token: token,
      token_type: 'Bearer',
      expires_in: seconds,
      scope: scopes.join(' '),
      ...(lasts && { refresh_token: await this.#issueRefreshToken(half, ttlMs) }),
    }
  }

  async #issueRefreshToken(half: string, ttlMs: number): Promise<string> {
    const token = `${half}.${randomText()}`
    await this.#vault.set('refresh', await sha256(token), true, ttlMs)
    return token
  }

  /** However many ask at once, the provider is asked once. */
  #renew(grantId: string, grant: Grant): Promise<Grant> {
    const renewing = this.#renewing.get(grantId) ?? this.#renewNow(grantId, grant)
    this.#renewing.set(grantId, renewing)
    const forget = () => this.#renewing.delete(grantId)
    renewing.then(forget, forget)
    return renewing
  }

  async #renewNow(grantId: string, grant: Grant): Promise<Grant> {
    try {
      const upstream = await this.#upstream.renew(grant.subject, grant.upstream)
      const renewed = { ...grant, upstream }
      if (upstream !== grant.upstream) await this.#save(grantId, renewed)
      return renewed
    } catch (error) {
      if (error instanceof OAuthError) throw error
      if (!(error instanceof UpstreamEnded)) throw this.#unavailable(error)
      // Another process may have renewed it just now, so that ours was the old one.
      const current = await this.#find(grantId)
      if (current && current.upstream.refreshToken !== grant.upstream.refreshToken) return current
      await this.#end(grantId)
      throw invalidGrant(`The login at ${this.#upstream.provider.name} has ended`)
    }
  }

  #unavailable(error: unknown): OAuthError {
    this.#settings.reportError(error)
    const { name } = this.#upstream.provider
    return new OAuthError('temporarily_unavailable', `${name} cannot be asked just now: try again later`, 503, {
      'retry-after': '5',
    })
  }

  async #usedBefore(grantId: string): Promise<OAuthError> {
    await this.#end(grantId)
    return invalidGrant('The refresh token was used before; all tokens of this login have ended')
  }

  /** Stores may be shared: what was granted for another server is nothing here. */
  async #find(grantId: string): Promise<Grant | undefined> {
    const grant = await this.#vault.get<Grant>('grant', grantId)
    return grant?.resource === this.#settings.resource ? grant : undefined
  }

  /** What ends while it is being written must stay ended: whoever writes last looks whether it has. */
  async #save(grantId: string, grant: Grant): Promise<void> {
    await this.#vault.set('grant', grantId, grant, Math.max(1, grant.endsAt - Date.now()))
    if ((await this.#vault.get('ended', grantId)) === undefined) return
    await this.#vault.delete('grant', grantId)
    throw invalidGrant('The login has ended')
  }

  async #end(grantId: string): Promise<void> {
    await this.#vault.set('ended', grantId, true, endedMs)
    await this.#vault.delete('grant', grantId)
  }
}

/** What comes before the dot. */
function halfOf(token: string): string {
  return token.split('.', 1)[0]!
}

function secondsLeft({ expiresAt }: UpstreamTokens): number {
  return expiresAt === undefined ? Number.POSITIVE_INFINITY : Math.floor((expiresAt - Date.now()) / 1_000)
}
