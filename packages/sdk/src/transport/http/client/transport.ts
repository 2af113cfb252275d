import type { Answer } from '../../../auth/client/provider.ts'
import { ClosedError } from '../../../errors.ts'
import { isWatched } from '../../../jsonrpc/link.ts'
import type { RequestId, RpcMessage } from '../../../jsonrpc/message.ts'
import type { OutgoingRequest, Transport } from '../../../jsonrpc/transport.ts'
import { revisions } from '../../../protocol/revisions/index.ts'
import { ClientConfig, type HttpClientOptions } from './config.ts'
import { authOf, finishAuth, type ProviderOption } from './provider.ts'
import { type Asked, ClientSession } from './session.ts'

export interface StreamableHTTPClientTransportOptions extends HttpClientOptions, ProviderOption {
  /** A session to go on with, for those who send messages themselves; a handshake begins another. */
  sessionId?: string | undefined
}

/**
 * A client's end of Streamable HTTP, on every revision that has it.
 *
 * @example
 * await client.connect(new StreamableHTTPClientTransport('https://example.com/mcp', { headers: { 'x-key': key } }))
 */
export class StreamableHTTPClientTransport implements Transport {
  onmessage?: Transport['onmessage'] | undefined
  onclose?: Transport['onclose'] | undefined
  onerror?: Transport['onerror'] | undefined
  onwait?: Transport['onwait'] | undefined
  ongap?: Transport['ongap'] | undefined
  readonly restartable = true
  readonly readsHeaders = true
  readonly peerKey: string
  readonly address: string
  readonly #destination: ClientConfig
  #givenSession: string | undefined
  #conversation: ClientSession | undefined
  readonly #outgoing = new Map<RequestId, OutgoingRequest>()
  #version: string | undefined
  #greetings: ReadonlyMap<string, number> = new Map()

  constructor(url: string | URL, options: StreamableHTTPClientTransportOptions = {}) {
    this.#destination = new ClientConfig(url, { ...options, auth: authOf(options) })
    this.#destination.onWait = () => this.onwait?.() ?? (() => {})
    this.#givenSession = options.sessionId
    this.address = this.#destination.name
    this.peerKey = this.#destination.name
  }

  get sessionId(): string | undefined {
    return this.#conversation ? this.#conversation.sessionId : this.#givenSession
  }

  get hidesCredentials(): boolean {
    return this.#destination.hidesCredentials
  }

  authorizationContext(): string | Promise<string> {
    return this.#destination.authorizationContext()
  }

  /** The revision that was agreed on. */
  get protocolVersion(): string | undefined {
    return this.#version
  }

  /** @internal The HTTP status that `server/discover` and `initialize` were answered with. */
  get greetings(): ReadonlyMap<string, number> {
    return this.#greetings
  }

  /** Begins, or begins anew: nothing of what was before comes any more. */
  async start(): Promise<void> {
    this.#conversation?.end()
    this.#version = undefined
    await this.#destination.open()
    const conversation = new ClientSession(
      this.#destination,
      {
        message: (value) => this.onmessage?.(value),
        error: (error) => this.onerror?.(error),
        gap: () => this.ongap?.(),
        lost: () => this.onclose?.({ sessionLost: true, reason: 'the server no longer knows the session' }),
      },
      this.#givenSession,
    )
    this.#givenSession = undefined
    this.#greetings = conversation.greetings
    this.#conversation = conversation
  }

  send(message: RpcMessage | RpcMessage[]): Promise<void> {
    const conversation = this.#open()
    if (Array.isArray(message) || !('method' in message) || !('id' in message)) return conversation.notify(message)
    const { id, method, params } = message
    const known = this.#outgoing.get(id)
    this.#outgoing.delete(id)
    return conversation.request(JSON.stringify(message), { headers: undefined, ...known, id, method, params })
  }

  sendRequest(text: string, request: OutgoingRequest): Promise<void> {
    if (!isWatched(this)) return this.#open().request(text, request satisfies Asked)
    // What a message does not say is found again by its id, however the wrapper of `send` passes it on.
    this.#outgoing.set(request.id, request)
    return Promise.resolve(this.send(JSON.parse(text))).finally(() => this.#outgoing.delete(request.id))
  }

  cancelRequest(id: number): boolean {
    return this.#conversation?.cancel(id) ?? true
  }

  setProtocolVersion(version: string): void {
    this.#version = version
    const revision = revisions.find(({ id }) => id === version)
    this.#conversation?.agree(revision ?? { id: version, era: 'handshake', batching: false })
  }

  /** With `authProvider`: redeems what the user came back with; then connect again. */
  async finishAuth(answer: Answer, iss?: string): Promise<void> {
    await finishAuth(this.#destination.auth, answer, iss)
  }

  /** Ends the session at the server; a server that does not let clients do so keeps it. */
  async terminateSession(): Promise<void> {
    await this.#conversation?.terminate()
  }

  async close(): Promise<void> {
    const conversation = this.#conversation
    if (!conversation) return
    this.#conversation = undefined
    conversation.end()
    await conversation.terminate()
    this.#destination.close()
    this.onclose?.()
  }

  #open(): ClientSession {
    if (!this.#conversation) throw new ClosedError('The transport was not started, or it is closed')
    return this.#conversation
  }
}
