import { clock } from '../../util/clock.ts'
import type { JsonObject } from '../../util/objects.ts'
import { invalidGrant } from '../server/oauth-error.ts'
import type { Vault } from './encrypted-store.ts'
import type { UpstreamTokens } from './upstream.ts'

/** What a person allowed a client. All tokens that come of it end with it. */
export interface Grant {
  readonly subject: string
  readonly profile: JsonObject
  readonly clientId: string
  readonly scopes: readonly string[]
  readonly resource: string
  /** The issuer where the person signed in: the same subject elsewhere is somebody else. */
  readonly upstream: string
  /** Whether its time starts again whenever it is used. */
  readonly lasts: boolean
  /** In milliseconds since 1970. */
  readonly endsAt: number
}

/** Longer than anything that was under way when a grant ended. */
const endedMs = 600_000

/**
 * Grants as they are kept, and apart from each the provider's tokens for it: both are written at any time, and neither must
 * bring back an older state of the other.
 */
export class GrantRecords {
  readonly #vault: Vault
  readonly #resource: string
  readonly #upstream: string

  constructor(vault: Vault, resource: string, upstream: string) {
    this.#vault = vault
    this.#resource = resource
    this.#upstream = upstream
  }

  /** Stores may be shared, and providers exchanged: grants for another server, or of another provider, are nothing here. */
  async find(grantId: string): Promise<Grant | undefined> {
    const grant = await this.#vault.get<Grant>('grant', grantId)
    return grant?.resource === this.#resource && grant.upstream === this.#upstream ? grant : undefined
  }

  tokens(grantId: string): Promise<UpstreamTokens | undefined> {
    return this.#vault.get<UpstreamTokens>('upstream', grantId)
  }

  save(grantId: string, grant: Grant): Promise<void> {
    return this.#write('grant', grantId, grant, Math.max(1, grant.endsAt - clock.now()))
  }

  saveTokens(grantId: string, tokens: UpstreamTokens, ttlMs: number): Promise<void> {
    return this.#write('upstream', grantId, tokens, ttlMs)
  }

  async end(grantId: string): Promise<void> {
    await this.#vault.set('ended', grantId, true, endedMs)
    for (const kind of ['grant', 'upstream', 'renewal']) await this.#vault.delete(kind, grantId)
  }

  /** What ends while it is being written must stay ended: whoever writes last looks whether it has. */
  async #write(kind: string, grantId: string, value: unknown, ttlMs: number): Promise<void> {
    await this.#vault.set(kind, grantId, value, ttlMs)
    if ((await this.#vault.get('ended', grantId)) === undefined) return
    await this.#vault.delete(kind, grantId)
    throw invalidGrant('The login has ended')
  }
}
