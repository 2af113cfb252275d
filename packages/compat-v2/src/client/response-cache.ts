import { isObject } from 'tenon/internal'
import type { ListToolsResult, Tool } from '../core/types.ts'

export type MaybePromise<T> = T | Promise<T>

/** Who may be given a cached result: any user, or only the one that it was requested for. */
export type CacheScope = 'public' | 'private'

/** `use` (default): a fresh entry is returned; `refresh`: always fetches and stores; `bypass`: neither reads nor stores. */
export type CacheMode = 'use' | 'refresh' | 'bypass'

/** The address of an entry. `partition` contains the server and, for private results, the user. */
export interface CacheKey {
  readonly method: string
  readonly params?: string
  readonly partition?: string
}

/** A stored result. `stamp` changes with each write. */
export interface CacheEntry {
  readonly value: string
  readonly stamp: number
  readonly expiresAt?: number
  readonly scope?: CacheScope
}

type NewEntry = { value: string; expiresAt?: number; scope?: CacheScope }

/** Where a client stores results. Several clients may share one. */
export interface ResponseCacheStore {
  get(key: CacheKey): MaybePromise<CacheEntry | undefined>
  /** Stores an entry and returns its stamp. */
  set(key: CacheKey, entry: NewEntry): MaybePromise<number>
  delete(key: CacheKey): MaybePromise<void>
  /** Removes the entries of a method, of all servers and users. */
  evict(method: string): MaybePromise<void>
  clear(): MaybePromise<void>
}

export interface InMemoryResponseCacheStoreOptions {
  /** How many results of `resources/read` are kept. 0: no limit. Default 512. */
  maxEntries?: number
}

/** Servers cannot make results live longer than this. */
export const MAX_CACHE_TTL_MS = 86_400_000

const unlimitedMethods = new Set([
  'tools/list',
  'prompts/list',
  'resources/list',
  'resources/templates/list',
  'server/discover',
])

/** Stores results in memory. */
export class InMemoryResponseCacheStore implements ResponseCacheStore {
  private readonly _tenonLists = new Map<string, CacheEntry>()
  private readonly _tenonOthers = new Map<string, CacheEntry>()
  private readonly _maxEntries: number
  private _stamp = 0

  constructor({ maxEntries = 512 }: InMemoryResponseCacheStoreOptions = {}) {
    this._maxEntries = maxEntries
  }

  get size(): number {
    return this._tenonLists.size + this._tenonOthers.size
  }

  get(key: CacheKey): CacheEntry | undefined {
    return this._entries(key.method).get(textOf(key))
  }

  set(key: CacheKey, entry: NewEntry): number {
    const entries = this._entries(key.method)
    const text = textOf(key)
    const isFull = entries === this._tenonOthers && this._maxEntries > 0 && entries.size >= this._maxEntries
    const [oldest] = entries.keys()
    if (isFull && !entries.has(text) && oldest !== undefined) entries.delete(oldest)
    const stamp = ++this._stamp
    entries.set(text, { ...entry, stamp })
    return stamp
  }

  delete(key: CacheKey): void {
    this._entries(key.method).delete(textOf(key))
  }

  evict(method: string): void {
    const entries = this._entries(method)
    for (const text of [...entries.keys()]) if (text.startsWith(`${method}\0`)) entries.delete(text)
  }

  clear(): void {
    this._tenonLists.clear()
    this._tenonOthers.clear()
  }

  private _entries(method: string): Map<string, CacheEntry> {
    return unlimitedMethods.has(method) ? this._tenonLists : this._tenonOthers
  }
}

function textOf({ method, params = '', partition = '' }: CacheKey): string {
  return `${method}\0${JSON.stringify([partition, params])}`
}

export interface ResponseCacheOptions {
  readonly store: ResponseCacheStore
  /** Whether the store belongs to this client alone, so that it is cleared for a new connection. */
  readonly isOwn: boolean
  /** The user, for private results. */
  readonly user: string
  readonly defaultTtlMs: number
  onError(error: unknown): void
}

/** How long a result may be used, and by whom. */
export interface Freshness {
  readonly expiresAt: number
  readonly scope: CacheScope
}

/** The results that a client keeps, and what it derives from the list of tools. */
export class ResponseCache {
  private readonly _options: ResponseCacheOptions
  /** Counts removals, so that a result that was requested before one is not stored after it. */
  private readonly _removals = new Map<string, number>()
  private _server = ''
  private _tools: { stamp: number; byName: Map<string, Tool> } | undefined
  private _derived = new WeakMap<Tool, unknown>()

