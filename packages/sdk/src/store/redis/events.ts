import { McpError } from '../../errors.ts'
import { type EventReceiver, type EventStore, UnknownEvent } from '../ports.ts'
import type { Client, Connections } from './connections.ts'
import type { Keys } from './keys.ts'
import { clock, runScript, type Script } from './scripts.ts'
import { toTtl } from './sessions.ts'

export interface RedisEventStoreOptions {
  /** Events kept of one stream; beyond it the oldest go. Default 1,000. */
  maxEventsPerStream?: number | undefined
  /** How long a stream is kept after its last event. Default 5 minutes. */
  maxAgeMs?: number | undefined
}

/** Events in Redis, a stream of Redis for each. What is left of one is always its unbroken end. */
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
    const place = parseEventId(lastEventId)
    if (!place) throw new UnknownEvent(lastEventId)
    const client = await this.#connections.commands()
    const key = this.#keys.events(place.streamId)
    // Up to the event that is the newest now: a receiver that stores events cannot keep it going.
    const last = (await client.xrevrange(key, '+', '-', 'COUNT', 1))[0]?.[0] ?? '0-0'
    await replay(client, key, place, last, to)
    return place.streamId
  }

  async forget(prefix: string): Promise<void> {
    const client = await this.#connections.commands()
    await runScript(client, forgetStreams, this.#keys.streams(groupOf(prefix)), this.#keys.root, prefix)
  }
}

interface Place {
  readonly streamId: string
  readonly number: string
}

/** Events that are read in one go. */
const lot = 100

async function replay(client: Client, key: string, place: Place, last: string, to: EventReceiver): Promise<void> {
  for (let from = `${place.number}-0`; ; ) {
    const found = await client.xrange(key, from, last, 'COUNT', lot)
    // The event to go on from must be there still, or some of what followed it may be gone.
    if (found[0]?.[0] !== from) throw new UnknownEvent(`${place.streamId}/${from.slice(0, -2)}`)
    for (const [entryId, fields] of found.slice(1)) {
      await to.send(`${place.streamId}/${entryId.slice(0, -2)}`, fromFields(fields))
    }
    if (found.length < lot) return
    from = found.at(-1)?.[0] ?? last
  }
}

/** Keys: events, streams of the group, last event. Gives the number of the event. */
const storeEvent: Script = {
  name: 'store-event',
  keys: 3,
  lua: `${clock}
local streamId, kind, content, maxEvents, maxAgeMs = unpack(ARGV)
local at = now()
-- One count for all streams, so that a forgotten stream repeats no id. It keeps up with the time, so that nothing is
-- repeated either when Redis has lost the count.
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

export const eventScripts = [storeEvent, forgetStreams]

function parseEventId(eventId: string): Place | undefined {
  const slash = eventId.lastIndexOf('/')
  const number = eventId.slice(slash + 1)
  // As it was given out, and in no other way in which the same number can be written.
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
  if (json === undefined) throw new McpError('invalid-argument', 'An event holds text or a JSON value')
  return ['json', json]
}

function fromFields([kind, text = '']: string[]): unknown {
  return kind === 'json' ? JSON.parse(text) : text
}
