import type { RequestId, RpcMessage } from '../../jsonrpc/message.ts'
import { metaKeys } from '../../protocol/meta.ts'
import { define, isObject, type JsonObject } from '../../util/objects.ts'
import type { Line } from '../transcript.ts'
import type { RecordedLine } from './recording-file.ts'

/**
 * Replaces everything that differs from one run to the next: the ids of requests by 1, 2, 3 (`s1`, `s2` for those of the
 * server), progress tokens by the id of their request, task ids by `task-1`, and sealed states by `state-1`. So a recording
 * that was made again differs only where the server behaves differently.
 */
export function toStableLines(lines: readonly Line[]): RecordedLine[] {
  const ids = new StableIds()
  return lines.flatMap(({ from, message }) =>
    [message].flat().map((each) => ({ from, message: ids.rename(from, each) })),
  )
}

/** Members whose values a server makes up, and the beginning of their new names. */
const madeUp: Readonly<Record<string, string>> = {
  requestState: 'state',
  taskId: 'task',
  elicitationId: 'elicitation',
}

class StableIds {
  readonly #requests = { client: new Map<RequestId, RequestId>(), server: new Map<RequestId, RequestId>() }
  readonly #tokens = new Map<unknown, RequestId>()
  readonly #values = new Map<string, string>()
  readonly #counts = new Map<string, number>()

  rename(from: Line['from'], message: RpcMessage): RpcMessage {
    const isRequest = 'method' in message && 'id' in message
    const id = isRequest ? this.#newId(from, message) : this.#answeredId(from, message)
    const copy = this.#copy(message, from) as JsonObject
    if (id !== undefined) copy.id = id
    return copy as unknown as RpcMessage
  }

  #newId(from: Line['from'], { id, params }: RpcMessage & { id?: RequestId | null; params?: JsonObject }) {
    if (id === undefined || id === null) return undefined
    const number = this.#requests[from].size + 1
    const stable = from === 'client' ? number : `s${number}`
    this.#requests[from].set(id, stable)
    const token = isObject(params?._meta) ? params._meta.progressToken : undefined
    if (token !== undefined) this.#tokens.set(token, stable)
    return stable
  }

  #answeredId(from: Line['from'], message: RpcMessage): RequestId | undefined {
    if ('method' in message || message.id === undefined || message.id === null) return undefined
    return this.#requests[from === 'client' ? 'server' : 'client'].get(message.id) ?? message.id
  }

  #copy(value: unknown, from: Line['from']): unknown {
    if (Array.isArray(value)) return value.map((item) => this.#copy(item, from))
    // A list of task ids, for example.
    if (typeof value === 'string') return this.#values.get(value) ?? value
    if (!isObject(value)) return value
    const copy: JsonObject = {}
    for (const [key, member] of Object.entries(value)) define(copy, key, this.#member(key, member, from))
    return copy
  }

  #member(key: string, value: unknown, from: Line['from']): unknown {
    if (key === 'progressToken') return this.#tokens.get(value) ?? value
    const isId = typeof value === 'string' || typeof value === 'number'
    if (key === metaKeys.subscriptionId && isId) return this.#requests.client.get(value) ?? value
    if (key === 'requestId' && isId) return this.#requests[from].get(value) ?? value
    const prefix = Object.hasOwn(madeUp, key) ? madeUp[key] : undefined
    if (prefix !== undefined && typeof value === 'string') return this.#value(prefix, value)
    return this.#copy(value, from)
  }

  #value(prefix: string, value: string): string {
    const known = this.#values.get(value)
    if (known !== undefined) return known
    const count = (this.#counts.get(prefix) ?? 0) + 1
    this.#counts.set(prefix, count)
    this.#values.set(value, `${prefix}-${count}`)
    return `${prefix}-${count}`
  }
}
