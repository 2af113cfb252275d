import { StdioClientTransport } from 'tenon/client'
import type { CommandServerConfig } from 'tenon/host'
import { isObject, type JsonObject } from 'tenon/internal'
import {
  initializeRequest,
  isResponseTo,
  pingMethod,
  type RawPeer,
  type Reply,
  type Style,
  toRequest,
} from './raw-peer.ts'

/** A server process to which anything can be sent. */
export class StdioPeer implements RawPeer {
  readonly #config: CommandServerConfig
  readonly #timeoutMs: number
  #transport: StdioClientTransport
  #style: Style = 'handshake'
  #isClosed = false
  #ids = 0
  readonly #waiting = new Set<(message: unknown) => void>()
  readonly #responses = new Map<unknown, number>()

  private constructor(config: CommandServerConfig, timeoutMs: number) {
    this.#config = config
    this.#timeoutMs = timeoutMs
    this.#transport = this.#createTransport()
  }

  /** Starts the server and opens a session. */
  static async open(config: CommandServerConfig, timeoutMs: number): Promise<StdioPeer> {
    const peer = new StdioPeer(config, timeoutMs)
    await peer.#start()
    return peer
  }

  async exchange(text: string, id: number | string | null, timeoutMs = this.#timeoutMs): Promise<Reply> {
    if (this.#isClosed) return { missing: 'closed' }
    const reply = this.#waitFor(id, timeoutMs)
    try {
      this.#transport.sendText(text)
    } catch {
      return { missing: 'closed' }
    }
    return reply
  }

  request(method: string, params?: JsonObject, timeoutMs?: number): Promise<Reply> {
    const id = ++this.#ids
    return this.exchange(JSON.stringify(toRequest(this.#style, id, method, params)), id, timeoutMs)
  }

  async notify(method: string, params?: JsonObject): Promise<void> {
    if (!this.#isClosed) this.#transport.sendText(JSON.stringify({ jsonrpc: '2.0', method, ...(params && { params }) }))
  }

  async isAlive(): Promise<boolean> {
    return (await this.request(pingMethod(this.#style))).message !== undefined
  }

  async restart(): Promise<void> {
    await this.close()
    this.#transport = this.#createTransport()
    this.#isClosed = false
    await this.#start()
  }

  countResponses(id: number | string): number {
    return this.#responses.get(id) ?? 0
  }

  async close(): Promise<void> {
    this.#isClosed = true
    await this.#transport.close()
  }

  #createTransport(): StdioClientTransport {
    const { command, args, env, cwd } = this.#config
    const transport = new StdioClientTransport({ command, args, cwd, ...(env && { env: { ...env } }) })
    transport.onmessage = (message) => this.#receive(message)
    transport.onclose = () => {
      if (transport !== this.#transport) return
      this.#isClosed = true
      for (const wake of [...this.#waiting]) wake(closed)
    }
    return transport
  }

  async #start(): Promise<void> {
    await this.#transport.start()
    const id = ++this.#ids
    const { message } = await this.exchange(JSON.stringify(initializeRequest(id)), id)
    this.#style = isObject(message) && isObject(message.result) ? 'handshake' : 'stateless'
    if (this.#style === 'handshake') await this.notify('notifications/initialized')
  }

  #receive(message: unknown): void {
    for (const item of Array.isArray(message) ? message : [message]) {
      if (isObject(item) && item.method === undefined)
        this.#responses.set(item.id, (this.#responses.get(item.id) ?? 0) + 1)
      for (const wake of [...this.#waiting]) wake(item)
    }
  }

  #waitFor(id: number | string | null, timeoutMs: number): Promise<Reply> {
    return new Promise((resolve) => {
      const finish = (reply: Reply) => {
        this.#waiting.delete(wake)
        clearTimeout(timer)
        resolve(reply)
      }
      const wake = (message: unknown) => {
        if (message === closed) finish({ missing: 'closed' })
        else if (isResponseTo(message, id)) finish({ message })
      }
      const timer = setTimeout(() => finish({ missing: 'timeout' }), timeoutMs)
      this.#waiting.add(wake)
    })
  }
}

const closed = Symbol('closed')
