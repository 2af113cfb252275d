import type { AuthInfo } from '../../util/auth-info.ts'
import { sha256 } from '../../util/base64url.ts'
import { clock } from '../../util/clock.ts'
import type { AuthorizationRequest, CodeRequest, OAuthTokens, RefreshRequest } from '../server/backend.ts'
import type { OAuthClient } from '../server/client.ts'
import { invalidGrant, OAuthError } from '../server/oauth-error.ts'
import { isWithin } from '../server/params.ts'
import { randomText } from '../server/random.ts'
import type { Vault } from './encrypted-store.ts'
import { type Grant, GrantRecords } from './grant-records.ts'
import type { BrokerSettings } from './options.ts'
import { Rotation } from './rotation.ts'
import type { Upstream, UpstreamLogin, UpstreamTokens } from './upstream.ts'
import { Renewals } from './upstream-refresh.ts'

/** What a code has to fit to. */
interface KeptCode {
  readonly redirectUri: string
  readonly codeChallenge: string
}

/** How long what is given out holds. */
interface Terms {
  readonly lasts: boolean
  /** Of the access token. */
  readonly seconds: number
  /** Of the grant. */
  readonly ttlMs: number
}

interface KeptToken {
  readonly grantId: string
  readonly scopes: readonly string[]
  /** In seconds since 1970. */
  readonly expiresAt: number
}

