import type { Agent, ClientRequest, IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import type { HttpRequest, ResponseHandler, ResponseHead, Sender } from '../send.ts'

/** Idle connections are closed this long before the server would close them, so that no request meets a closing one. */
const marginMs = 1_000

/** Assumed for servers that do not announce their keep-alive timeout; it is Node's own default. */
const assumedIdleMs = 5_000

interface Target {
  readonly protocol: string
  readonly hostname: string
  readonly port: number | undefined
  readonly path: string
  readonly host: string
}

/** Sends over Node's HTTP client, which is several times as fast as `fetch`, and keeps connections for later requests. */
export class PooledSender implements Sender {
  readonly decompresses = false
  // Not imported, so that bundlers for browsers have nothing to resolve.
  readonly #http = process.getBuiltinModule('node:http')
  readonly #https = process.getBuiltinModule('node:https')
  readonly #agents = new Map<string, Agent>()
  /** Parsing a URL takes time, and most requests go to the same one. */
  readonly #targets = new WeakMap<URL, Target>()

  send({ method, url, headers, body }: HttpRequest, handler: ResponseHandler): () => void {
    const { protocol, hostname, port, path, host } = this.#target(url)
    const { request } = protocol === 'https:' ? this.#https : this.#http
    // A flat list is written as it is; an object would be copied header by header first.
    const list = ['host', host]
    for (const name in headers) list.push(name, headers[name]!)
    if (body !== undefined) list.push('content-length', String(Buffer.byteLength(body)))
    // Nothing is decompressed here, so a small response cannot become a large one.
    list.push('accept-encoding', 'identity')
    return sendOver(
      request({ protocol, hostname, port, path, method, headers: list, agent: this.#agent(protocol) }),
      handler,
      body,
    )
  }

  #target(url: URL): Target {
    const known = this.#targets.get(url)
    if (known) return known
    const { protocol, hostname, port, pathname, search, host } = url
    const target = {
      protocol,
      // An IPv6 address has brackets in a URL only.
      hostname: hostname.replace(/^\[|\]$/g, ''),
      port: port === '' ? undefined : Number(port),
      path: pathname + search,
      host,
    }
    this.#targets.set(url, target)
    return target
  }

  close(): void {
    for (const agent of this.#agents.values()) agent.destroy()
    this.#agents.clear()
  }

  #agent(protocol: string): Agent {
    let agent = this.#agents.get(protocol)
    if (!agent) {
      const { Agent: KeepAlive } = protocol === 'https:' ? this.#https : this.#http
      agent = new KeepAlive({ keepAlive: true, maxSockets: 1_024, scheduling: 'lifo' })
      // Node obeys the server's `keep-alive` header only together with a timeout for every request.
      ;(agent as unknown as { keepSocketAlive(socket: Socket): boolean }).keepSocketAlive = keepForReuse
      this.#agents.set(protocol, agent)
    }
    return agent
  }
}

/** `node:http` stores the current request on its connection. */
interface PooledSocket extends Socket {
  _httpMessage?: { res?: NodeResponse } | null
}

function keepForReuse(socket: PooledSocket): boolean {
  socket.unref()
  // Already set up when it was pooled for the first time.
  if (socket.timeout) return true
  // Few digits: `setTimeout` throws on larger numbers, and nothing could catch that here.
  const hint = /timeout=(\d{1,5})(?!\d)/.exec(String(socket._httpMessage?.res?.headers['keep-alive']))?.[1]
  const idleMs = (hint === undefined ? assumedIdleMs : Number(hint) * 1000) - marginMs
  if (idleMs <= 0) return false
  socket.setKeepAlive(true, 1_000)
  socket.setTimeout(idleMs)
  socket.on('data', closeIfIdle)
  return true
}

/** Data without a request means that the server is closing the connection. The next request must not be sent over it. */
function closeIfIdle(this: PooledSocket): void {
  if (!this._httpMessage) this.destroy()
}

export type NodeResponse = IncomingMessage

/** Sends the body, and passes the response to the handler. Returns a function that aborts the request. */
export function sendOver(request: ClientRequest, handler: ResponseHandler, body: string | undefined): () => void {
  let isOver = false
  const fail = (cause: unknown) => {
    if (isOver) return
    isOver = true
    handler.onError(cause)
  }
  request.on('response', (response: NodeResponse) => {
    if (isOver) return
    response.on('data', (chunk: Uint8Array) => void (isOver || handler.onData(chunk)))
    response.on('end', () => {
      if (isOver) return
      isOver = true
      handler.onEnd()
    })
    response.on('error', fail)
    handler.onHead(new NodeHead(request, response))
  })
  request.on('error', fail)
  // A response that switches protocols emits neither `response` nor `error`.
  request.on('close', () => fail(new Error('the connection was closed')))
  request.end(body)
  return () => {
    if (isOver) return
    isOver = true
    request.destroy()
  }
}

class NodeHead implements ResponseHead {
  readonly #request: ClientRequest
  readonly #response: NodeResponse

  constructor(request: ClientRequest, response: NodeResponse) {
    this.#request = request
    this.#response = response
  }

  get status(): number {
    return this.#response.statusCode ?? 0
  }

  get isReused(): boolean {
    return this.#request.reusedSocket
  }

  header(name: string): string | undefined {
    const value = this.#response.headers[name]
    return Array.isArray(value) ? value.join(', ') : value
  }

  toHeaders(): Headers {
    const { rawHeaders } = this.#response
    const headers = new Headers()
    for (let at = 0; at < rawHeaders.length; at += 2) headers.append(rawHeaders[at]!, rawHeaders[at + 1]!)
    return headers
  }
}
