import { McpError } from '../errors.ts'
import { isObject, type JsonObject } from '../util/objects.ts'
import { type Approver, isApprover } from './approver.ts'
import { type Grant, isGrant } from './grants.ts'

/** What a host remembers between runs. */
export interface HostRecord {
  version: 1
  /** Standing approvals. */
  grants: Grant[]
  /** The definitions that the user approved, by server id. */
  pins: Record<string, unknown>
  /** The command line or URL that the user approved, by server id. */
  connections: Record<string, ApprovedConnection>
}

/** A command line or URL that was approved. */
export interface ApprovedConnection extends Approver {
  /** Also covers values of environment variables, so these are salted: nobody can guess secrets from the store. */
  digest: string
  /** Undefined if no values are covered. */
  salt?: string | undefined
  /** The complete text that was approved. */
  target: string
}

/** Keeps what a host remembers. `fileHostStore` is one in a file. */
export interface HostStore {
  /** Returns undefined if nothing was saved yet. Rejects if the record cannot be read: a host must not start without its pins. */
  load(): Promise<HostRecord | undefined>
  /**
   * Saves a record that `load` returned. Only what changed since then is written, so that the changes of others are kept. A record
   * that was not loaded is added to what is there.
   */
  save(record: HostRecord): Promise<void>
}

/** Creates a store in memory. Grants of the kind `always` last as long as the store. */
export function memoryHostStore(): HostStore {
  const loaded = new LoadedRecords()
  let saved: HostRecord | undefined
  return {
    load: async () => saved && loaded.remember(copyRecord(saved)),
    save: async (record) => {
      saved = loaded.merge(record, saved)
      loaded.remember(record)
    },
  }
}

/** Remembers how records were when they were loaded, to find out later what was changed in them. */
export class LoadedRecords {
  readonly #originals = new WeakMap<HostRecord, HostRecord>()

  remember(record: HostRecord): HostRecord {
    this.#originals.set(record, copyRecord(record))
    return record
  }

  /** Returns the current record with the changes of this one. */
  merge(record: HostRecord, current: HostRecord | undefined): HostRecord {
    return mergeRecords(this.#originals.get(record) ?? emptyRecord(), record, current ?? emptyRecord())
  }
}

/**
 * The record of a host in use. All parts of a host change it here, one after the other, so that none overwrites the changes of
 * another.
 */
export class HostState {
  readonly #store: HostStore
  #record: HostRecord
  #last: Promise<unknown> = Promise.resolve()

  /** Loads the record. Rejects if it cannot be read. */
  static async open(store: HostStore): Promise<HostState> {
    return new HostState(store, (await store.load()) ?? emptyRecord())
  }

  /** Creates an empty record that lasts as long as the process. */
  static inMemory(): HostState {
    return new HostState(memoryHostStore(), emptyRecord())
  }

  private constructor(store: HostStore, record: HostRecord) {
    this.#store = store
    this.#record = record
  }

  /** The record as it was last loaded or saved. Change it by `update` only. */
  get record(): Readonly<HostRecord> {
    return this.#record
  }

  /** Changes the newest record and saves it. If saving fails, nothing changes. */
  update(change: (record: HostRecord) => void): Promise<void> {
    return this.#next(async () => {
      const record = (await this.#store.load()) ?? emptyRecord()
      change(record)
      await this.#store.save(record)
      this.#record = record
    })
  }

  /** Loads the record again, because another process may have changed it. */
  reload(): Promise<void> {
    return this.#next(async () => {
      this.#record = (await this.#store.load()) ?? emptyRecord()
    })
  }

  #next(work: () => Promise<void>): Promise<void> {
    const done = this.#last.then(work)
    this.#last = done.catch(() => {})
    return done
  }
}

/** Returns a record in which nothing is approved. */
export function emptyRecord(): HostRecord {
  return { version: 1, grants: [], pins: Object.create(null), connections: Object.create(null) }
}

/** Returns an independent copy. Server ids are keys, so the copies of `pins` and `connections` have no prototype. */
export function copyRecord({ grants, pins, connections }: HostRecord): HostRecord {
  const copy = emptyRecord()
  copy.grants = structuredClone(grants)
  for (const [id, pin] of Object.entries(pins)) copy.pins[id] = structuredClone(pin)
  for (const [id, connection] of Object.entries(connections)) copy.connections[id] = structuredClone(connection)
  return copy
}

/** Checks a record that was read. Throws an error that says what is wrong with it. */
export function parseRecord(value: unknown): HostRecord {
  if (!isObject(value)) throw invalidRecord('it is not an object')
  const { version, grants, pins, connections } = value
  if (version !== 1)
    throw invalidRecord(`its version is ${JSON.stringify(version)?.slice(0, 20)}, but this program reads 1`)
  if (!Array.isArray(grants) || !grants.every(isGrant)) throw invalidRecord('"grants" is not a list of grants')
  if (!isObject(pins)) throw invalidRecord('"pins" is not an object')
  if (!isConnections(connections)) throw invalidRecord('"connections" is not an object of digests and targets')
  return copyRecord({ version, grants, pins, connections })
}

/**
 * Applies the changes between two records to a third. Removals win: a grant that another process revoked must not come back
 * because this one recorded its use.
 */
function mergeRecords(before: HostRecord, after: HostRecord, current: HostRecord): HostRecord {
  const merged = emptyRecord()
  const grants = mergeMembers(byId(before.grants), byId(after.grants), byId(current.grants))
  merged.grants = Object.values(grants)
  merged.pins = mergeMembers(before.pins, after.pins, current.pins)
  merged.connections = mergeMembers(before.connections, after.connections, current.connections)
  return copyRecord(merged)
}

type Members<T> = Record<string, T>

function mergeMembers<T>(before: Members<T>, after: Members<T>, current: Members<T>): Members<T> {
  const merged: Members<T> = Object.assign(Object.create(null), current)
  for (const key of new Set([...Object.keys(before), ...Object.keys(after)])) {
    if (isSame(before[key], after[key])) continue
    const value = after[key]
    const wasRemovedByOther = before[key] !== undefined && current[key] === undefined
    if (value === undefined || wasRemovedByOther) delete merged[key]
    else merged[key] = value
  }
  return merged
}

function byId(grants: readonly Grant[]): Members<Grant> {
  const members: Members<Grant> = Object.create(null)
  for (const grant of grants) members[grant.id] = grant
  return members
}

function isSame(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b)
}

function isConnections(value: unknown): value is HostRecord['connections'] {
  return isObject(value) && Object.values(value).every(isConnection)
}

function isConnection(value: unknown): boolean {
  return (
    isObject(value) && isText(value, 'digest') && isText(value, 'target') && isSalt(value.salt) && isApprover(value)
  )
}

function isSalt(value: unknown): boolean {
  return value === undefined || typeof value === 'string'
}

function isText(value: JsonObject, key: string): boolean {
  return typeof value[key] === 'string'
}

function invalidRecord(problem: string): McpError {
  return new McpError('invalid-argument', problem)
}
