import type { InspectorEvent } from '../../../src/inspector/protocol.ts'
import { BoundedList } from './bounded-list.ts'
import { Changes } from './changes.ts'
import { type RpcFacts, rpcFacts } from './rpc.ts'
import type { EventOf, ViewModel } from './view-model.ts'

/** A message on the wire. */
export interface WireRow extends RpcFacts {
  readonly event: EventOf<'message'>
  /** Of a response: the request that it answers. */
  readonly request?: WireRow | undefined
  /** Of a request: the response, once it is there. */
  response?: WireRow | undefined
}

/** How many messages the page keeps. */
export const maxRows = 150_000

/** How many HTTP exchanges the page keeps. */
const maxExchanges = 50_000

/** Every message in order, and the HTTP exchanges that carried them. */
export class Wire implements ViewModel {
  readonly changes = new Changes()
  readonly rows = new BoundedList<WireRow>(maxRows)
  readonly #waiting = new Map<string, WireRow>()
  /** The ids of HTTP exchanges in the order of their requests, also of those that carried no message. */
  readonly exchanges = new BoundedList<string>(maxExchanges)
  readonly #exchanges = new Map<string, EventOf<'http'>>()
  readonly #lastPost = new Map<string, WireRow>()
  readonly #bySeq = new Map<number, WireRow>()

  apply(event: InspectorEvent): void {
    if (event.kind === 'http') this.#setExchange(event)
    else if (event.kind === 'message') this.#add(event)
    else return
    this.changes.mark()
  }

  exchange(http: string | undefined): EventOf<'http'> | undefined {
    return http === undefined ? undefined : this.#exchanges.get(http)
  }

  row(seq: number | undefined): WireRow | undefined {
    return seq === undefined ? undefined : this.#bySeq.get(seq)
  }

  /** The newest request that a server got over HTTP: a pattern for a `curl` command. */
  lastPost(server: string): WireRow | undefined {
    return this.#lastPost.get(server)
  }

  #setExchange(event: EventOf<'http'>): void {
    if (!this.#exchanges.has(event.http)) this.exchanges.push(event.http)
    this.#exchanges.set(event.http, event)
    for (const id of this.#exchanges.keys()) {
      if (this.#exchanges.size <= maxExchanges) return
      this.#exchanges.delete(id)
    }
  }

  #add(event: EventOf<'message'>): void {
    const facts = rpcFacts(event.message)
    const row = this.#correlate(event, facts)
    this.rows.push(row)
    this.#bySeq.set(event.seq, row)
    if (this.#bySeq.size > maxRows) this.#forgetOldest()
    if (facts.kind === 'request' && event.direction === 'sent' && event.http) this.#lastPost.set(event.server, row)
  }

  #correlate(event: EventOf<'message'>, facts: RpcFacts): WireRow {
    if (facts.id === undefined) return { ...facts, event }
    if (facts.kind === 'request') {
      const row: WireRow = { ...facts, event, response: undefined }
      this.#waiting.set(keyOf(event, facts.id, event.direction), row)
      return row
    }
    const key = keyOf(event, facts.id, event.direction === 'sent' ? 'received' : 'sent')
    const request = this.#waiting.get(key)
    this.#waiting.delete(key)
    const row: WireRow = { ...facts, event, request }
    if (request) request.response = row
    return row
  }

  #forgetOldest(): void {
    for (const seq of this.#bySeq.keys()) {
      this.#bySeq.delete(seq)
      if (this.#bySeq.size <= (maxRows * 4) / 5) return
    }
  }
}

/** The method of a message; of a response, the method of its request. */
export function methodOf(row: WireRow): string {
  return row.method ?? row.request?.method ?? (row.kind === 'invalid' ? 'not JSON-RPC' : row.kind)
}

/** Milliseconds from the request to this response; undefined for other messages. */
export function durationOf(row: WireRow): number | undefined {
  return row.request && row.event.at - row.request.event.at
}

/** One server may have several connections, to compare revisions, so ids are unique within an operation only. */
function keyOf({ server, operation }: EventOf<'message'>, id: string | number, direction: string): string {
  return `${direction} ${typeof id} ${id} ${server} ${operation ?? ''}`
}
