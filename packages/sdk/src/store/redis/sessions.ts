import type { SessionRecord, SessionStore } from '../ports.ts'
import type { Connections } from './connections.ts'
import type { Keys } from './keys.ts'
import { runScript, type Script } from './scripts.ts'

/** Stores sessions in Redis, which removes expired ones. */
export class RedisSessionStore implements SessionStore {
  readonly #connections: Connections
  readonly #keys: Keys

  constructor(connections: Connections, keys: Keys) {
    this.#connections = connections
    this.#keys = keys
  }

  async get(id: string): Promise<SessionRecord | undefined> {
    const client = await this.#connections.commands()
    const json = await client.get(this.#keys.session(id))
    return json === null ? undefined : JSON.parse(json)
  }

  async set(record: SessionRecord, ttlMs: number): Promise<void> {
    const json = JSON.stringify(record)
    const client = await this.#connections.commands()
    await client.set(this.#keys.session(record.id), json, 'PX', toTtl(ttlMs))
  }

  async replace(record: SessionRecord, ttlMs: number, before: SessionRecord): Promise<boolean> {
    const client = await this.#connections.commands()
    const texts = [JSON.stringify(before), JSON.stringify(record)]
    return (await runScript(client, replaceSession, this.#keys.session(record.id), ...texts, toTtl(ttlMs))) === 1
  }

  async touch(id: string, ttlMs: number): Promise<boolean> {
    const client = await this.#connections.commands()
    return (await client.pexpire(this.#keys.session(id), toTtl(ttlMs))) === 1
  }

  async delete(id: string): Promise<boolean> {
    const client = await this.#connections.commands()
    return (await client.del(this.#keys.session(id))) === 1
  }
}

/** Keys: the session. */
const replaceSession: Script = {
  name: 'replace-session',
  keys: 1,
  lua: `
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
return 1
`,
}

/** The scripts of `RedisSessionStore`. */
export const sessionScripts = [replaceSession]

/** About a hundred years. Redis accepts whole milliseconds only, and not `Infinity`. */
const longestTtlMs = 100 * 365 * 24 * 60 * 60_000

/** Returns a time to live that Redis accepts. */
export function toTtl(ttlMs: number): number {
  return Math.min(longestTtlMs, Math.max(1, Math.ceil(ttlMs)))
}
