import { sha256 } from '../../util/base64url.ts'
import { clock } from '../../util/clock.ts'
import { pause } from '../../util/scheduler.ts'
import type { OAuthTokens } from '../server/backend.ts'
import { OAuthError } from '../server/oauth-error.ts'
import type { EncryptedStore } from './encrypted-store.ts'

/** How long the response to a refresh is repeated for the same refresh token. */
const repeatMs = 10_000
/** How long a request waits for the response of a concurrent one. */
const maxWaitMs = 5_000
const pollMs = 50

interface RotatedToken {
  readonly tokens: OAuthTokens
  /** Milliseconds since 1970. */
  readonly at: number
}

/**
 * Lets a refresh token be used once, but repeats the response to concurrent requests: parts of a client may refresh at the
 * same time. They all get the same tokens, so a thief is detected as soon as both use the same successor. Works across
 * processes that share a store.
 */
export class RefreshTokenRotation {
  readonly #store: EncryptedStore

  constructor(store: EncryptedStore) {
    this.#store = store
  }

  /** Consumes the token and stores the response for concurrent requests. Undefined if another request was first. */
  async consume(hash: string, issue: () => Promise<OAuthTokens>): Promise<OAuthTokens | undefined> {
    // Set before the token is removed, so that a concurrent request knows that a response is being created.
    await this.#store.set('rotating', hash, true, repeatMs)
    if ((await this.#store.take('refresh', hash)) === undefined) return undefined
    const tokens = await issue()
    await this.#store.set('rotated', hash, { tokens, at: clock.now() } satisfies RotatedToken, repeatMs)
    return tokens
  }

  /** Returns the response to a concurrent request. Undefined if it is too old, or its successor has already been used. */
  async repeat(hash: string): Promise<OAuthTokens | undefined> {
    for (const until = clock.now() + maxWaitMs; clock.now() < until; await pause(pollMs, { unref: true })) {
      const rotated = await this.#store.get<RotatedToken>('rotated', hash)
      if (rotated) return (await this.#isCurrent(rotated)) ? withAge(rotated) : undefined
      if ((await this.#store.get('rotating', hash)) === undefined) return undefined
    }
    throw new OAuthError('temporarily_unavailable', 'The token is being refreshed. Try again.', 503, {
      'retry-after': '1',
    })
  }

  async #isCurrent({ tokens: { refresh_token: next } }: RotatedToken): Promise<boolean> {
    return next === undefined || (await this.#store.get('refresh', await sha256(next))) !== undefined
  }
}

function withAge({ tokens, at }: RotatedToken): OAuthTokens {
  const { expires_in } = tokens
  if (expires_in === undefined) return tokens
  return { ...tokens, expires_in: Math.max(0, expires_in - Math.ceil((clock.now() - at) / 1_000)) }
}
