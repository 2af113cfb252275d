import { request as httpRequest, type IncomingHttpHeaders, type IncomingMessage } from 'node:http'
import { request as httpsRequest } from 'node:https'
import { isObject, type JsonObject } from 'tenon/internal'
import {
  handshakeRevision,
  initializeRequest,
  isResponseTo,
  pingMethod,
  type RawPeer,
  type Reply,
  type Style,
  statelessRevision,
  toRequest,
} from './raw-peer.ts'

/** A raw HTTP request. Headers that are undefined are left out. */
export interface RawRequest {
  readonly method?: string | undefined
  readonly headers?: Readonly<Record<string, string | undefined>> | undefined
  readonly body?: string | undefined
  /** Reading ends with the response to this id. */
  readonly id?: number | string | null | undefined
  readonly timeoutMs?: number | undefined
}

/** A raw HTTP response. */
export interface RawResponse extends Reply {
  readonly headers: IncomingHttpHeaders
}

/** An HTTP server to which anything can be sent, with any headers. */
export class HttpPeer implements RawPeer {
  readonly url: URL
  readonly #headers: Readonly<Record<string, string>>
  readonly #timeoutMs: number
  #style: Style = 'handshake'
  #ids = 0
  /** The id of the session, if the server has sessions. */
  sessionId: string | undefined

  private constructor(url: string, headers: Readonly<Record<string, string>>, timeoutMs: number) {
    this.url = new URL(url)
    this.#headers = headers
    this.#timeoutMs = timeoutMs
  }

  /** Opens a session. */
  static async open(url: string, headers: Readonly<Record<string, string>>, timeoutMs: number): Promise<HttpPeer> {
    const peer = new HttpPeer(url, headers, timeoutMs)
    await peer.restart()
    return peer
  }

  get style(): Style {
    return this.#style
  }

  exchange(text: string, id: number | string | null, timeoutMs?: number): Promise<Reply> {
    return this.send({ body: text, id, timeoutMs })
  }

  request(method: string, params?: JsonObject, timeoutMs?: number): Promise<Reply> {
    const id = ++this.#ids
    const message = toRequest(this.#style, id, method, params)
    return this.send({ body: JSON.stringify(message), id, timeoutMs, headers: this.#routing(method, params) })
  }

  async notify(method: string, params?: JsonObject): Promise<void> {
    await this.send({ body: JSON.stringify({ jsonrpc: '2.0', method, ...(params && { params }) }) })
  }

  async isAlive(): Promise<boolean> {
    const { status } = await this.request(pingMethod(this.#style))
    // A server may end a session for what was sent in it, as long as it opens another.
    if (status === 404 && this.sessionId !== undefined) await this.restart()
    return status !== undefined
  }

  /** Opens a new session, and keeps it for the requests that follow. */
  async restart(): Promise<void> {
    const { message, headers } = await this.openSession()
    this.#style = isObject(message) && isObject(message.result) ? 'handshake' : 'stateless'
    const id = headers['mcp-session-id']
    this.sessionId = typeof id === 'string' ? id : undefined
    if (this.#style === 'handshake') await this.notify('notifications/initialized')
  }

  /** Sends `initialize` without a session. */
  openSession(): Promise<RawResponse> {
    const id = ++this.#ids
    const headers = { 'mcp-session-id': undefined, 'mcp-protocol-version': undefined }
    return this.send({ body: JSON.stringify(initializeRequest(id)), id, headers })
  }

  async close(): Promise<void> {
    if (this.sessionId !== undefined) await this.send({ method: 'DELETE' })
  }

  /** The well-formed request of `ping`, with other headers. */
  ping(headers: Readonly<Record<string, string | undefined>>, more: Partial<RawRequest> = {}): Promise<RawResponse> {
    const id = ++this.#ids
    const method = pingMethod(this.#style)
    const body = JSON.stringify(toRequest(this.#style, id, method))
    return this.send({ body, id, headers: { ...this.#routing(method), ...headers }, ...more })
  }

  /** Sends a request. Never throws: a connection that fails is a reply without a status. */
  send({ method = 'POST', headers = {}, body, id, timeoutMs = this.#timeoutMs }: RawRequest): Promise<RawResponse> {
    const all = { ...this.#defaults(), ...this.#headers, ...headers }
    const sent = Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined))
    return new Promise((resolve) => {
      const start = this.url.protocol === 'https:' ? httpsRequest : httpRequest
      const request = start(this.url, { method, headers: sent as Record<string, string>, agent: false })
      const finish = (reply: RawResponse) => {
        clearTimeout(timer)
        resolve(reply)
        request.destroy()
      }
      const timer = setTimeout(() => finish({ missing: 'timeout', headers: {} }), timeoutMs)
      request.once('error', () => finish({ missing: 'closed', headers: {} }))
      request.once('response', (response) => {
        void readResponse(response, id).then((message) =>
          finish({
            status: response.statusCode,
            headers: response.headers,
            message,
            ...(message === undefined && { missing: 'closed' as const }),
          }),
        )
      })
      request.end(body)
    })
  }

  #defaults(): Record<string, string | undefined> {
    return {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': this.#style === 'handshake' ? handshakeRevision : statelessRevision,
      'mcp-session-id': this.sessionId,
    }
  }

  /** Since 2026-07-28 a request repeats its method and name in headers. */
  #routing(method: string, params: JsonObject = {}): Record<string, string> {
    if (this.#style === 'handshake') return {}
    const name = params.name ?? params.uri
    const isPlain = typeof name === 'string' && /^[\x20-\x7e]+$/.test(name)
    return { 'mcp-method': method, ...(isPlain && { 'mcp-name': name }) }
  }
}

const maxBodyChars = 4_000_000

/** Reads JSON or an event stream up to the message that is waited for. */
async function readResponse(response: IncomingMessage, id: number | string | null | undefined) {
  let text = ''
  const isStream = String(response.headers['content-type']).startsWith('text/event-stream')
  try {
    for await (const chunk of response.setEncoding('utf8')) {
      text += String(chunk)
      const found = isStream ? findInStream(text, id) : undefined
      if (found || text.length > maxBodyChars) return found
    }
  } catch {
    return undefined
  }
  if (isStream) return findInStream(text, id)
  const value = parse(text)
  const items = Array.isArray(value) ? value : [value]
  return items.find((item) => id === undefined || isResponseTo(item, id)) ?? items.find(isObject)
}

function findInStream(text: string, id: number | string | null | undefined): JsonObject | undefined {
  return text
    .split(/\r?\n/)
    .filter((line) => line.startsWith('data:'))
    .map((line) => parse(line.slice(5)))
    .find((message) => id !== undefined && isResponseTo(message, id)) as JsonObject | undefined
}

function parse(text: string): JsonObject | undefined {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
