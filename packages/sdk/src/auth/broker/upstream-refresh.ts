import { clock } from '../../util/clock.ts'
import { random } from '../../util/random.ts'
import { pause } from '../../util/scheduler.ts'
import { invalidGrant, OAuthError } from '../server/oauth-error.ts'
import type { EncryptedStore } from './encrypted-store.ts'
import type { Grant, GrantRecords } from './grant-records.ts'
import type { BrokerSettings } from './options.ts'
import { type Upstream, UpstreamEnded, type UpstreamTokens } from './upstream.ts'

/** Longer than a provider can take to respond: two requests of ten seconds. */
const leaseMs = 30_000
/** How long a process waits for another one that refreshes. */
const maxWaitMs = 15_000
/** Longer than it takes to mark a lease as held after taking it. */
const markMs = 2_000
const firstDelayMs = 20
const maxDelayMs = 400

/**
 * Refreshes the provider's tokens, using each refresh token once: many providers end a login whose refresh token is used twice
 * (RFC 9700, 4.14.2). Within a process, concurrent calls share one request. Across processes, each grant has a lease in the
 * store: the process that takes it refreshes and then releases it. The holder also sets a mark for as long as that may take.
 * If neither the lease nor the mark is there, the holder has died or the store has lost the lease, and a new one is created.
 */
export class UpstreamRefresh {
  readonly #store: EncryptedStore
  readonly #records: GrantRecords
  readonly #upstream: Upstream
  readonly #settings: BrokerSettings
  readonly #running = new Map<string, Promise<UpstreamTokens>>()

  constructor(store: EncryptedStore, records: GrantRecords, upstream: Upstream, settings: BrokerSettings) {
    this.#store = store
    this.#records = records
    this.#upstream = upstream
    this.#settings = settings
  }

  /** Called before the grant is used for the first time. */
  async open(grantId: string, tokens: UpstreamTokens, ttlMs: number): Promise<void> {
    await this.#records.saveTokens(grantId, tokens, ttlMs)
    if (tokens.refreshToken !== undefined) await this.#store.set('renewal', grantId, true, ttlMs)
  }

  /**
   * Returns new tokens, or those that another process has got meanwhile. Throws `invalid_grant` if the login has ended.
   * @param seen The tokens to refresh.
   */
  refresh(grantId: string, grant: Grant, seen: UpstreamTokens): Promise<UpstreamTokens> {
    const running = this.#running.get(grantId)
    if (running) return running
    const refreshing = this.#refreshAlone(grantId, grant, seen).finally(() => this.#running.delete(grantId))
    this.#running.set(grantId, refreshing)
    return refreshing
  }

  async #refreshAlone(grantId: string, grant: Grant, seen: UpstreamTokens): Promise<UpstreamTokens> {
    const until = clock.now() + maxWaitMs
    let leaseLostAt = Number.POSITIVE_INFINITY
    for (let delayMs = firstDelayMs; clock.now() < until; delayMs = Math.min(delayMs * 2, maxDelayMs)) {
      const current = await this.#current(grantId)
      if (!isSame(current, seen)) return current
      // Without a refresh token nothing is used up, so no lease is needed.
      if (current.refreshToken === undefined) return this.#requestTokens(grantId, grant, current)
      if (await this.#store.take('renewal', grantId)) return this.#refreshWithLease(grantId, grant, seen)
      const isHeld = (await this.#store.get('renewing', grantId)) !== undefined
      leaseLostAt = isHeld ? Number.POSITIVE_INFINITY : Math.min(leaseLostAt, clock.now() + markMs)
      if (clock.now() >= leaseLostAt) {
        await this.#releaseLease(grantId, grant)
        leaseLostAt = Number.POSITIVE_INFINITY
        continue
      }
      // Jitter, so that waiting processes do not poll at the same time.
      await pause(delayMs * (0.5 + random.fraction()), { unref: true })
    }
    throw this.#unavailable(new Error('Timed out waiting for another process to refresh a login'))
  }

  async #refreshWithLease(grantId: string, grant: Grant, seen: UpstreamTokens): Promise<UpstreamTokens> {
    await this.#store.set('renewing', grantId, true, leaseMs)
    let hasEnded = false
    try {
      const current = await this.#current(grantId)
      return isSame(current, seen) ? await this.#requestTokens(grantId, grant, current) : current
    } catch (error) {
      hasEnded = error instanceof OAuthError && error.errorCode === 'invalid_grant'
      throw error
    } finally {
      // In this order, so that the mark of the next holder is never removed.
      await this.#store.delete('renewing', grantId)
      if (!hasEnded) await this.#releaseLease(grantId, grant)
    }
  }

  async #requestTokens(grantId: string, grant: Grant, tokens: UpstreamTokens): Promise<UpstreamTokens> {
    try {
      const refreshed = await this.#upstream.refresh(grant.subject, tokens)
      await this.#records.saveTokens(grantId, refreshed, this.#ttlMs(grant))
      return refreshed
    } catch (error) {
      if (error instanceof OAuthError) throw error
      if (!(error instanceof UpstreamEnded)) throw this.#unavailable(error)
      // A holder that was considered dead may have refreshed it after all.
      const current = await this.#current(grantId)
      if (!isSame(current, tokens)) return current
      await this.#records.end(grantId)
      throw invalidGrant(`The login at ${this.#upstream.provider.name} has ended. Sign in again.`)
    }
  }

  async #current(grantId: string): Promise<UpstreamTokens> {
    const current = await this.#records.tokens(grantId)
    if (current) return current
    throw invalidGrant('The login has ended. Sign in again.')
  }

  async #releaseLease(grantId: string, grant: Grant): Promise<void> {
    await this.#store.set('renewal', grantId, true, this.#ttlMs(grant))
  }

  #ttlMs({ renewable, endsAt }: Grant): number {
    return renewable ? this.#settings.refreshTokenSeconds * 1_000 : Math.max(1, endsAt - clock.now())
  }

  #unavailable(error: unknown): OAuthError {
    this.#settings.reportError(error)
    const { name } = this.#upstream.provider
    return new OAuthError('temporarily_unavailable', `${name} is not available. Try again later.`, 503, {
      'retry-after': '5',
    })
  }
}

function isSame(one: UpstreamTokens, other: UpstreamTokens): boolean {
  return one.accessToken === other.accessToken && one.refreshToken === other.refreshToken
}
