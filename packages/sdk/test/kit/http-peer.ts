import { metaKeys, type RevisionId } from 'tenon'
import { Judge } from 'tenon/testing'
import { expect } from 'vitest'
import { type Answer, overHttp, type SendHttp } from './http-client.ts'
import type { Message } from './message.ts'
import { officialSchema } from './official-schemas.ts'
import { modern } from './revisions.ts'

export interface PeerOptions {
  /** Headers for every request; they override those of the revision. */
  headers?: Record<string, string>
  capabilities?: Record<string, unknown>
}

export interface RequestOptions {
  id?: string | number
  /** Set a header to undefined to omit it. */
  headers?: Record<string, string | undefined>
}

export const both = 'application/json, text/event-stream'

/**
 * A raw HTTP client with the headers of one revision. Messages from the server are validated with the official schema
 * when the client is disposed.
 */
export class Peer {
  readonly revision: RevisionId
  readonly door: SendHttp
  sessionId: string | undefined
  /** The response to `initialize`. */
  opening: Answer | undefined
  readonly #options: PeerOptions
  readonly #judge: Judge | undefined
  readonly #answers: Answer[] = []
  #nextId = 1

  constructor(where: string | SendHttp, revision: RevisionId, options: PeerOptions = {}) {
    this.revision = revision
    this.door = typeof where === 'string' ? overHttp(where) : where
    this.#options = options
    const schema = officialSchema(revision)
    this.#judge = schema && new Judge(schema)
  }

  /** Creates a client and completes the handshake on revisions that have one. */
  static async open(where: string | SendHttp, revision: RevisionId, options: PeerOptions = {}): Promise<Peer> {
    const peer = new Peer(where, revision, options)
    if (revision !== modern) await peer.initialize()
    return peer
  }

  /** Returns a client with the same session at another place. */
  at(where: string | SendHttp, headers: Record<string, string> = {}): Peer {
    const peer = new Peer(where, this.revision, { ...this.#options, headers: { ...this.#options.headers, ...headers } })
    peer.sessionId = this.sessionId
    return peer
  }

  async initialize(): Promise<void> {
    this.opening = await this.request('initialize', this.greeting())
    expect((await this.opening.response()).result?.protocolVersion).toBe(this.revision)
    this.sessionId = this.opening.headers['mcp-session-id']
    expect((await this.notify('notifications/initialized')).status).toBe(202)
  }

  greeting(): Record<string, unknown> {
    const clientInfo = { name: 'test', version: '1.0.0' }
    return { protocolVersion: this.revision, capabilities: this.#options.capabilities ?? {}, clientInfo }
  }

  params(params: Record<string, unknown> = {}): Record<string, unknown> {
    if (this.revision !== modern) return params
    const meta = {
      [metaKeys.protocolVersion]: modern,
      [metaKeys.clientInfo]: { name: 'test', version: '1.0.0' },
      [metaKeys.clientCapabilities]: this.#options.capabilities ?? {},
    }
    return { ...params, _meta: { ...meta, ...(params._meta as object) } }
  }

  message(method: string, params?: Record<string, unknown>, id: string | number = this.#nextId++): Message {
    return { jsonrpc: '2.0', id, method, params: this.params(params) }
  }

  request(method: string, params: Record<string, unknown> = {}, { id, headers }: RequestOptions = {}): Promise<Answer> {
    return this.post(this.message(method, params, id), headers)
  }

  call(name: string, args: Record<string, unknown> = {}, options: RequestOptions & { meta?: object } = {}) {
    const { meta, ...rest } = options
    return this.request('tools/call', { name, arguments: args, ...(meta && { _meta: meta }) }, rest)
  }

  /** Calls a tool and returns its text. */
  async textOf(name: string, args: Record<string, unknown> = {}): Promise<string | undefined> {
    return (await (await this.call(name, args)).response()).result?.content?.[0]?.text
  }

  notify(method: string, params?: Record<string, unknown>): Promise<Answer> {
    return this.post({ jsonrpc: '2.0', method, ...(params && { params }) })
  }

  /** Posts one message, or several on revisions with batches. */
  async post(message: Message | Message[], headers: Record<string, string | undefined> = {}): Promise<Answer> {
    this.#judge?.hear({ from: 'client', message: message as never })
    const mirrored = this.revision === modern && !Array.isArray(message) ? mirror(message) : {}
    return this.send('POST', { ...mirrored, ...headers }, JSON.stringify(message))
  }

  get(headers: Record<string, string | undefined> = {}): Promise<Answer> {
    return this.send('GET', { accept: 'text/event-stream', 'content-type': undefined, ...headers })
  }

  /** Resumes a stream after one of its events. */
  resume(lastEventId: string): Promise<Answer> {
    return this.get({ 'last-event-id': lastEventId })
  }

  delete(): Promise<Answer> {
    return this.send('DELETE', { 'content-type': undefined })
  }

  listen(notifications: Record<string, unknown>, id?: string | number): Promise<Answer> {
    return this.request('subscriptions/listen', { notifications }, id === undefined ? {} : { id })
  }

  async send(method: string, headers: Record<string, string | undefined>, body?: string): Promise<Answer> {
    const all = { ...this.#headers(), ...this.#options.headers, ...headers }
    const present = Object.entries(all).filter((entry): entry is [string, string] => entry[1] !== undefined)
    const answer = await this.door({
      method,
      headers: Object.fromEntries(present),
      ...(body !== undefined && { body }),
    })
    answer.onMessage = (message) => {
      // The transport specification allows an error without an id, which the older schemas do not include.
      if (answer.status < 400 || 'id' in message) this.#judge?.hear({ from: 'server', message: message as never })
    }
    this.#answers.push(answer)
    return answer
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const answer of this.#answers) await answer[Symbol.asyncDispose]()
    expect(this.#judge?.problems.filter((problem) => problem.startsWith('server'))).toEqual(this.#judge && [])
  }

  #headers(): Record<string, string> {
    const headers: Record<string, string> = { accept: both, 'content-type': 'application/json' }
    if (this.sessionId !== undefined) headers['mcp-session-id'] = this.sessionId
    // The header was added after 2025-03-26; handshake revisions send it after the handshake.
    if (this.revision === modern || (this.sessionId !== undefined && this.revision > '2025-03-26')) {
      headers['mcp-protocol-version'] = this.revision
    }
    return headers
  }
}

export function mirror({ method, params }: Message): Record<string, string> {
  const name = params?.name ?? params?.uri
  return {
    ...(method !== undefined && { 'mcp-method': method }),
    ...(typeof name === 'string' && { 'mcp-name': name }),
  }
}
