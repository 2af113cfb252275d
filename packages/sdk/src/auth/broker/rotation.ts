import { sha256 } from '../../util/base64url.ts'
import { clock } from '../../util/clock.ts'
import type { OAuthTokens } from '../server/backend.ts'
import { OAuthError } from '../server/oauth-error.ts'
import type { Vault } from './encrypted-store.ts'
import { pause } from './pause.ts'

/** How long the answer to a refresh is repeated to those who send the same refresh token again. */
const repeatMs = 10_000
/** How long a request waits for the answer of another that came first. */
const patienceMs = 5_000
const pauseMs = 50

interface Answered {
  readonly tokens: OAuthTokens
  /** Milliseconds since 1970. */
  readonly at: number
}

/**
 * Lets a refresh token be used once, and repeats the answer to requests that come at about the same time: parts of a client
 * that refresh at once are not thieves. They all get the same tokens, so that a thief among them is found out as soon as both
 * go on with the same successor. Works across processes that share a store.
 */
export class Rotation {
  readonly #vault: Vault

  constructor(vault: Vault) {
    this.#vault = vault
  }

  /** Uses the token up, and keeps the answer for those who come a moment later. Undefined: another was first. */
  async use(hash: string, issue: () => Promise<OAuthTokens>): Promise<OAuthTokens | undefined> {
    // Set before the token is gone, so that nobody finds it gone without knowing that an answer is on its way.
    await this.#vault.set('rotating', hash, true, repeatMs)
    if ((await this.#vault.take('refresh', hash)) === undefined) return undefined
    const tokens = await issue()
    await this.#vault.set('rotated', hash, { tokens, at: clock.now() } satisfies Answered, repeatMs)
    return tokens
  }

  /** The answer that another request with this token got. Undefined: too long ago, or its successor has been used since. */
  async repeat(hash: string): Promise<OAuthTokens | undefined> {
    for (const until = clock.now() + patienceMs; clock.now() < until; await pause(pauseMs)) {
      const answered = await this.#vault.get<Answered>('rotated', hash)
      if (answered) return (await this.#isCurrent(answered)) ? withAge(answered) : undefined
      if ((await this.#vault.get('rotating', hash)) === undefined) return undefined
    }
    throw new OAuthError('temporarily_unavailable', 'The login is being renewed: try again', 503, {
      'retry-after': '1',
    })
  }

  async #isCurrent({ tokens: { refresh_token: next } }: Answered): Promise<boolean> {
    return next === undefined || (await this.#vault.get('refresh', await sha256(next))) !== undefined
  }
}

function withAge({ tokens, at }: Answered): OAuthTokens {
  const { expires_in } = tokens
  if (expires_in === undefined) return tokens
  return { ...tokens, expires_in: Math.max(0, expires_in - Math.ceil((clock.now() - at) / 1_000)) }
}
