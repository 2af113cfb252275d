import { type Connectable, connectInMemory, type TestIdentity } from '../connect/connect.ts'
import type { Params, RpcMessage, RpcNotification, RpcResponse } from '../jsonrpc/message.ts'
import type { Transport } from '../jsonrpc/transport.ts'
import type { ClientCapabilities } from '../protocol/capabilities.ts'
import { metaKeys } from '../protocol/meta.ts'
import type { RevisionId } from '../protocol/revision.ts'
import { revisions } from '../protocol/revisions/index.ts'
import { Transcript } from './transcript.ts'

export interface ScriptOptions {
  /** Default 2026-07-28. */
  revision?: RevisionId | undefined
  capabilities?: ClientCapabilities | undefined
  /** The identity that a server in this process sees. */
  auth?: TestIdentity | undefined
}

/** A client that says exactly what it is told to, right or wrong, and shows every answer as it came. */
export class ScriptedClient {
  readonly transcript = new Transcript()
  readonly #transport: Transport
  readonly #options: Required<Pick<ScriptOptions, 'revision' | 'capabilities'>>
  readonly #waiting = new Set<{
    wants: (message: RpcMessage | RpcMessage[]) => boolean
    take(message: unknown): void
  }>()
  #nextId = 1

  private constructor(transport: Transport, options: ScriptOptions) {
    this.#transport = transport
    const { revision = '2026-07-28', capabilities = {} } = options
    this.#options = { revision, capabilities }
  }

  /** Over a transport of your own, or in memory to a server. Nothing is said yet. */
  static async connect(target: Connectable | Transport, options: ScriptOptions = {}): Promise<ScriptedClient> {
    const transport = 'start' in target ? target : await connectInMemory(target, options.auth)
    const client = new ScriptedClient(transport, options)
    transport.onmessage = (message) => client.#received(message as RpcMessage)
    await transport.start()
    return client
  }

  /** Shakes hands where the revision has that; otherwise nothing. */
  async open(): Promise<RpcResponse | undefined> {
    const { revision, capabilities } = this.#options
    if (this.#isStateless) return undefined
    const answer = await this.send({
      jsonrpc: '2.0',
      id: this.#nextId++,
      method: 'initialize',
      params: { protocolVersion: revision, capabilities, clientInfo: { name: 'script', version: '1' } },
    })
    this.notify('notifications/initialized')
    return answer
  }

  /** A well-formed request of the revision; resolves with the whole response. */
  request(method: string, params: Params = {}): Promise<RpcResponse> {
    return this.send({ jsonrpc: '2.0', id: this.#nextId++, method, params: this.params(params) })
  }

  /** Params as the revision wants them: since 2026-07-28 they say who is calling. */
  params(params: Params = {}): Params {
    if (!this.#isStateless) return params
    const meta = {
      [metaKeys.protocolVersion]: this.#options.revision,
      [metaKeys.clientInfo]: { name: 'script', version: '1' },
      [metaKeys.clientCapabilities]: this.#options.capabilities,
    }
    return { ...params, _meta: { ...meta, ...(params._meta as object) } }
  }

  /** Any message at all; resolves with the answer to its id. */
  send(message: unknown): Promise<RpcResponse> {
    const { id } = message as { id?: unknown }
    const answer = this.next((received) => !Array.isArray(received) && !('method' in received) && received.id === id)
    this.say(message)
    return answer as Promise<RpcResponse>
  }

  notify(method: string, params?: Params): void {
    this.say({ jsonrpc: '2.0', method, ...(params && { params }) })
  }

  /** Any message at all, without waiting. */
  say(message: unknown): void {
    this.transcript.add('client', message)
    this.#transport.send(message as RpcMessage)
  }

  /** The next message that fits; notifications and requests of the server too. */
  next(wants: (message: RpcMessage | RpcMessage[]) => boolean): Promise<RpcMessage | RpcMessage[]> {
    return new Promise((resolve) => {
      const entry = {
        wants,
        take: (message: unknown) => {
          this.#waiting.delete(entry)
          resolve(message as RpcMessage)
        },
      }
      this.#waiting.add(entry)
    })
  }

  nextNotification(method: string): Promise<RpcNotification> {
    const wanted = this.next((message) => !Array.isArray(message) && 'method' in message && message.method === method)
    return wanted as Promise<RpcNotification>
  }

  async close(): Promise<void> {
    await this.#transport.close()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }

  get #isStateless(): boolean {
    return revisions.find(({ id }) => id === this.#options.revision)?.describesCaller === true
  }

  #received(message: RpcMessage | RpcMessage[]): void {
    this.transcript.add('server', message)
    for (const entry of [...this.#waiting]) if (entry.wants(message)) entry.take(message)
  }
}
