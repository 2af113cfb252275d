import type { AuthInfo } from '../../protocol/auth-info.ts'
import { sha256 } from '../../util/base64url.ts'
import { clock } from '../../util/clock.ts'
import type { AuthorizationRequest, CodeRequest, OAuthTokens, RefreshRequest } from '../server/backend.ts'
import type { OAuthClient } from '../server/client.ts'
import { invalidGrant, OAuthError } from '../server/oauth-error.ts'
import { isSubset } from '../server/params.ts'
import { randomToken } from '../server/random.ts'
import type { EncryptedStore } from './encrypted-store.ts'
import { type Grant, GrantRecords } from './grant-records.ts'
import type { BrokerSettings } from './options.ts'
import { RefreshTokenRotation } from './rotation.ts'
import type { Upstream, UpstreamLogin, UpstreamTokens } from './upstream.ts'
import { UpstreamRefresh } from './upstream-refresh.ts'

/** The values that a code exchange is checked against. */
interface StoredCode {
  readonly redirectUri: string
  readonly codeChallenge: string
}

interface Lifetime {
  /** Whether the client gets a refresh token. */
  readonly renewable: boolean
  /** The lifetime of the access token. */
  readonly seconds: number
  /** The lifetime of the grant. */
  readonly ttlMs: number
}

interface StoredToken {
  readonly grantId: string
  readonly scopes: readonly string[]
  /** In seconds since 1970. */
  readonly expiresAt: number
}

const codeTtlMs = 60_000
/** A token that expires sooner is refreshed before it is returned. */
const refreshBeforeMs = 60_000

/**
 * Issues codes and tokens. They are random and stored as hashes. Codes and refresh tokens start with the key of their grant,
 * so that using one twice ends the grant, however long ago it was used first, without storing used ones. The id of a grant is
 * the hash of its key, so the id gives no access.
 */
export class Grants {
  readonly #store: EncryptedStore
  readonly #upstream: Upstream
  readonly #settings: BrokerSettings
  readonly #records: GrantRecords
  readonly #upstreamRefresh: UpstreamRefresh
  readonly #rotation: RefreshTokenRotation

  constructor(store: EncryptedStore, upstream: Upstream, settings: BrokerSettings) {
    this.#store = store
    this.#upstream = upstream
    this.#settings = settings
    this.#records = new GrantRecords(store, settings.resource, upstream.provider.issuer)
    this.#upstreamRefresh = new UpstreamRefresh(store, this.#records, upstream, settings)
    this.#rotation = new RefreshTokenRotation(store)
  }

