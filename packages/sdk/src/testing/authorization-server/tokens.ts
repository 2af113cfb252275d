import type { JWTPayload } from 'jose'
import { invalidGrant } from '../../auth/server/oauth-error.ts'
import { random } from '../../util/random.ts'
import type { Faults } from './faults.ts'
import type { Keys } from './keys.ts'
import type { Settings } from './options.ts'

/** A user's permission: which scopes, for which client and resources. */
export interface Grant {
  readonly sub: string
  readonly clientId: string
  readonly scope: readonly string[]
  /** The servers that tokens are for. */
  readonly resource: readonly string[]
}

/** All tokens of one login. They are revoked together. */
export interface Family {
  readonly grant: Grant
  isRevoked: boolean
}

interface RefreshToken {
  readonly family: Family
  /** For a public client: the key that the token is bound to (RFC 9449 section 5). */
  readonly jkt: string | undefined
  readonly expiresAt: number
  isUsed: boolean
}

interface Inspected {
  readonly claims: JWTPayload
  readonly family: Family
  readonly isRefreshToken: boolean
}

interface AccessTokenOptions {
  readonly scope: readonly string[]
  readonly resource: readonly string[]
  /** The thumbprint of the key that the token is bound to. */
  readonly jkt?: string | undefined
  readonly expiresIn?: number | undefined
  readonly claims?: JWTPayload | undefined
}

/** All issued tokens. */
export class Tokens {
  readonly #settings: Settings
  readonly #issuer: string
  readonly #keys: Keys
  readonly #faults: Faults
  /** By `jti`. */
  readonly #access = new Map<string, Family>()
  readonly #revoked = new Set<string>()
  readonly #refresh = new Map<string, RefreshToken>()

  constructor(settings: Settings, issuer: string, keys: Keys, faults: Faults) {
    this.#settings = settings
    this.#issuer = issuer
    this.#keys = keys
    this.#faults = faults
  }

  get now(): number {
    return Math.floor(this.#settings.now() / 1_000)
  }

  /** Issues a JWT access token (RFC 9068). */
  issueAccessToken(family: Family, options: AccessTokenOptions): Promise<string> {
    const { scope, resource, jkt, expiresIn = this.#settings.accessTokenSeconds } = options
    const jti = random.uuid()
    this.#access.set(jti, family)
    const iat = this.#faults.expiredTokens ? this.now - expiresIn - 60 : this.now
    const payload = {
      iss: this.#issuer,
      sub: family.grant.sub,
      // RFC 9068 section 3: without a resource, the audience is a default.
      aud: resource.length > 1 ? [...resource] : (resource[0] ?? this.#issuer),
      client_id: family.grant.clientId,
      ...(scope.length > 0 && { scope: scope.join(' ') }),
      iat,
      exp: iat + expiresIn,
      jti,
      ...(jkt !== undefined && { cnf: { jkt } }),
      ...options.claims,
    }
    return this.#keys.sign(payload, { typ: 'at+jwt' })
  }

  issueRefreshToken(family: Family, jkt?: string): string {
    const token = `${random.uuid()}${random.uuid()}`
    const expiresAt = this.now + this.#settings.refreshTokenSeconds
    this.#refresh.set(token, { family, jkt, expiresAt, isUsed: false })
    return token
  }

  /**
   * Returns the login of a refresh token. With rotation a token can be used once. If it is used again, either the
   * client or an attacker has the newer one. The server cannot tell which, so it revokes all tokens of the login
   * (RFC 9700 section 4.14.2).
   */
  findRefreshToken(token: string, clientId: string, jkt: string | undefined): Family {
    const held = this.#refresh.get(token)
    if (!held || held.family.grant.clientId !== clientId) throw invalidGrant('Unknown refresh token')
    const { family } = held
    if (held.isUsed) {
      family.isRevoked = true
      throw invalidGrant('The refresh token was already used. All tokens of this login were revoked.')
    }
    if (family.isRevoked) throw invalidGrant('The refresh token was revoked')
    if (held.expiresAt <= this.now) throw invalidGrant('The refresh token has expired')
    if (held.jkt !== undefined && held.jkt !== jkt) throw invalidGrant('The refresh token is bound to another key')
    return family
  }

  /** Marks a token as used, so that with rotation it cannot be used again. */
  markUsed(token: string): void {
    const held = this.#refresh.get(token)
    if (held) held.isUsed = this.#settings.rotateRefreshTokens
  }

  /** Returns a token that is currently valid. Undefined for any other. */
  async inspect(token: string): Promise<Inspected | undefined> {
    const held = this.#refresh.get(token)
    if (held) return this.#inspectRefreshToken(held)
    try {
      const currentDate = new Date(this.#settings.now())
      const claims = await this.#keys.verify(token, { typ: 'at+jwt', issuer: this.#issuer, currentDate })
      const { jti = '' } = claims
      const family = this.#access.get(jti)
      if (!family || family.isRevoked || this.#revoked.has(jti)) return undefined
      return { claims, family, isRefreshToken: false }
    } catch {
      return undefined
    }
  }

  /** Revokes an access token, or all tokens of a login if given a refresh token. Ignores tokens of other clients. */
  async revoke(token: string, clientId: string): Promise<void> {
    const found = await this.inspect(token)
    if (found?.family.grant.clientId !== clientId) return
    if (found.isRefreshToken) found.family.isRevoked = true
    else this.#revoked.add(found.claims.jti!)
  }

  #inspectRefreshToken({ family, isUsed, expiresAt }: RefreshToken): Inspected | undefined {
    if (isUsed || family.isRevoked || expiresAt <= this.now) return undefined
    const { sub, clientId, scope } = family.grant
    const claims = { iss: this.#issuer, sub, client_id: clientId, scope: scope.join(' '), exp: expiresAt }
    return { claims, family, isRefreshToken: true }
  }
}
