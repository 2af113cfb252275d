import type { Cluster, Redis, RedisOptions } from 'ioredis'
import { McpError } from '../../errors.ts'
import { runDetached } from '../../util/run-detached.ts'
import { defineScripts, type Script } from './scripts.ts'

/** A connection. A cluster has the same commands, as far as they are used here. */
export type Client = Redis

export interface ConnectionOptions {
  /** Where Redis is. Default `redis://127.0.0.1:6379`. */
  url?: string | undefined
  /**
   * An ioredis client or cluster of one's own, which is used for commands and never closed; or options for a new one.
   * Default: a new one with the defaults of ioredis.
   */
  connection?: Redis | Cluster | RedisOptions | undefined
}

/** The connections of a store: one for commands, and more for what would get in the way of commands. */
export class Connections {
  readonly #options: ConnectionOptions
  readonly #scripts: readonly Script[]
  readonly #report: (error: unknown) => void
  readonly #own = new Set<Client>()
  #commands: Promise<Client> | undefined
  #isClosed = false

  /** @param scripts What shall be commands of the connection for commands. */
  constructor(options: ConnectionOptions, scripts: readonly Script[], report: (error: unknown) => void) {
    this.#options = options
    this.#scripts = scripts
    this.#report = report
  }

  /** For commands. They fail when Redis is not there for some time (`maxRetriesPerRequest` of ioredis). */
  commands(): Promise<Client> {
    if (this.#isClosed) return Promise.reject(new McpError('closed', 'The Redis store is closed'))
    this.#commands ??= this.#open().then((client) => this.#prepare(client))
    return this.#commands
  }

  /** Another one, on which commands wait for as long as Redis is away: for subscriptions and for workers. */
  async another(): Promise<Client> {
    const commands = await this.commands()
    return this.#keep(
      isCluster(commands) ? patientCluster(commands) : commands.duplicate({ maxRetriesPerRequest: null }),
    )
  }

  /** Closes one that `another` gave. */
  async release(client: Client): Promise<void> {
    this.#own.delete(client)
    await end(client)
  }

  async close(): Promise<void> {
    this.#isClosed = true
    await this.#commands?.catch(() => {})
    await Promise.all([...this.#own].map((client) => this.release(client)))
  }

  async #open(): Promise<Client> {
    const { connection, url = 'redis://127.0.0.1:6379' } = this.#options
    if (isClient(connection)) return connection as Client
    const { Redis } = await load(() => import('ioredis'), 'ioredis')
    const isElsewhere = connection?.host !== undefined || connection?.path !== undefined || connection?.sentinels
    const useUrl = this.#options.url !== undefined || !isElsewhere
    return this.#keep(useUrl ? new Redis(url, connection ?? {}) : new Redis(connection ?? {}))
  }

  #prepare(client: Client): Client {
    if (client.options.keyPrefix) {
      throw new McpError('invalid-argument', 'BullMQ does not work with keyPrefix of ioredis; use the option prefix')
    }
    defineScripts(client, this.#scripts)
    return client
  }

  #keep(client: Client): Client {
    // Without a listener ioredis writes every failed attempt to connect to the console.
    client.on('error', (error) => {
      if (!this.#isClosed) this.#report(error)
    })
    this.#own.add(client)
    return client
  }
}

/** Loads a package that only users of this store need. */
export async function load<T>(get: () => Promise<T>, name: string): Promise<T> {
  try {
    return await get()
  } catch (cause) {
    throw new McpError('invalid-argument', `The Redis store needs the package ${name}: npm install ioredis bullmq`, {
      cause,
    })
  }
}

/** In a cluster, `connect` is as good as `ready`. */
export function isConnected(client: Client): boolean {
  return client.status === 'ready' || (isCluster(client) && client.status === 'connect')
}

async function end(client: Client): Promise<void> {
  // `quit` lets commands under way finish; without a connection it would wait for one.
  if (isConnected(client))
    await runDetached(
      () => client.quit(),
      () => {},
    )
  client.disconnect()
}

function isClient(connection: ConnectionOptions['connection']): connection is Redis | Cluster {
  return typeof (connection as { duplicate?: unknown } | undefined)?.duplicate === 'function'
}

function isCluster(client: Client): boolean {
  return (client as { isCluster?: boolean }).isCluster === true
}

function patientCluster(client: Client): Client {
  const cluster = client as unknown as Cluster
  const redisOptions = { ...cluster.options.redisOptions, maxRetriesPerRequest: null }
  return cluster.duplicate([], { ...cluster.options, redisOptions }) as unknown as Client
}
