import type { Cluster, Redis, RedisOptions } from 'ioredis'
import { McpError } from '../../errors.ts'
import { runDetached } from '../../util/maybe-async.ts'
import { defineScripts, type Script } from './scripts.ts'

/** A connection. A cluster supports the same commands, as far as they are used here. */
export type Client = Redis

/** How to connect to Redis. */
export interface ConnectionOptions {
  /** The URL of Redis. Default `redis://127.0.0.1:6379`. */
  url?: string | undefined
  /**
   * Your own ioredis client or cluster, which the store uses for commands and never closes, or options for a new
   * client. Default: a new client with the defaults of ioredis.
   */
  connection?: Redis | Cluster | RedisOptions | undefined
}

/** The connections of a store: one for commands, and separate ones for blocking uses (subscriptions and workers). */
export class Connections {
  readonly #options: ConnectionOptions
  readonly #scripts: readonly Script[]
  readonly #report: (error: unknown) => void
  readonly #opened = new Set<Client>()
  #commands: Promise<Client> | undefined
  #isClosed = false

  /** @param scripts Defined as commands on the connection for commands. */
  constructor(options: ConnectionOptions, scripts: readonly Script[], report: (error: unknown) => void) {
    this.#options = options
    this.#scripts = scripts
    this.#report = report
  }

  /**
   * Returns the connection for commands. They fail if Redis is unavailable for some time (`maxRetriesPerRequest` of
   * ioredis).
   */
  commands(): Promise<Client> {
    if (this.#isClosed) return Promise.reject(new McpError('closed', 'The store is closed'))
    this.#commands ??= this.#open().then((client) => this.#prepare(client))
    return this.#commands
  }

  /** Opens a connection on which commands wait while Redis is unavailable, for subscriptions and workers. */
  async openBlocking(): Promise<Client> {
    const commands = await this.commands()
    return this.#track(
      isCluster(commands) ? duplicateCluster(commands) : commands.duplicate({ maxRetriesPerRequest: null }),
    )
  }

  /** Closes a connection that `openBlocking` opened. */
  async release(client: Client): Promise<void> {
    this.#opened.delete(client)
    await end(client)
  }

  async close(): Promise<void> {
    this.#isClosed = true
    await this.#commands?.catch(() => {})
    await Promise.all([...this.#opened].map((client) => this.release(client)))
  }

  async #open(): Promise<Client> {
    const { connection, url = 'redis://127.0.0.1:6379' } = this.#options
    if (isClient(connection)) return connection as Client
    const { Redis } = await load(() => import('ioredis'), 'ioredis')
    const hasAddress = connection?.host !== undefined || connection?.path !== undefined || connection?.sentinels
    const useUrl = this.#options.url !== undefined || !hasAddress
    return this.#track(useUrl ? new Redis(url, connection ?? {}) : new Redis(connection ?? {}))
  }

  #prepare(client: Client): Client {
    if (client.options.keyPrefix) {
      throw new McpError(
        'invalid-argument',
        'BullMQ does not support "keyPrefix" of ioredis. Use the "prefix" option of redisStore() instead.',
      )
    }
    defineScripts(client, this.#scripts)
    return client
  }

  #track(client: Client): Client {
    // Without a listener, ioredis logs every failed connection attempt to the console.
    client.on('error', (error) => {
      if (!this.#isClosed) this.#report(error)
    })
    this.#opened.add(client)
    return client
  }
}

/** Loads a package that only users of this store need. */
export async function load<T>(get: () => Promise<T>, name: string): Promise<T> {
  try {
    return await get()
  } catch (cause) {
    throw new McpError(
      'invalid-argument',
      `redisStore() requires the package "${name}". Run "npm install ioredis bullmq".`,
      {
        cause,
      },
    )
  }
}

/** A cluster accepts commands in the state `connect` too. */
export function isConnected(client: Client): boolean {
  return client.status === 'ready' || (isCluster(client) && client.status === 'connect')
}

async function end(client: Client): Promise<void> {
  // `quit` lets pending commands finish, but without a connection it would wait for one.
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

function duplicateCluster(client: Client): Client {
  const cluster = client as unknown as Cluster
  const redisOptions = { ...cluster.options.redisOptions, maxRetriesPerRequest: null }
  return cluster.duplicate([], { ...cluster.options, redisOptions }) as unknown as Client
}
