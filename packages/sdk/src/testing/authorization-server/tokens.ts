import type { JWTPayload } from 'jose'
import { invalidGrant } from '../../auth/server/oauth-error.ts'
import { random } from '../../util/random.ts'
import type { Faults } from './faults.ts'
import type { Keys } from './keys.ts'
import type { Settings } from './options.ts'

/** What somebody may do, by which client, and where. */
export interface Grant {
  readonly sub: string
  readonly clientId: string
  readonly scope: readonly string[]
  /** The servers that tokens are for. */
  readonly resource: readonly string[]
}

/** All tokens that come from one login. They end together. */
export interface Family {
  readonly grant: Grant
  isRevoked: boolean
}

interface RefreshToken {
  readonly family: Family
  /** Of a public client's: the key that it works with (RFC 9449 section 5). */
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

/** Every token that was given out. */
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

  /** A JWT as RFC 9068 describes it. */
  issueAccessToken(family: Family, options: AccessTokenOptions): Promise<string> {
    const { scope, resource, jkt, expiresIn = this.#settings.accessTokenSeconds } = options
    const jti = random.uuid()
    this.#access.set(jti, family)
    const iat = this.#faults.expiredTokens ? this.now - expiresIn - 60 : this.now
    const payload = {
      iss: this.#issuer,
      sub: family.grant.sub,
      // RFC 9068 section 3: without a resource it is for a default one.
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
   * What a refresh token is good for. With rotation it works once: when it comes again, either the client or a thief has the
   * newer one, and as nobody knows who, all tokens of the login end (RFC 9700 section 4.14.2).
   */
  findRefreshToken(token: string, clientId: string, jkt: string | undefined): Family {
    const held = this.#refresh.get(token)
    if (!held || held.family.grant.clientId !== clientId) throw invalidGrant('There is no such refresh token')
    const { family } = held
    if (held.isUsed) {
      family.isRevoked = true
      throw invalidGrant('The refresh token was used before; all tokens of this login have ended')
    }
    if (family.isRevoked) throw invalidGrant('The refresh token was revoked')
    if (held.expiresAt <= this.now) throw invalidGrant('The refresh token has expired')
    if (held.jkt !== undefined && held.jkt !== jkt) throw invalidGrant('The refresh token is bound to another key')
    return family
  }

  /** With rotation, it does not work again. */
  markUsed(token: string): void {
    const held = this.#refresh.get(token)
    if (held) held.isUsed = this.#settings.rotateRefreshTokens
  }

  /** A token that is good right now; undefined for any other. */
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

  /** Ends an access token, or with a refresh token everything from the same login. Others' tokens stay as they are. */
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
