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
  /** The identity that a server in the same process sees. */
  auth?: TestIdentity | undefined
}

/** A client that sends exactly what a test asks for, valid or not, and returns every response unchanged. */
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

  /** Connects through a transport, or in memory to a server. Sends nothing yet. */
  static async connect(target: Connectable | Transport, options: ScriptOptions = {}): Promise<ScriptedClient> {
    const transport = 'start' in target ? target : await connectInMemory(target, options.auth)
    const client = new ScriptedClient(transport, options)
    transport.onmessage = (message) => client.#received(message as RpcMessage)
    await transport.start()
    return client
  }

  /** Performs the handshake if the revision has one. */
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

  /** Sends a valid request of the revision. Resolves with the whole response. */
  request(method: string, params: Params = {}): Promise<RpcResponse> {
    return this.send({ jsonrpc: '2.0', id: this.#nextId++, method, params: this.params(params) })
  }

  /** Adds what the revision requires to params: since 2026-07-28 they identify the client. */
  params(params: Params = {}): Params {
    if (!this.#isStateless) return params
    const meta = {
      [metaKeys.protocolVersion]: this.#options.revision,
      [metaKeys.clientInfo]: { name: 'script', version: '1' },
      [metaKeys.clientCapabilities]: this.#options.capabilities,
    }
    return { ...params, _meta: { ...meta, ...(params._meta as object) } }
  }

  /** Sends any message. Resolves with the response to its id. */
  send(message: unknown): Promise<RpcResponse> {
    const { id } = message as { id?: unknown }
    const answer = this.next((received) => !Array.isArray(received) && !('method' in received) && received.id === id)
    this.say(message)
    return answer as Promise<RpcResponse>
  }

  notify(method: string, params?: Params): void {
    this.say({ jsonrpc: '2.0', method, ...(params && { params }) })
  }

  /** Sends any message without waiting. */
  say(message: unknown): void {
    this.transcript.add('client', message)
    this.#transport.send(message as RpcMessage)
  }

  /** Resolves with the next message that matches, including notifications and requests of the server. */
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
