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

export interface RedisStoreOptions extends ConnectionOptions {
  /**
   * What all keys and channels begin with, in braces, so that they are on one node of a cluster. Use one prefix for all processes
   * of a server, and another for each other server: whoever shares a prefix shares sessions, tasks, events and the bus.
   */
  prefix: string
  /** Limits of what is kept of event streams. */
  events?: RedisEventStoreOptions | undefined
  /** Told what goes wrong where nobody waits for it, as when the connection is lost. Default: a warning, once per process. */
  onError?: ((error: unknown) => void) | undefined
}

/** Everything a server keeps, in one Redis for any number of processes. */
export interface RedisStore {
  readonly tasks: TaskStore
  readonly sessions: SessionStore
  readonly events: EventStore
  readonly values: ValueStore
  readonly bus: Bus
  /** Ends all connections that the store opened. Stop workers first, or the tasks they run are run again elsewhere. */
  close(): Promise<void>
}

/**
 * Keeps tasks, sessions, events, values and the bus in Redis (6.2 or newer). It connects when it is first used; `ioredis` must be
 * installed, and `bullmq` for tasks.
 *
 * ```ts
 * const store = redisStore({ url: 'redis://127.0.0.1:6379', prefix: 'my-server' })
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
  const channels = new Channels(() => connections.another(), onError)
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
  warnOnce('redis-store', `Redis: ${error}. Pass onError to hear of all failures.`)
}
