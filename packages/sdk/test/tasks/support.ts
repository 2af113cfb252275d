import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { McpServer, type McpServerOptions, type ServeHttpOptions } from 'tenon/server'
import { redisStore } from 'tenon/stores/redis'
import { sqliteStore } from 'tenon/stores/sqlite'
import { MemoryTaskStore, type TaskEvent, type TaskStore, type TasksOptions, tasks } from 'tenon/tasks'
import { expect, it } from 'vitest'
import { atFileEnd } from '../kit/file-end.ts'
import { hasRedis, RedisServer } from '../kit/redis-server.ts'
import { serve } from '../kit/serve-http.ts'

import { type Capabilities, TaskPeer } from './peer.ts'

export const legacy = '2025-11-25'
export const modern = '2026-07-28'
export type TaskRevision = typeof legacy | typeof modern
export type StoreName = 'memory' | 'SQLite' | 'Redis'
export type Channel = 'memory' | 'http'

export const extensionId = 'io.modelcontextprotocol/tasks'
export const relatedTask = 'io.modelcontextprotocol/related-task'

/** Options of a tool that always runs as a task where it can. */
export const always = { execution: { taskSupport: 'optional' as const }, taskPolicy: 'always' as const }

/** Client capabilities for every kind of question. */
export const askable: Capabilities = {
  elicitation: { form: {}, url: {} },
  sampling: { tools: {} },
  roots: {},
}

export interface WorldOptions {
  revisions?: readonly TaskRevision[] | undefined
  stores?: readonly StoreName[] | undefined
  channels?: readonly Channel[] | undefined
  timeoutMs?: number | undefined
}

export interface ServerOptions extends TasksOptions {
  server?: McpServerOptions | undefined
}

export interface PeerSetup {
  capabilities?: Capabilities | undefined
  /** False: the client does not declare tasks. */
  hasTasks?: boolean | undefined
  /** The user name sent over HTTP. */
  user?: string | undefined
  channel?: Channel | undefined
  revision?: TaskRevision | undefined
}

/** Registers a test for both task protocols, every store and the given channels. */
export function everyTask(title: string, body: (world: World) => Promise<void>, options: WorldOptions = {}): void {
  const { revisions = [legacy, modern], stores = ['memory', 'SQLite', 'Redis'], channels = ['memory'] } = options
  for (const revision of revisions) {
    for (const store of stores) {
      for (const channel of channels) {
        const isSkipped = store === 'Redis' && !hasRedis
        it.skipIf(isSkipped)(
          `${title} (${revision}, ${store}, ${channel})`,
          async () => {
            await using world = new World(revision, store, channel)
            await body(world)
          },
          options.timeoutMs,
        )
      }
    }
  }
}

/** Registers a test that depends on the protocol and not on the store. */
export function everyDialect(title: string, body: (world: World) => Promise<void>, options: WorldOptions = {}): void {
  everyTask(title, body, { stores: ['memory'], ...options })
}

let redis: Promise<RedisServer> | undefined
let folder: string | undefined
let count = 0

/** Servers that share one store, and their clients. Disposing it closes everything. */
export class World {
  readonly revision: TaskRevision
  readonly isModern: boolean
  readonly channel: Channel
  readonly #store: StoreName
  readonly #name = `world${++count}`
  readonly #memory = new MemoryTaskStore()
  readonly #stores: { close(): void | Promise<void> }[] = []
  readonly #servers: McpServer[] = []
  readonly #peers: TaskPeer[] = []
  readonly #serving = new Map<McpServer, ReturnType<typeof serve>>()
  /** Errors that servers reported. A test that expects errors has to remove them. */
  readonly errors: unknown[] = []

  constructor(revision: TaskRevision, store: StoreName, channel: Channel) {
    this.revision = revision
    this.isModern = revision === modern
    this.channel = channel
    this.#store = store
  }

  /** Opens the store of this world again, as another process would. */
  async openStore(): Promise<TaskStore> {
    if (this.#store === 'memory') return this.#memory
    const opened = this.#store === 'SQLite' ? sqliteStore(this.#file) : await this.#openRedis()
    this.#stores.push(opened)
    return opened.tasks
  }

  /** Creates a server on the shared store. */
  async serve(define: (server: McpServer) => void, { server, ...options }: ServerOptions = {}): Promise<McpServer> {
    const store = options.store ?? (await this.openStore())
    const made = new McpServer(
      { name: 'lab', version: '1.0.0' },
      {
        onError: (error) => this.errors.push(error),
        ...server,
        tasks: tasks({ pollIntervalMs: 20, drainMs: 100, ...options, store }),
      },
    )
    define(made)
    this.#servers.push(made)
    return made
  }

  async peer(server: McpServer, setup: PeerSetup = {}): Promise<TaskPeer> {
    const { capabilities = askable, hasTasks = true, user, channel = this.channel, revision = this.revision } = setup
    const declared =
      hasTasks && revision === modern ? { ...capabilities, extensions: { [extensionId]: {} } } : capabilities
    const where = channel === 'memory' ? server : await this.url(server)
    const peer = await TaskPeer.open(where, revision, declared, user === undefined ? {} : { 'x-user': user })
    this.#peers.push(peer)
    return peer
  }

  /** Serves over HTTP with the name of the caller in a header, and returns the URL. */
  async url(server: McpServer, options: ServeHttpOptions = {}): Promise<string> {
    const serving =
      this.#serving.get(server) ?? serve(server, { principal: (request) => request.header('x-user'), ...options })
    this.#serving.set(server, serving)
    return (await serving).url
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const peer of this.#peers) await peer.close()
    for (const serving of this.#serving.values()) await (await serving).close()
    for (const server of this.#servers) await server.close()
    for (const store of this.#stores) await store.close()
    expect(this.#peers.flatMap(({ problems }) => problems)).toEqual([])
    expect(this.errors).toEqual([])
  }

  get #file(): string {
    folder ??= createFolder()
    return join(folder, `${this.#name}.db`)
  }

  async #openRedis() {
    redis ??= startRedis()
    return redisStore({ url: (await redis).url, prefix: this.#name })
  }
}

/** Until the end of the test file. */
function createFolder(): string {
  const path = mkdtempSync(join(tmpdir(), 'tenon-tasks-'))
  atFileEnd(() => {
    folder = undefined
    rmSync(path, { recursive: true, force: true })
  })
  return path
}

/** Until the end of the test file. */
function startRedis(): Promise<RedisServer> {
  const starting = RedisServer.start()
  atFileEnd(async () => {
    redis = undefined
    await (await starting).close()
  })
  return starting
}

/** Records task events and waits for them. */
export function eventLog() {
  const events: TaskEvent[] = []
  const watchers = new Set<() => void>()
  return {
    events,
    onEvent: (event: TaskEvent) => {
      events.push(event)
      for (const watcher of [...watchers]) watcher()
    },
    until: (type: TaskEvent['type'], times = 1) =>
      new Promise<void>((resolve) => {
        const watcher = () => {
          if (events.filter((event) => event.type === type).length < times) return
          watchers.delete(watcher)
          resolve()
        }
        watchers.add(watcher)
        watcher()
      }),
  }
}