  /** Creates a grant and returns its code. Both expire unless the code is exchanged in time. */
  async createCode(
    request: Omit<AuthorizationRequest, 'client'>,
    clientId: string,
    login: UpstreamLogin,
  ): Promise<string> {
    const { subject, profile, tokens } = login
    const { scopes } = request
    const grantKey = randomToken(128)
    const grantId = await sha256(grantKey)
    const { resource } = this.#settings
    const { issuer: upstream } = this.#upstream.provider
    const endsAt = clock.now() + codeTtlMs
    await this.#records.saveTokens(grantId, tokens, codeTtlMs)
    await this.#records.save(grantId, {
      subject,
      profile,
      clientId,
      scopes,
      resource,
      upstream,
      renewable: false,
      endsAt,
    })
    const code = `${grantKey}.${randomToken()}`
    const { redirectUri, codeChallenge } = request
    await this.#store.set('code', await sha256(code), { redirectUri, codeChallenge } satisfies StoredCode, codeTtlMs)
    return code
  }

  /**
   * OAuth 2.1, 4.1.3: a code can be used once, even if that fails; using it again ends the grant. Codes of other clients are
   * ignored, so that a client cannot end the logins of another.
   */
  async exchangeCode(client: OAuthClient, { code, codeVerifier, redirectUri }: CodeRequest): Promise<OAuthTokens> {
    const grantKey = grantKeyOf(code)
    const grantId = await sha256(grantKey)
    const grant = await this.#records.find(grantId)
    if (grant?.clientId !== client.client_id) throw invalidCode()
    const stored = await this.#store.take<StoredCode>('code', await sha256(code))
    const tokens = await this.#records.tokens(grantId)
    const isValid =
      // OAuth 2.1 has no redirect_uri here. If it is sent, as in OAuth 2.0, it must match.
      (redirectUri === undefined || redirectUri === stored?.redirectUri) &&
      stored?.codeChallenge === (await sha256(codeVerifier))
    if (!tokens || !isValid) {
      await this.#records.end(grantId)
      throw invalidCode()
    }
    const lifetime = this.#lifetime(client, tokens)
    await this.#upstreamRefresh.open(grantId, tokens, lifetime.ttlMs)
    return this.#issue(grantKey, grantId, grant, grant.scopes, lifetime)
  }

  /** A refresh token can be used once (2025-06-18 authorization, token theft). Using it again later ends the grant. */
  async refresh(client: OAuthClient, { refreshToken, scopes }: RefreshRequest): Promise<OAuthTokens> {
    const grantKey = grantKeyOf(refreshToken)
    const grantId = await sha256(grantKey)
    const hash = await sha256(refreshToken)
    const [grant, tokens] = await this.#find(grantId)
    if (!grant || !tokens || grant.clientId !== client.client_id) throw invalidGrant('The refresh token is not valid.')
    if (scopes && !isSubset(scopes, grant.scopes)) {
      throw new OAuthError('invalid_scope', 'The scope exceeds what was granted.')
    }
    const issued = await this.#rotate(hash, async () => {
      const refreshed = await this.#upstreamRefresh.refresh(grantId, grant, tokens)
      const lifetime = this.#lifetime(client, refreshed)
      return () => this.#issue(grantKey, grantId, grant, scopes ?? grant.scopes, lifetime)
    })
    if (issued) return issued
    await this.#records.end(grantId)
    throw invalidGrant('The refresh token has already been used. All tokens of this login are revoked.')
  }

  /** @param prepare Called before the token is consumed, so that a failure of the provider does not lose it. */
  async #rotate(hash: string, prepare: () => Promise<() => Promise<OAuthTokens>>): Promise<OAuthTokens | undefined> {
    const isUnused = (await this.#store.get('refresh', hash)) !== undefined
    const issued = isUnused ? await this.#rotation.consume(hash, await prepare()) : undefined
    return issued ?? this.#rotation.repeat(hash)
  }

  async verify(token: string): Promise<AuthInfo | undefined> {
    const stored = await this.#store.get<StoredToken>('token', await sha256(token))
    if (!stored || stored.expiresAt <= clock.now() / 1000) return undefined
    const grant = await this.#records.find(stored.grantId)
    if (!grant) return undefined
    const { subject, clientId, profile, resource } = grant
    const { scopes, expiresAt } = stored
    const { issuer } = this.#settings
    return { issuer, subject, clientId, scopes, expiresAt, resource, claims: { ...profile, sid: stored.grantId } }
  }

  /** RFC 7009: revokes an access token, or the whole grant of a refresh token. Ignores tokens of other clients. */
  async revoke({ client_id: clientId }: OAuthClient, token: string): Promise<void> {
    const hash = await sha256(token)
    const access = await this.#store.get<StoredToken>('token', hash)
    const isRefresh = !access && (await this.#store.get('refresh', hash)) !== undefined
    const grantId = access?.grantId ?? (isRefresh ? await sha256(grantKeyOf(token)) : undefined)
    const grant = grantId === undefined ? undefined : await this.#records.find(grantId)
    if (grant?.clientId !== clientId) return
    if (access) await this.#store.delete('token', hash)
    else await this.#records.end(grantId!)
  }

  /** Returns the provider's access token for a grant, or undefined if the login has ended. */
  async upstreamToken(grantId: string): Promise<string | undefined> {
    const [grant, tokens] = await this.#find(grantId)
    if (!grant || !tokens) return undefined
    const { expiresAt, accessToken } = tokens
    if (expiresAt === undefined || expiresAt - refreshBeforeMs > clock.now()) return accessToken
    try {
      return (await this.#upstreamRefresh.refresh(grantId, grant, tokens)).accessToken
    } catch (error) {
      if (error instanceof OAuthError && error.errorCode === 'invalid_grant') return undefined
      throw error
    }
  }

  #lifetime({ grant_types }: OAuthClient, tokens: UpstreamTokens): Lifetime {
    const { accessTokenSeconds, refreshTokenSeconds } = this.#settings
    const mayRefresh = grant_types?.includes('refresh_token') ?? true
    const renewable = mayRefresh && this.#upstream.isRenewable(tokens)
    const seconds = renewable ? accessTokenSeconds : Math.min(accessTokenSeconds, secondsLeft(tokens))
    if (seconds <= 0) throw invalidGrant('The login has ended. Sign in again.')
    return { renewable, seconds, ttlMs: (renewable ? refreshTokenSeconds : seconds) * 1_000 }
  }

  async #issue(
    grantKey: string,
    grantId: string,
    grant: Grant,
    scopes: readonly string[],
    { renewable, seconds, ttlMs }: Lifetime,
  ): Promise<OAuthTokens> {
    await this.#records.save(grantId, { ...grant, renewable, endsAt: clock.now() + ttlMs })
    const token = randomToken()
    // Rounded up, so that the token is valid for all of its `expires_in`. The store ends it to the millisecond.
    const stored: StoredToken = { grantId, scopes, expiresAt: Math.ceil(clock.now() / 1_000) + seconds }
    await this.#store.set('token', await sha256(token), stored, seconds * 1_000)
    return {
      access_token: token,
      token_type: 'Bearer',
      expires_in: seconds,
      scope: scopes.join(' '),
      ...(renewable && { refresh_token: await this.#issueRefreshToken(grantKey, ttlMs) }),
    }
  }

  async #issueRefreshToken(grantKey: string, ttlMs: number): Promise<string> {
    const token = `${grantKey}.${randomToken()}`
    await this.#store.set('refresh', await sha256(token), true, ttlMs)
    return token
  }

  #find(grantId: string): Promise<[Grant | undefined, UpstreamTokens | undefined]> {
    return Promise.all([this.#records.find(grantId), this.#records.tokens(grantId)])
  }
}

function invalidCode(): OAuthError {
  return invalidGrant('The code is not valid, or has already been used.')
}

/** The part before the dot names the grant. */
function grantKeyOf(token: string): string {
  return token.split('.', 1)[0]!
}

function secondsLeft({ expiresAt }: UpstreamTokens): number {
  return expiresAt === undefined ? Number.POSITIVE_INFINITY : Math.floor((expiresAt - clock.now()) / 1_000)
}
