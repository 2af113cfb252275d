import { clock } from '../../util/clock.ts'
import type { JsonObject } from '../../util/objects.ts'
import { invalidGrant } from '../server/oauth-error.ts'
import type { EncryptedStore } from './encrypted-store.ts'
import type { UpstreamTokens } from './upstream.ts'

/** The permission that a user gave a client. When a grant ends, all its tokens end. */
export interface Grant {
  readonly subject: string
  readonly profile: JsonObject
  readonly clientId: string
  readonly scopes: readonly string[]
  readonly resource: string
  /** The issuer where the user signed in. The same subject of another issuer is another user. */
  readonly upstream: string
  /** Whether its lifetime starts again whenever it is used. */
  readonly renewable: boolean
  /** In milliseconds since 1970. */
  readonly endsAt: number
}

/** Longer than any operation that was running when a grant ended. */
const endedTtlMs = 600_000

/**
 * Stores grants and, separately, the provider's tokens for each. They are written at different times, so neither write can
 * restore an older state of the other.
 */
export class GrantRecords {
  readonly #store: EncryptedStore
  readonly #resource: string
  readonly #upstream: string

  constructor(store: EncryptedStore, resource: string, upstream: string) {
    this.#store = store
    this.#resource = resource
    this.#upstream = upstream
  }

  /** Ignores grants for another server or provider, because stores may be shared and providers replaced. */
  async find(grantId: string): Promise<Grant | undefined> {
    const grant = await this.#store.get<Grant>('grant', grantId)
    return grant?.resource === this.#resource && grant.upstream === this.#upstream ? grant : undefined
  }

  tokens(grantId: string): Promise<UpstreamTokens | undefined> {
    return this.#store.get<UpstreamTokens>('upstream', grantId)
  }

  save(grantId: string, grant: Grant): Promise<void> {
    return this.#write('grant', grantId, grant, Math.max(1, grant.endsAt - clock.now()))
  }

  saveTokens(grantId: string, tokens: UpstreamTokens, ttlMs: number): Promise<void> {
    return this.#write('upstream', grantId, tokens, ttlMs)
  }

  async end(grantId: string): Promise<void> {
    await this.#store.set('ended', grantId, true, endedTtlMs)
    for (const kind of ['grant', 'upstream', 'renewal']) await this.#store.delete(kind, grantId)
  }

  /** A grant that ends during a write must stay ended, so this is checked after the write. */
  async #write(kind: string, grantId: string, value: unknown, ttlMs: number): Promise<void> {
    await this.#store.set(kind, grantId, value, ttlMs)
    if ((await this.#store.get('ended', grantId)) === undefined) return
    await this.#store.delete(kind, grantId)
    throw invalidGrant('The login has ended. Sign in again.')
  }
}
