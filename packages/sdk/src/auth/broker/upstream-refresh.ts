import { clock } from '../../util/clock.ts'
import { invalidGrant, OAuthError } from '../server/oauth-error.ts'
import type { Vault } from './encrypted-store.ts'
import type { Grant, GrantRecords } from './grant-records.ts'
import type { BrokerSettings } from './options.ts'
import { pause } from './pause.ts'
import { type Upstream, UpstreamEnded, type UpstreamTokens } from './upstream.ts'

/** Longer than a provider can take to answer: two requests of ten seconds. */
const leaseMs = 30_000
/** How long a process waits for another that is renewing. */
const patienceMs = 15_000
/** Nobody needs that long between taking a ticket and saying so. */
const lostMs = 2_000
const firstPauseMs = 20
const longestPauseMs = 400

/**
 * Renews the provider's tokens, each refresh token once: many providers end a login whose refresh token comes twice (RFC 9700,
 * 4.14.2). In a process all wait for the one that began. Among processes there is a ticket for each grant: who takes it out of
 * the store renews, and puts it back. It also leaves word there for as long as that may take, so that a ticket is known to be
 * lost when neither is there, because its holder has ended or the store has forgotten it; then there is another.
 */
export class Renewals {
  readonly #vault: Vault
  readonly #records: GrantRecords
  readonly #upstream: Upstream
  readonly #settings: BrokerSettings
  readonly #underWay = new Map<string, Promise<UpstreamTokens>>()

  constructor(vault: Vault, records: GrantRecords, upstream: Upstream, settings: BrokerSettings) {
    this.#vault = vault
    this.#records = records
    this.#upstream = upstream
    this.#settings = settings
  }

  /** Before anybody knows of a grant. */
  async open(grantId: string, tokens: UpstreamTokens, ttlMs: number): Promise<void> {
    await this.#records.saveTokens(grantId, tokens, ttlMs)
    if (tokens.refreshToken !== undefined) await this.#vault.set('renewal', grantId, true, ttlMs)
  }

  /**
   * Newer tokens, or those that somebody else got meanwhile. Throws `invalid_grant` when the login has ended.
   * @param seen What is to be renewed.
   */
  renew(grantId: string, grant: Grant, seen: UpstreamTokens): Promise<UpstreamTokens> {
    const underWay = this.#underWay.get(grantId)
    if (underWay) return underWay
    const renewing = this.#inTurn(grantId, grant, seen).finally(() => this.#underWay.delete(grantId))
    this.#underWay.set(grantId, renewing)
    return renewing
  }

  async #inTurn(grantId: string, grant: Grant, seen: UpstreamTokens): Promise<UpstreamTokens> {
    const until = clock.now() + patienceMs
    let lostAt = Number.POSITIVE_INFINITY
    for (let pauseMs = firstPauseMs; clock.now() < until; pauseMs = Math.min(pauseMs * 2, longestPauseMs)) {
      const current = await this.#current(grantId)
      if (!isSame(current, seen)) return current
      // Where nothing is used up, everybody may ask.
      if (current.refreshToken === undefined) return this.#renew(grantId, grant, current)
      if (await this.#vault.take('renewal', grantId)) return this.#withTicket(grantId, grant, seen)
      const isHeld = (await this.#vault.get('renewing', grantId)) !== undefined
      lostAt = isHeld ? Number.POSITIVE_INFINITY : Math.min(lostAt, clock.now() + lostMs)
      if (clock.now() >= lostAt) {
        await this.#putBack(grantId, grant)
        lostAt = Number.POSITIVE_INFINITY
        continue
      }
      // Not all at once, so that one finds what another has put back.
      await pause(pauseMs * (0.5 + Math.random()))
    }
    throw this.#unavailable(new Error('Another process has been renewing a login for too long'))
  }

  async #withTicket(grantId: string, grant: Grant, seen: UpstreamTokens): Promise<UpstreamTokens> {
    await this.#vault.set('renewing', grantId, true, leaseMs)
    let isOver = false
    try {
      const current = await this.#current(grantId)
      return isSame(current, seen) ? await this.#renew(grantId, grant, current) : current
    } catch (error) {
      isOver = error instanceof OAuthError && error.errorCode === 'invalid_grant'
      throw error
    } finally {
      // In this order, so that it is never the word of the next holder that goes.
      await this.#vault.delete('renewing', grantId)
      if (!isOver) await this.#putBack(grantId, grant)
    }
  }

  async #renew(grantId: string, grant: Grant, tokens: UpstreamTokens): Promise<UpstreamTokens> {
    try {
      const renewed = await this.#upstream.renew(grant.subject, tokens)
      await this.#records.saveTokens(grantId, renewed, this.#ttlMs(grant))
      return renewed
    } catch (error) {
      if (error instanceof OAuthError) throw error
      if (!(error instanceof UpstreamEnded)) throw this.#unavailable(error)
      // A holder that was given up for lost may have renewed it after all.
      const current = await this.#current(grantId)
      if (!isSame(current, tokens)) return current
      await this.#records.end(grantId)
      throw invalidGrant(`The login at ${this.#upstream.provider.name} has ended`)
    }
  }

  async #current(grantId: string): Promise<UpstreamTokens> {
    const current = await this.#records.tokens(grantId)
    if (current) return current
    throw invalidGrant('The login has ended')
  }

  async #putBack(grantId: string, grant: Grant): Promise<void> {
    await this.#vault.set('renewal', grantId, true, this.#ttlMs(grant))
  }

  #ttlMs({ lasts, endsAt }: Grant): number {
    return lasts ? this.#settings.refreshTokenSeconds * 1_000 : Math.max(1, endsAt - clock.now())
  }

  #unavailable(error: unknown): OAuthError {
    this.#settings.reportError(error)
    const { name } = this.#upstream.provider
    return new OAuthError('temporarily_unavailable', `${name} cannot be asked just now: try again later`, 503, {
      'retry-after': '5',
    })
  }
}

function isSame(one: UpstreamTokens, other: UpstreamTokens): boolean {
  return one.accessToken === other.accessToken && one.refreshToken === other.refreshToken
}
