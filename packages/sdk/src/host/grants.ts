import { clock } from '../util/clock.ts'
import { isObject } from '../util/objects.ts'
import { random } from '../util/random.ts'
import { warnOnce } from '../util/warn.ts'
import type { GrantDuration, HostAction } from './action.ts'
import { type Approver, isApprover } from './approver.ts'
import type { HostState } from './host-store.ts'

/** An approval of the user that is still valid. */
export interface Grant extends Approver {
  readonly id: string
  readonly duration: GrantDuration
  /** The id of the server. */
  readonly server: string
  readonly kind: HostAction['kind']
  /** `action`: what was shown, and nothing else. `server`: every action of this kind on the server. */
  readonly covers: 'action' | 'server'
  /** The name of the tool or prompt, or the URI of the resource. Undefined for other kinds, and if it covers the server. */
  readonly name?: string | undefined
  /** Identifies what the user saw. If anything of it changes, the grant is not valid any more. */
  readonly digest: string
  /** The servers whose data may be in the arguments. */
  readonly from: readonly string[]
  /** Milliseconds since 1970, like the following times. */
  readonly createdAt: number
  readonly expiresAt: number
  /** Undefined if it was not used yet. */
  lastUsedAt?: number | undefined
}

/** An approval to remember. */
export interface NewGrant extends Approver {
  duration: GrantDuration
  server: string
  kind: HostAction['kind']
  name?: string | undefined
  /** The digest of what the user saw. For a grant that covers the server: the digest of the server and all its definitions. */
  digest: string
  /** The servers whose data the user agreed to pass on. Default: none. */
  from?: readonly string[] | undefined
  /** Default `action`. */
  covers?: 'action' | 'server' | undefined
  /** The user confirmed a second time. Required for `always` together with `covers: 'server'`. */
  confirmed?: boolean | undefined
  /** Milliseconds since 1970. Default: 30 days from now. */
  expiresAt?: number | undefined
}

/** An action that may be covered by a grant. */
export interface GrantLookup {
  server: string
  kind: HostAction['kind']
  name?: string | undefined
  /** The digest of what the user would see. */
  digest: string
  /** The digest of the server and all its definitions. Without it, no grant that covers the server matches. */
  serverDigest?: string | undefined
  /** The servers whose data is in the arguments. */
  from?: readonly string[] | undefined
}

/** Options of `Grants`. */
export interface GrantsOptions {
  /** Where grants with the duration `always` are kept. */
  state: HostState
  /** How long a grant is valid. Default 30 days. */
  lifetimeMs?: number | undefined
}

/**
 * The approvals that a user gave. A grant never widens: it matches only the server, kind, name and digest that it was given for,
 * and only data of servers that it names.
 */
export class Grants {
  readonly #state: HostState
  readonly #lifetimeMs: number
  /** Grants for once or for this session. */
  readonly #session = new Map<string, Grant>()
  #index = new Map<string, Grant[]>()
  #indexed: readonly Grant[] | undefined

  constructor({ state, lifetimeMs = 30 * dayMs }: GrantsOptions) {
    this.#state = state
    this.#lifetimeMs = lifetimeMs
  }

