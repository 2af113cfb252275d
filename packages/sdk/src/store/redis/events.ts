import { McpError } from '../../errors.ts'
import { type EventReceiver, type EventStore, UnknownEventError } from '../ports.ts'
import type { Client, Connections } from './connections.ts'
import type { Keys } from './keys.ts'
import { clock, runScript, type Script } from './scripts.ts'
import { toTtl } from './sessions.ts'

/** Limits of event streams in Redis. */
export interface RedisEventStoreOptions {
  /** Maximum number of events per stream. Beyond it the oldest are removed. Default 1,000. */
  maxEventsPerStream?: number | undefined
  /** How long a stream is kept after its last event. Default 5 minutes. */
  maxAgeMs?: number | undefined
}

/** Stores events in Redis, one Redis stream per event stream. Events are removed only at the start of a stream. */
export class RedisEventStore implements EventStore {
  readonly #connections: Connections
  readonly #keys: Keys
  readonly #maxEventsPerStream: number
  readonly #maxAgeMs: number

  constructor(connections: Connections, keys: Keys, options: RedisEventStoreOptions = {}) {
    this.#connections = connections
    this.#keys = keys
    this.#maxEventsPerStream = options.maxEventsPerStream ?? 1_000
    this.#maxAgeMs = toTtl(options.maxAgeMs ?? 5 * 60_000)
  }

  async storeEvent(streamId: string, message: unknown): Promise<string> {
    const [kind, text] = toFields(message)
    const client = await this.#connections.commands()
    const keys = [this.#keys.events(streamId), this.#keys.streams(groupOf(streamId)), this.#keys.lastEvent]
    const limits = [this.#maxEventsPerStream, this.#maxAgeMs]
    const number = await runScript(client, storeEvent, ...keys, streamId, kind, text, ...limits)
    return `${streamId}/${number}`
  }

  async replayEventsAfter(lastEventId: string, to: EventReceiver): Promise<string> {
    const position = parseEventId(lastEventId)
    if (!position) throw new UnknownEventError(lastEventId)
    const client = await this.#connections.commands()
    const key = this.#keys.events(position.streamId)
    // Stop at the newest event at the start, so that a receiver that stores events does not make this endless.
    const last = (await client.xrevrange(key, '+', '-', 'COUNT', 1))[0]?.[0] ?? '0-0'
    await replay(client, key, position, last, to)
    return position.streamId
  }

  async forget(prefix: string): Promise<void> {
    const client = await this.#connections.commands()
    await runScript(client, forgetStreams, this.#keys.streams(groupOf(prefix)), this.#keys.root, prefix)
  }
}

interface EventPosition {
  readonly streamId: string
  readonly number: string
}

/** Events to read at a time. */
const pageLength = 100

async function replay(
  client: Client,
  key: string,
  position: EventPosition,
  last: string,
  to: EventReceiver,
): Promise<void> {
  for (let from = `${position.number}-0`; ; ) {
    const found = await client.xrange(key, from, last, 'COUNT', pageLength)
    // If the event is gone, some of the events after it may be gone too.
    if (found[0]?.[0] !== from) throw new UnknownEventError(`${position.streamId}/${from.slice(0, -2)}`)
    for (const [entryId, fields] of found.slice(1)) {
      await to.send(`${position.streamId}/${entryId.slice(0, -2)}`, fromFields(fields))
    }
    if (found.length < pageLength) return
    from = found.at(-1)?.[0] ?? last
  }
}

/** Keys: events, streams of the group, last event. Returns the number of the event. */
const storeEvent: Script = {
  name: 'store-event',
  keys: 3,
  lua: `${clock}
local streamId, kind, content, maxEvents, maxAgeMs = unpack(ARGV)
local at = now()
-- One counter for all streams, so that the ids of a forgotten stream are not used again. It follows the time, so that
-- ids are not used again either if Redis loses the counter.
local number = text(math.max(tonumber(redis.call('GET', KEYS[3]) or 0) + 1, at * 1000))
redis.call('SET', KEYS[3], number)
redis.call('XADD', KEYS[1], 'MAXLEN', maxEvents, number .. '-0', kind, content)
redis.call('PEXPIRE', KEYS[1], maxAgeMs)
redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', text(at))
redis.call('ZADD', KEYS[2], text(at + maxAgeMs), streamId)
redis.call('PEXPIRE', KEYS[2], maxAgeMs)
return number
`,
}

/** Keys: streams of the group. */
const forgetStreams: Script = {
  name: 'forget-streams',
  keys: 1,
  lua: `
local root, prefix = unpack(ARGV)
local below = string.sub(prefix, -1) == '/' and prefix or prefix .. '/'
for _, streamId in ipairs(redis.call('ZRANGE', KEYS[1], 0, -1)) do
  if streamId == prefix or string.sub(streamId, 1, #below) == below then
    redis.call('DEL', root .. ':events:' .. streamId)
    redis.call('ZREM', KEYS[1], streamId)
  end
end
`,
}

/** The scripts of `RedisEventStore`. */
export const eventScripts = [storeEvent, forgetStreams]

function parseEventId(eventId: string): EventPosition | undefined {
  const slash = eventId.lastIndexOf('/')
  const number = eventId.slice(slash + 1)
  // Accept a number only in the form in which it was issued.
  if (slash < 0 || !/^[1-9]\d{0,15}$/.test(number)) return undefined
  return { streamId: eventId.slice(0, slash), number }
}

function groupOf(id: string): string {
  const slash = id.indexOf('/')
  return slash < 0 ? id : id.slice(0, slash)
}

function toFields(message: unknown): [kind: 'text' | 'json', text: string] {
  if (typeof message === 'string') return ['text', message]
  const json = JSON.stringify(message)
  if (json === undefined) throw new McpError('invalid-argument', 'An event must be text or a JSON value')
  return ['json', json]
}

function fromFields([kind, text = '']: string[]): unknown {
  return kind === 'json' ? JSON.parse(text) : text
}
