import { McpError } from '../../errors.ts'
import { warnOnce } from '../../util/warn.ts'
import type { Bus, EventStore, SessionStore, TaskStore, ValueStore } from '../ports.ts'
import { RedisBus } from './bus.ts'
import { Channels } from './channels.ts'
import { type ConnectionOptions, Connections } from './connections.ts'
import { eventScripts, RedisEventStore, type RedisEventStoreOptions } from './events.ts'
import { Keys } from './keys.ts'
import { RedisSessionStore, sessionScripts } from './sessions.ts'
import { taskScripts } from './task-scripts.ts'
import { RedisTaskStore } from './tasks.ts'
import { RedisValueStore } from './values.ts'

/** Options of `redisStore()`. */
export interface RedisStoreOptions extends ConnectionOptions {
  /**
   * The prefix of all keys and channels. It is written in braces, so that all keys are on one node of a cluster. Use
   * the same prefix for all processes of a server and a different one for each server: processes with the same prefix
   * share sessions, tasks, events and the bus.
   */
  prefix: string
  /** Limits of event streams. */
  events?: RedisEventStoreOptions | undefined
  /** Called with background errors, such as a lost connection. Default: logs a warning once per process. */
  onError?: ((error: unknown) => void) | undefined
}

/** The stores of a server in Redis, shared by any number of processes. */
export interface RedisStore {
  readonly tasks: TaskStore
  readonly sessions: SessionStore
  readonly events: EventStore
  readonly values: ValueStore
  readonly bus: Bus
  /** Closes all connections of the store. Stop the workers first, or their running tasks run again elsewhere. */
  close(): Promise<void>
}

/**
 * Creates stores for tasks, sessions, events and values, and a message bus, in Redis 6.2 or newer. It connects on first
 * use. Install `ioredis`, and `bullmq` for tasks.
 *
 * @example
 * ```ts
 * const store = redisStore({ url: 'redis://127.0.0.1:6379', prefix: 'my-server' })
 * const server = new McpServer({ name: 'demo', version: '1.0.0' }, { tasks: tasks({ store: store.tasks }) })
 * await serveHttp(server, { sessionStore: store.sessions, eventStore: store.events, bus: store.bus })
 * ```
 */
export function redisStore(options: RedisStoreOptions): RedisStore {
  const { prefix, onError = warn } = (options ?? {}) as RedisStoreOptions
  if (typeof prefix !== 'string' || prefix === '' || /[{}]/.test(prefix)) {
    throw new McpError(
      'invalid-argument',
      `redisStore({ prefix }) must be text without braces, got ${JSON.stringify(prefix)}. ` +
        'Choose one for each server, for example its name: servers with the same prefix share sessions and tasks.',
    )
  }
  const keys = new Keys(prefix)
  const connections = new Connections(options, [...taskScripts, ...eventScripts, ...sessionScripts], onError)
  const channels = new Channels(() => connections.openBlocking(), onError)
  const tasks = new RedisTaskStore(connections, channels, keys, onError)
  return {
    tasks,
    sessions: new RedisSessionStore(connections, keys),
    events: new RedisEventStore(connections, keys, options.events),
    values: new RedisValueStore(connections, keys),
    bus: new RedisBus(connections, channels, keys),
    async close() {
      await tasks.close()
      channels.close()
      await connections.close()
    },
  }
}

function warn(error: unknown): void {
  warnOnce('redis-store', `Redis error: ${error}. Pass "onError" to receive all errors.`)
}