  /**
   * Remembers an approval.
   * @throws TypeError If it is standing and covers a whole server, but was not confirmed.
   */
  async add(approval: NewGrant): Promise<Grant> {
    checkScope(approval)
    const grant = this.#toGrant(approval)
    if (grant.duration === 'always') {
      await this.#state.update((record) => {
        record.grants = [...record.grants.filter((other) => !isExpired(other)), grant]
      })
    } else {
      this.#dropExpired()
      this.#session.set(grant.id, grant)
    }
    this.#indexed = undefined
    return { ...grant }
  }

  /** Returns a grant that covers the action, or undefined. Records its use; a grant with the duration `once` is used up. */
  use(action: GrantLookup): Grant | undefined {
    const found =
      this.#find(keyOf(action, 'action', action.name, action.digest), action) ??
      (action.serverDigest === undefined
        ? undefined
        : this.#find(keyOf(action, 'server', undefined, action.serverDigest), action))
    if (!found) return undefined
    this.#recordUse(found)
    return { ...found }
  }

  /** Returns the grants that are valid now, oldest first. */
  list(): Grant[] {
    return this.#all()
      .filter((grant) => !isExpired(grant))
      .sort((a, b) => a.createdAt - b.createdAt)
      .map((grant) => ({ ...grant }))
  }

  /** Revokes a grant. Returns false if there is none with this id. */
  async revoke(id: string): Promise<boolean> {
    return (await this.#revokeWhere((grant) => grant.id === id)) > 0
  }

  /** Revokes all grants, or those of one server. Returns how many there were. */
  revokeAll(server?: string): Promise<number> {
    return this.#revokeWhere((grant) => server === undefined || grant.server === server)
  }

  async #revokeWhere(matches: (grant: Grant) => boolean): Promise<number> {
    const revoked = new Set<string>()
    for (const grant of [...this.#session.values()].filter(matches)) {
      revoked.add(grant.id)
      this.#session.delete(grant.id)
    }
    this.#indexed = undefined
    // Another process may have added grants, so this looks at the newest record.
    await this.#state.update((record) => {
      for (const grant of record.grants.filter(matches)) revoked.add(grant.id)
      record.grants = record.grants.filter((grant) => !matches(grant))
    })
    return revoked.size
  }

  #find(key: string, { from = [] }: GrantLookup): Grant | undefined {
    this.#refreshIndex()
    return this.#index.get(key)?.find((grant) => !isExpired(grant) && from.every((id) => grant.from.includes(id)))
  }

  #recordUse(grant: Grant): void {
    const before = grant.lastUsedAt ?? Number.NEGATIVE_INFINITY
    grant.lastUsedAt = clock.now()
    if (grant.duration === 'once') {
      this.#session.delete(grant.id)
      this.#indexed = undefined
    } else if (grant.duration === 'always' && grant.lastUsedAt - before >= saveUseEveryMs) {
      this.#saveUse(grant.id, grant.lastUsedAt)
    }
  }

  /** The call does not wait for this, and does not fail with it: only the time of the last use would be wrong. */
  #saveUse(id: string, lastUsedAt: number): void {
    const change = this.#state.update((record) => {
      const saved = record.grants.find((grant) => grant.id === id)
      if (saved) saved.lastUsedAt = lastUsedAt
    })
    change.catch((error: unknown) => warnOnce('grant use', `Cannot save when a grant was last used: ${String(error)}`))
  }

  #toGrant(approval: NewGrant): Grant {
    const { duration, server, kind, name, digest, from = [], covers = 'action', expiresAt, by, program } = approval
    const createdAt = clock.now()
    return {
      id: random.uuid(),
      duration,
      server,
      kind,
      covers,
      ...(covers === 'action' && name !== undefined && { name }),
      digest,
      from: [...new Set(from)].sort(),
      createdAt,
      expiresAt: expiresAt ?? createdAt + this.#lifetimeMs,
      ...(by && { by }),
      ...(program !== undefined && { program }),
    }
  }

  #all(): Grant[] {
    return [...this.#state.record.grants, ...this.#session.values()]
  }

  #dropExpired(): void {
    for (const [id, grant] of this.#session) if (isExpired(grant)) this.#session.delete(id)
  }

  /** Every call looks for a grant, and grants change rarely. */
  #refreshIndex(): void {
    const saved = this.#state.record.grants
    if (this.#indexed === saved) return
    this.#index = new Map()
    for (const grant of this.#all()) {
      const key = keyOf(grant, grant.covers, grant.name, grant.digest)
      this.#index.set(key, [...(this.#index.get(key) ?? []), grant])
    }
    this.#indexed = saved
  }
}

/** Checks a grant that was read from a store. */
export function isGrant(value: unknown): value is Grant {
  if (!isObject(value)) return false
  const { id, duration, server, kind, covers, name, digest, from, createdAt, expiresAt, lastUsedAt } = value
  return (
    [id, server, kind, digest].every((text) => typeof text === 'string') &&
    duration === 'always' &&
    (covers === 'action' || covers === 'server') &&
    (name === undefined || typeof name === 'string') &&
    Array.isArray(from) &&
    from.every((text) => typeof text === 'string') &&
    [createdAt, expiresAt, lastUsedAt ?? 0].every(Number.isFinite) &&
    isApprover(value)
  )
}

const dayMs = 24 * 60 * 60_000

/** How exact the stored time of the last use is. Saving every use would rewrite the file on every call. */
const saveUseEveryMs = 60 * 60_000

function checkScope({ server, digest, covers, duration, confirmed }: NewGrant): void {
  if (!server || !digest) throw new TypeError('A grant requires the id of a server and a digest of what the user saw.')
  if (covers !== 'server' || duration !== 'always' || confirmed === true) return
  throw new TypeError(
    `A standing grant for all of the server "${server}" requires a second confirmation. Ask the user again, then pass confirmed: true.`,
  )
}

function isExpired({ expiresAt }: Grant): boolean {
  return clock.now() >= expiresAt
}

/** Texts of servers cannot collide with each other, because JSON escapes them. */
function keyOf(
  { server, kind }: { server: string; kind: string },
  covers: Grant['covers'],
  name: string | undefined,
  digest: string,
): string {
  return JSON.stringify([server, kind, covers, name, digest])
}