  constructor(options: ResponseCacheOptions) {
    this._options = options
  }

  /** Names the server that results belong to. */
  setServer(name: string): void {
    this._server = name
  }

  reset(): void {
    if (this._options.isOwn) void this._options.store.clear()
    this._removals.clear()
    this._tools = undefined
    this._server = ''
  }

  /** Reads the hints of a result. Without hints, it is private and expires at once. */
  freshnessOf(result: object): Freshness {
    const { ttlMs: hint, cacheScope } = result as { ttlMs?: unknown; cacheScope?: unknown }
    const ttlMs = typeof hint === 'number' ? hint : this._options.defaultTtlMs
    const lifetimeMs = Math.min(Math.max(0, ttlMs), MAX_CACHE_TTL_MS)
    return { expiresAt: Date.now() + lifetimeMs, scope: cacheScope === 'public' ? 'public' : 'private' }
  }

  /** Returns a result that has not expired. */
  async read(method: string, params = ''): Promise<unknown> {
    const entry = await this._find(method, params)
    if (entry?.expiresAt === undefined || entry.expiresAt <= Date.now()) return undefined
    try {
      const value = JSON.parse(entry.value)
      if (!isObject(value)) throw new TypeError('The cached result is not an object')
      return value
    } catch (error) {
      this._options.onError(error)
      await this._delete(method, params)
      return undefined
    }
  }

  /** Returns a number to pass to `write`, before the result is requested. */
  begin(method: string, params = ''): number {
    const key = textOf({ method, params })
    const removals = this._removals.get(key) ?? 0
    this._removals.set(key, removals)
    return removals
  }

  /** Stores a result, unless it was removed since `begin`. */
  async write(method: string, params: string, value: unknown, begun: number, freshness: Freshness): Promise<void> {
    if ((this._removals.get(textOf({ method, params })) ?? 0) !== begun) return
    const { store, onError } = this._options
    const partition = this._partition(freshness.scope)
    const other = this._partition(freshness.scope === 'public' ? 'private' : 'public')
    try {
      await store.set({ method, params, partition }, { value: JSON.stringify(value), ...freshness })
      if (other !== partition) await store.delete({ method, params, partition: other })
    } catch (error) {
      onError(error)
    }
  }

  async remove(method: string, params = ''): Promise<void> {
    const key = textOf({ method, params })
    // Only what is being requested needs a count, so that URIs of a server cannot fill the memory.
    if (params === '' || this._removals.has(key)) this._removals.set(key, (this._removals.get(key) ?? 0) + 1)
    await this._delete(method, params)
  }

  /** Returns a tool of the last list, however old that is. */
  async tool(name: string): Promise<Tool | undefined> {
    const entry = await this._find('tools/list', '')
    if (!entry) return undefined
    if (this._tools?.stamp !== entry.stamp) {
      this._tools = { stamp: entry.stamp, byName: new Map(this._toolsOf(entry).map((tool) => [tool.name, tool])) }
    }
    return this._tools.byName.get(name)
  }

  /** Computes a value of each tool of the list once, and returns that of one tool. */
  derive<T>(tool: Tool, compute: (tool: Tool) => T): T {
    for (const each of this._tools?.byName.values() ?? []) {
      if (!this._derived.has(each)) this._derived.set(each, compute(each))
    }
    return (this._derived.has(tool) ? this._derived.get(tool) : compute(tool)) as T
  }

  private _toolsOf({ value }: CacheEntry): Tool[] {
    try {
      const { tools } = JSON.parse(value) as ListToolsResult
      if (!Array.isArray(tools) || !tools.every(isObject)) throw new TypeError('The cached list of tools is malformed')
      return tools
    } catch (error) {
      this._options.onError(error)
      return []
    }
  }

  private async _find(method: string, params: string): Promise<CacheEntry | undefined> {
    const { store } = this._options
    const own = this._partition('private')
    const shared = this._partition('public')
    const entry = await store.get({ method, params, partition: own })
    if (entry || own === shared) return entry
    const other = await store.get({ method, params, partition: shared })
    return other?.scope === 'public' ? other : undefined
  }

  private async _delete(method: string, params: string): Promise<void> {
    const { store, onError } = this._options
    for (const partition of new Set([this._partition('private'), this._partition('public')])) {
      try {
        await store.delete({ method, params, partition })
      } catch (error) {
        onError(error)
      }
    }
  }

  /** JSON, so that no name of a server can look like that of another user. */
  private _partition(scope: CacheScope): string {
    return JSON.stringify([this._server, scope === 'public' ? '' : this._options.user])
  }
}
