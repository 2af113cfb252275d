import { type RawHeaders, toHead } from '../../../kit/raw-http.ts'
import { type HttpRevision, httpRevisions, modern } from '../../../kit/revisions.ts'
import type { RawClient } from './support.ts'

/** Bytes to send, and what to expect of the response. */
export interface FuzzCase {
  readonly bytes: Buffer
  /** Whether the end of the request is ambiguous: it can be read as half a request, or as more than one. */
  readonly unclear: boolean
}

type Random = (below: number) => number

/** Generates almost valid requests: bytes, headers and JSON shapes are changed at random, the same in every run. */
export class Fuzzer {
  readonly #random: Random
  readonly #clients: ReadonlyMap<HttpRevision, RawClient>

  constructor(random: Random, clients: ReadonlyMap<HttpRevision, RawClient>) {
    this.#random = random
    this.#clients = clients
  }

  next(): FuzzCase {
    const client = this.#clients.get(this.#one(httpRevisions))!
    const message = this.#message(client)
    const method = String(message.method ?? 'tools/call')
    let body: Buffer = Buffer.from(JSON.stringify(this.#chance(3) ? this.#reshape(message) : message))
    if (this.#chance(5)) body = this.#mangle(body)
    const { name, uri } = (message.params ?? {}) as { name?: string; uri?: string }
    const headers = this.#headers(client, method, name ?? uri ?? 'echo', body.length)
    let head = toHead(
      this.#chance(40) ? this.#one(verbs) : 'POST',
      this.#chance(60) ? this.#one(paths) : '/mcp',
      headers,
    )
    const garbled = this.#chance(20)
    if (garbled) head = this.#mangle(head)
    const isWrongLength = this.#chance(200)
    if (isWrongLength) body = body.subarray(0, this.#random(body.length))
    return { bytes: Buffer.concat([head, body]), unclear: garbled || isWrongLength }
  }

  #message(client: RawClient): Record<string, unknown> {
    const id = this.#chance(8) ? this.#one(values) : this.#one([1, 'a', 0, -1, '', 2 ** 53 - 1])
    const [method, params] = this.#one(calls)
    const message = { jsonrpc: '2.0', id, method, params: client.params(params as Record<string, unknown>) }
    if (this.#chance(6)) return { jsonrpc: '2.0', method: message.method, params: message.params }
    if (this.#chance(20)) return { jsonrpc: '2.0', id, result: {} }
    return message
  }

  /** Replaces a value somewhere in the tree, removes a member, or wraps the whole message. */
  #reshape(message: Record<string, unknown>): unknown {
    const copy = structuredClone(message)
    if (this.#chance(12)) return Array.from({ length: this.#random(5) }, () => copy)
    let place: Record<string, unknown> = copy
    for (;;) {
      const keys = Object.keys(place)
      const key = this.#chance(8) ? this.#one(names) : (keys[this.#random(keys.length)] ?? 'a')
      const inner = Object.hasOwn(place, key) ? place[key] : undefined
      if (typeof inner === 'object' && inner !== null && !Array.isArray(inner) && !this.#chance(3)) {
        place = inner as Record<string, unknown>
      } else {
        if (this.#chance(4)) delete place[key]
        else
          Object.defineProperty(place, key, {
            value: this.#one(values),
            enumerable: true,
            configurable: true,
            writable: true,
          })
        return copy
      }
    }
  }

  #headers(client: RawClient, method: string, name: string, length: number): RawHeaders {
    const headers: RawHeaders = { ...client.headers(method, name), 'Content-Length': String(length) }
    if (client.revision !== modern && this.#chance(10)) headers['Mcp-Session-Id'] = undefined
    for (let times = this.#chance(2) ? 0 : this.#random(3); times > 0; times--) {
      const changed = this.#one(
        Object.keys(headers)
          .concat(strayHeaders)
          .filter((each) => each !== 'Content-Length'),
      )
      const value = headers[changed]
      headers[changed] = this.#one([
        undefined,
        typeof value === 'string' ? [value, value] : 'x',
        this.#one(headerValues),
      ])
    }
    return headers
  }

  #mangle(bytes: Buffer): Buffer {
    const copy = Buffer.from(bytes)
    for (let times = 1 + this.#random(4); times > 0; times--) {
      const at = this.#random(copy.length)
      if (this.#chance(2)) copy[at] = this.#random(256)
      else copy[at] = this.#one([...interesting])
    }
    return copy
  }

  #chance(oneIn: number): boolean {
    return this.#random(oneIn) === 0
  }

  #one<T>(from: readonly T[]): T {
    return from[this.#random(from.length)]!
  }
}

const calls: readonly [string, object][] = [
  ['tools/call', { name: 'echo', arguments: { a: [1, { b: 'c' }] } }],
  ['tools/call', { name: 'echo', arguments: {}, _meta: { progressToken: 1 } }],
  ['tools/call', { name: 'tell', arguments: {} }],
  ['tools/list', {}],
  ['tools/list', { cursor: 'x' }],
  ['resources/list', {}],
  ['resources/read', { uri: 'x://a' }],
  ['resources/templates/list', {}],
  ['resources/subscribe', { uri: 'x://a' }],
  ['prompts/list', {}],
  ['prompts/get', { name: 'greet', arguments: { who: 'x' } }],
  ['completion/complete', { ref: { type: 'ref/prompt', name: 'greet' }, argument: { name: 'who', value: 'a' } }],
  ['logging/setLevel', { level: 'debug' }],
  ['initialize', { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'f', version: '1' } }],
  ['ping', {}],
  ['server/discover', {}],
  ['subscriptions/listen', { notifications: { toolsListChanged: true } }],
  ['notifications/cancelled', { requestId: 1 }],
  ['notifications/progress', { progressToken: 1, progress: 1 }],
  ['notifications/initialized', {}],
  ['__proto__', {}],
  ['', {}],
]

const names = ['__proto__', 'constructor', 'toString', '', 'id', 'method', 'params', '_meta', 'name', 'a\0', '\ud800']

const values: readonly unknown[] = [
  null,
  true,
  0,
  -0,
  1e308,
  2 ** 53,
  1.5,
  '',
  'x',
  '\ud800',
  '\0',
  '../../etc/passwd',
  'x'.repeat(10_000),
  [],
  {},
  [[[[]]]],
  { __proto__: null, a: 1 },
  [null],
  '2026-07-28',
  '1999-01-01',
]

/** Without DELETE, which would end the session that the other requests need. */
const verbs = ['GET', 'PUT', 'HEAD', 'OPTIONS', 'TRACE', 'PATCH', 'BREW']
const paths = ['/', '/mcp?x=1', '/mcp/', '*', '//', '/mcp%2e', 'http://[', '/sse', '/messages?sessionId=x', '/mcp#a']
const strayHeaders = [
  'Origin',
  'Last-Event-ID',
  'Content-Encoding',
  'Mcp-Param-A',
  'X-Other',
  'Mcp-Name',
  'Expect',
  'Authorization',
]
const headerValues = [
  '',
  'x',
  'null',
  '*/*',
  '\u00e9',
  'a,b',
  '=?base64?eA==?=',
  '=?base64?!?=',
  '2026-07-28',
  '2025-06-18',
  'x'.repeat(5_000),
  'http://evil.example',
  'gzip',
]
const interesting = Buffer.from('"{}[],:\\\r\n\t \0\xff0-', 'latin1')
