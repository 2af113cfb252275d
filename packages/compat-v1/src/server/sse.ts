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
  private readonly _endpoint: string
  private readonly _tenonResponse: ServerResponse
  private readonly _options: SSEServerTransportOptions
  private readonly _sessionId = randomUUID()
  private _tenonStream: ServerResponse | undefined

  /** @param endpoint The path that the client posts messages to. */
  constructor(endpoint: string, res: ServerResponse, options: SSEServerTransportOptions = {}) {
    this._endpoint = endpoint
    this._tenonResponse = res
    this._options = options
  }

  /** The session id in the URL that the client posts to, by which POSTs find their transport. */
  get sessionId(): string {
    return this._sessionId
  }

  /** Opens the stream. `server.connect` calls it. */
  async start(): Promise<void> {
    if (this._tenonStream) {
      throw new Error(
        'SSEServerTransport already started! If using Server class, note that connect() calls start() automatically.',
      )
    }
    const response = this._tenonResponse
    response.writeHead(200, {
      'Content-Type': 'text/event-stream',
      'Cache-Control': 'no-cache, no-transform',
      Connection: 'keep-alive',
    })
    const { pathname, search, hash } = this._tenonPostUrl()
    response.write(`event: endpoint\ndata: ${pathname}${search}${hash}\n\n`)
    this._tenonStream = response
    response.on('close', () => {
      this._tenonStream = undefined
      this.onclose?.()
    })
  }

  private _tenonPostUrl(): URL {
    const url = new URL(this._endpoint, 'http://localhost')
    url.searchParams.set('sessionId', this._sessionId)
    return url
  }

  /** Handles a POST of the client. */
  async handlePostMessage(req: AuthorizedRequest, res: ServerResponse, parsedBody?: unknown): Promise<void> {
    if (!this._tenonStream) {
      const message = 'SSE connection not established'
      res.writeHead(500).end(message)
      throw new Error(message)
    }
    const foreign = this._tenonOriginProblem(req)
    if (foreign !== undefined) {
      res.writeHead(403).end(foreign)
      this.onerror?.(new Error(foreign))
      return
    }
    const body = await this._tenonRead(req, res, parsedBody)
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
    this.onmessage?.(message as JSONRPCMessage, new StreamExtra(extra, (text) => this._tenonReply(text)))
  }

  async close(): Promise<void> {
    this._tenonStream?.end()
    this._tenonStream = undefined
    this.onclose?.()
  }

  async send(message: JSONRPCMessage): Promise<void> {
    this.sendText(JSON.stringify(message))
  }

  /** Sends a message that is JSON text already. */
  sendText(text: string): void {
    if (!this._tenonStream) throw new Error('Not connected')
    this._tenonStream.write(`event: message\ndata: ${text}\n\n`)
  }

  private _tenonReply(text: string): boolean {
    if (!this._tenonStream) return false
    if (isWatched(this as never)) this.send(JSON.parse(text)).catch((error) => this.onerror?.(error))
    else this.sendText(text)
    return true
  }

  private _tenonOriginProblem({ headers: { host, origin } }: IncomingMessage): string | undefined {
    const { allowedHosts = [], allowedOrigins = [], enableDnsRebindingProtection } = this._options
    if (!enableDnsRebindingProtection) return undefined
    if (allowedHosts.length > 0 && !allowedHosts.includes(host ?? '')) return `Invalid Host header: ${host}`
    if (origin && allowedOrigins.length > 0 && !allowedOrigins.includes(origin))
      return `Invalid Origin header: ${origin}`
    return undefined
  }

  /** Returns undefined if the request was refused. */
  private async _tenonRead(req: IncomingMessage, res: ServerResponse, parsedBody: unknown): Promise<unknown> {
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