const codeMs = 60_000
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
  readonly #records: GrantRecords
  readonly #renewals: Renewals
  readonly #rotation: Rotation

  constructor(vault: Vault, upstream: Upstream, settings: BrokerSettings) {
    this.#vault = vault
    this.#upstream = upstream
    this.#settings = settings
    this.#records = new GrantRecords(vault, settings.resource, upstream.provider.issuer)
    this.#renewals = new Renewals(vault, this.#records, upstream, settings)
    this.#rotation = new Rotation(vault)
  }

  /** Gives the code. Unless it is redeemed in time, nothing is left of it. */
  async open(request: Omit<AuthorizationRequest, 'client'>, clientId: string, login: UpstreamLogin): Promise<string> {
    const { subject, profile, tokens } = login
    const { scopes } = request
    const half = randomText(128)
    const grantId = await sha256(half)
    const { resource } = this.#settings
    const { issuer: upstream } = this.#upstream.provider
    const endsAt = clock.now() + codeMs
    await this.#records.saveTokens(grantId, tokens, codeMs)
    await this.#records.save(grantId, {
      subject,
      profile,
      clientId,
      scopes,
      resource,
      upstream,
      lasts: false,
      endsAt,
    })
    const code = `${half}.${randomText()}`
    const { redirectUri, codeChallenge } = request
    await this.#vault.set('code', await sha256(code), { redirectUri, codeChallenge } satisfies KeptCode, codeMs)
    return code
  }

  /**
   * OAuth 2.1, 4.1.3: a code works once, also where it fails; one that comes again ends what it gave. For other clients than
   * its own it is nothing at all, so that none can end the login of another.
   */
  async redeem(client: OAuthClient, { code, codeVerifier, redirectUri }: CodeRequest): Promise<OAuthTokens> {
    const half = halfOf(code)
    const grantId = await sha256(half)
    const grant = await this.#records.find(grantId)
    if (grant?.clientId !== client.client_id) throw invalidCode()
    const kept = await this.#vault.take<KeptCode>('code', await sha256(code))
    const tokens = await this.#records.tokens(grantId)
    const isRight =
      // OAuth 2.1 has no redirect_uri here; who sends it as OAuth 2.0 did is held to it.
      (redirectUri === undefined || redirectUri === kept?.redirectUri) &&
      kept?.codeChallenge === (await sha256(codeVerifier))
    if (!tokens || !isRight) {
      await this.#records.end(grantId)
      throw invalidCode()
    }
    const terms = this.#terms(client, tokens)
    await this.#renewals.open(grantId, tokens, terms.ttlMs)
    return this.#issue(half, grantId, grant, grant.scopes, terms)
  }

  /** Each refresh token works once (2025-06-18 authorization, token theft). One that comes again later ends the grant. */
  async refresh(client: OAuthClient, { refreshToken, scopes }: RefreshRequest): Promise<OAuthTokens> {
    const half = halfOf(refreshToken)
    const grantId = await sha256(half)
    const hash = await sha256(refreshToken)
    const [grant, tokens] = await this.#find(grantId)
    if (!grant || !tokens || grant.clientId !== client.client_id) throw invalidGrant('The refresh token is not valid')
    if (scopes && !isWithin(scopes, grant.scopes)) {
      throw new OAuthError('invalid_scope', 'scope goes beyond what was granted')
    }
    const answer = await this.#rotate(hash, async () => {
      const renewed = await this.#renewals.renew(grantId, grant, tokens)
      const terms = this.#terms(client, renewed)
      return () => this.#issue(half, grantId, grant, scopes ?? grant.scopes, terms)
    })
    if (answer) return answer
    await this.#records.end(grantId)
    throw invalidGrant('The refresh token was used before; all tokens of this login have ended')
  }

  /** @param prepare Called before the token is used up: when the provider does not answer, nothing is lost. */
  async #rotate(hash: string, prepare: () => Promise<() => Promise<OAuthTokens>>): Promise<OAuthTokens | undefined> {
    const isUnused = (await this.#vault.get('refresh', hash)) !== undefined
    const answer = isUnused ? await this.#rotation.use(hash, await prepare()) : undefined
    return answer ?? this.#rotation.repeat(hash)
  }

  async verify(token: string): Promise<AuthInfo | undefined> {
    const kept = await this.#vault.get<KeptToken>('token', await sha256(token))
    if (!kept || kept.expiresAt <= clock.now() / 1000) return undefined
    const grant = await this.#records.find(kept.grantId)
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
    const grant = grantId === undefined ? undefined : await this.#records.find(grantId)
    if (grant?.clientId !== clientId) return
    if (access) await this.#vault.delete('token', hash)
    else await this.#records.end(grantId!)
  }

  /** The provider's token for the person that a call is made for; undefined when the login has ended. */
  async upstreamToken(grantId: string): Promise<string | undefined> {
    const [grant, tokens] = await this.#find(grantId)
    if (!grant || !tokens) return undefined
    const { expiresAt, accessToken } = tokens
    if (expiresAt === undefined || expiresAt - earlyMs > clock.now()) return accessToken
    try {
      return (await this.#renewals.renew(grantId, grant, tokens)).accessToken
    } catch (error) {
      if (error instanceof OAuthError && error.errorCode === 'invalid_grant') return undefined
      throw error
    }
  }

  #terms({ grant_types }: OAuthClient, tokens: UpstreamTokens): Terms {
    const { accessTokenSeconds, refreshTokenSeconds } = this.#settings
    const mayRefresh = grant_types?.includes('refresh_token') ?? true
    const lasts = mayRefresh && this.#upstream.isLasting(tokens)
    const seconds = lasts ? accessTokenSeconds : Math.min(accessTokenSeconds, secondsLeft(tokens))
    if (seconds <= 0) throw invalidGrant('The login has ended')
    return { lasts, seconds, ttlMs: (lasts ? refreshTokenSeconds : seconds) * 1_000 }
  }

  async #issue(
    half: string,
    grantId: string,
    grant: Grant,
    scopes: readonly string[],
    { lasts, seconds, ttlMs }: Terms,
  ): Promise<OAuthTokens> {
    await this.#records.save(grantId, { ...grant, lasts, endsAt: clock.now() + ttlMs })
    const token = randomText()
    const kept: KeptToken = { grantId, scopes, expiresAt: Math.floor(clock.now() / 1000) + seconds }
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

  #find(grantId: string): Promise<[Grant | undefined, UpstreamTokens | undefined]> {
    return Promise.all([this.#records.find(grantId), this.#records.tokens(grantId)])
  }
}

function invalidCode(): OAuthError {
  return invalidGrant('The code is not valid, or was used before')
}

/** What comes before the dot. */
function halfOf(token: string): string {
  return token.split('.', 1)[0]!
}

function secondsLeft({ expiresAt }: UpstreamTokens): number {
  return expiresAt === undefined ? Number.POSITIVE_INFINITY : Math.floor((expiresAt - clock.now()) / 1_000)
}
