import { randomUUID } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { classify, TransportFault as Fault, isWatched } from 'tenon/jsonrpc'
import type { Transport } from '../shared/transport.ts'
import type { JSONRPCMessage, MessageExtraInfo } from '../types.ts'
import { type AuthorizedRequest, extraOf, StreamExtra } from './node-facts.ts'

const maxMessageBytes = 4 * 1024 * 1024

/** Options of `SSEServerTransport`. */
export interface SSEServerTransportOptions {
  /** Values of the `Host` header that are accepted if `enableDnsRebindingProtection` is set. */
  allowedHosts?: string[] | undefined
  /** Values of the `Origin` header that are accepted if `enableDnsRebindingProtection` is set. */
  allowedOrigins?: string[] | undefined
  /** Whether `allowedHosts` and `allowedOrigins` are checked. Default false. */
  enableDnsRebindingProtection?: boolean | undefined
}

/**
 * The HTTP+SSE transport of 2024-11-05. Create it with the response to a GET, and pass every POST to `handlePostMessage`.
 *
 * @deprecated Use `StreamableHTTPServerTransport`.
 */
export class SSEServerTransport implements Transport {
  onclose?: () => void
  onerror?: (error: Error) => void
  onmessage?: (message: JSONRPCMessage, extra?: MessageExtraInfo) => void
  readonly #endpoint: string
  readonly #response: ServerResponse
  readonly #options: SSEServerTransportOptions
  readonly #sessionId = randomUUID()
  #stream: ServerResponse | undefined

  /** @param endpoint The path that the client posts messages to. */
  constructor(endpoint: string, res: ServerResponse, options: SSEServerTransportOptions = {}) {
    this.#endpoint = endpoint
    this.#response = res
    this.#options = options
  }

  /** The session id in the URL that the client posts to, by which POSTs find their transport. */
  get sessionId(): string {
    return this.#sessionId
  }

  /** Opens the stream. `server.connect` calls it. */
  async start(): Promise<void> {
    if (this.#stream) {
      throw new Error(
        'SSEServerTransport already started! If using Server class, note that connect() calls start() automatically.',
      )
    }
    const response = this.#response
    response.writeHead(200, {
      'Content-Type': 'text/event-stream',
      'Cache-Control': 'no-cache, no-transform',
      Connection: 'keep-alive',
    })
    const { pathname, search, hash } = this.#postUrl()
    response.write(`event: endpoint\ndata: ${pathname}${search}${hash}\n\n`)
    this.#stream = response
    response.on('close', () => {
      this.#stream = undefined
      this.onclose?.()
    })
  }

  #postUrl(): URL {
    const url = new URL(this.#endpoint, 'http://localhost')
    url.searchParams.set('sessionId', this.#sessionId)
    return url
  }

  /** Handles a POST of the client. */
  async handlePostMessage(req: AuthorizedRequest, res: ServerResponse, parsedBody?: unknown): Promise<void> {
    if (!this.#stream) {
      const message = 'SSE connection not established'
      res.writeHead(500).end(message)
      throw new Error(message)
    }
    const foreign = this.#originProblem(req)
    if (foreign !== undefined) {
      res.writeHead(403).end(foreign)
      this.onerror?.(new Error(foreign))
      return
    }
    const body = await this.#read(req, res, parsedBody)
    if (body === undefined) return
    try {
      await this.handleMessage(typeof body === 'string' ? JSON.parse(body) : body, extraOf(req))
    } catch {
      res.writeHead(400).end(`Invalid message: ${body}`)
      return
    }
    res.writeHead(202).end('Accepted')
  }

  /** Takes a message of the client that came another way. */
  async handleMessage(message: unknown, extra: MessageExtraInfo = {}): Promise<void> {
    const kind = classify(message)
    if (kind instanceof Fault) {
      const error = new Error(kind.message)
      this.onerror?.(error)
      throw error
    }
    this.onmessage?.(message as JSONRPCMessage, new StreamExtra(extra, (text) => this.#reply(text)))
  }

  async close(): Promise<void> {
    this.#stream?.end()
    this.#stream = undefined
    this.onclose?.()
  }

  async send(message: JSONRPCMessage): Promise<void> {
    this.sendText(JSON.stringify(message))
  }

  /** Sends a message that is JSON text already. */
  sendText(text: string): void {
    if (!this.#stream) throw new Error('Not connected')
    this.#stream.write(`event: message\ndata: ${text}\n\n`)
  }

  #reply(text: string): boolean {
    if (!this.#stream) return false
    if (isWatched(this as never)) this.send(JSON.parse(text)).catch((error) => this.onerror?.(error))
    else this.sendText(text)
    return true
  }

  #originProblem({ headers: { host, origin } }: IncomingMessage): string | undefined {
    const { allowedHosts = [], allowedOrigins = [], enableDnsRebindingProtection } = this.#options
    if (!enableDnsRebindingProtection) return undefined
    if (allowedHosts.length > 0 && !allowedHosts.includes(host ?? '')) return `Invalid Host header: ${host}`
    if (origin && allowedOrigins.length > 0 && !allowedOrigins.includes(origin))
      return `Invalid Origin header: ${origin}`
    return undefined
  }

  /** Returns undefined if the request was refused. */
  async #read(req: IncomingMessage, res: ServerResponse, parsedBody: unknown): Promise<unknown> {
    try {
      const charset = charsetOf(req.headers['content-type'])
      return parsedBody ?? (await readText(req, charset))
    } catch (error) {
      res.writeHead(400).end(String(error))
      this.onerror?.(error as Error)
      return undefined
    }
  }
}

/** Throws if the content is not JSON. */
function charsetOf(contentType: string | undefined): string {
  const [type = '', ...parameters] = (contentType ?? '').split(';').map((part) => part.trim())
  if (type === '') throw new TypeError('invalid media type')
  if (type.toLowerCase() !== 'application/json') throw new Error(`Unsupported content-type: ${type.toLowerCase()}`)
  const charset = parameters.find((parameter) => /^charset=/i.test(parameter))
  return charset?.slice('charset='.length).replaceAll('"', '') ?? 'utf-8'
}

function readText(request: IncomingMessage, charset: string): Promise<string> {
  const decoder = new TextDecoder(charset)
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let length = 0
    request.on('data', (chunk: Buffer) => {
      length += chunk.length
      if (length <= maxMessageBytes) return void chunks.push(chunk)
      request.pause()
      reject(new Error('request entity too large'))
    })
    request.on('end', () => resolve(decoder.decode(Buffer.concat(chunks))))
    request.on('error', reject)
  })
}
