import { McpError } from '../../../../errors.ts'
import {
  Batch,
  classifyReceived,
  Fault,
  isNotification,
  isRequest,
  type MessageKind,
  type ReceivedKind,
  type RequestId,
  type RpcMessage,
  type RpcRequest,
  type RpcResponse,
} from '../../../../jsonrpc/message.ts'
import type { ReplyStream, Transport } from '../../../../jsonrpc/transport.ts'
import type { Endpoint, PeerLink, RevisionFacts } from '../../../../protocol/endpoint.ts'
import { revisions } from '../../../../protocol/revisions/index.ts'
import type { ServerTransport } from '../../../../protocol/transport.ts'

/** A request that the program has not answered yet. */
interface OpenRequest {
  readonly request: RpcRequest
  readonly stream: ReplyStream | undefined
  readonly batch: Batch | undefined
  readonly link: RelayLink
}

/**
 * Takes the place of a server if a program handles the messages of a transport itself, as proxies do. Passes received messages
 * to `onmessage` and finds the stream for each message that is sent.
 */
export class Relay implements Endpoint {
  readonly revisions: readonly RevisionFacts[] = revisions
  readonly changes: Endpoint['changes'] = { on: () => () => {}, tell: () => {} }
  readonly #transport: Transport
  readonly #open = new Map<RequestId, OpenRequest>()
  #session: ServerTransport | undefined

  constructor(transport: Transport) {
    this.#transport = transport
  }

  attach(transport: ServerTransport): PeerLink {
    if (transport.sessionId !== undefined) this.#session = transport
    return new RelayLink(this, transport)
  }

  revisionOf(link: PeerLink): RevisionFacts | undefined {
    return (link as RelayLink).revision
  }

  /** The state of a session is in the program, so there is nothing to save. */
  saveSession(): undefined {
    return undefined
  }

  beginChange(): () => void {
    return () => {}
  }

  restoreSession(): void {
    throw new TypeError('sessionStore requires a server. Call server.connect(transport).')
  }

  /** The program sends its own notifications. */
  tellSession(): void {}

  reportError(error: unknown): void {
    this.#transport.onerror?.(error as Error)
  }

  hold(): () => Promise<void> {
    return async () => {}
  }

  /** @param relatedId The request whose stream the message goes to; a response goes to its own. */
  send(message: RpcMessage | RpcMessage[], relatedId: RequestId | undefined): void {
    if (Array.isArray(message)) {
      for (const each of message) this.send(each, relatedId)
    } else if (!('method' in message)) this.#answer(message)
    else if (relatedId !== undefined) this.#sendRelated(message, relatedId)
    else this.#session?.sendText?.(JSON.stringify(message))
  }

  /** For links: passes a message to the program. */
  receive(message: unknown, stream: ReplyStream | undefined): void {
    try {
      this.#transport.onmessage?.(message, stream)
    } catch (error) {
      this.reportError(error)
    }
  }

  /** For links: registers a request; returns a fault if its id is in use. */
  expect(open: OpenRequest): Fault | undefined {
    const { id } = open.request
    if (this.#open.has(id)) return new Fault(-32600, 'A request with this id is still in progress', id)
    this.#open.set(id, open)
    return undefined
  }

  /** For links: ends a request that the client cancelled. */
  cancel(id: unknown, link: RelayLink): void {
    const open = this.#open.get(id as RequestId)
    if (open?.link !== link || open.request.method === 'initialize') return
    this.#open.delete(open.request.id)
    if (open.batch) open.batch.settle(undefined)
    else open.stream?.end()
  }

  /** For links: the client is gone, which cancels its requests (2026-07-28). Notifies the program. */
  ended(link: RelayLink): void {
    if (this.#session === link.transport) this.#session = undefined
    for (const { request, ...open } of [...this.#open.values()]) {
      if (open.link !== link) continue
      this.cancel(request.id, link)
      const params = { requestId: request.id, reason: 'The client closed the connection' }
      this.receive({ jsonrpc: '2.0', method: 'notifications/cancelled', params }, undefined)
    }
  }

  #answer(response: RpcResponse): void {
    const open = this.#open.get(response.id!)
    if (!open) throw new McpError('invalid-argument', `No request with the id ${response.id} is waiting for a response`)
    this.#open.delete(response.id!)
    if (open.request.method === 'initialize') open.link.agree(response.result?.protocolVersion)
    if (open.batch) open.batch.settle(response)
    else open.stream?.sendText(JSON.stringify(response), true, response.error)
  }

  #sendRelated(message: RpcMessage, relatedId: RequestId): void {
    const open = this.#open.get(relatedId)
    if (open?.stream?.sendText(JSON.stringify(message), false)) return
    throw new McpError(
      'invalid-argument',
      `Cannot send a message for request ${relatedId}: its response was sent already, or is plain JSON`,
    )
  }
}

class RelayLink implements PeerLink {
  batching = false
  readonly maxBatch = 100
  omitsUnknownId = true
  firstId = 1
  revision: RevisionFacts | undefined
  readonly transport: ServerTransport
  readonly #relay: Relay
  #isOver = false

  constructor(relay: Relay, transport: ServerTransport) {
    this.#relay = relay
    this.transport = transport
  }

  /** Applies the revision that the program chose. */
  agree(version: unknown): void {
    const revision = revisions.find(({ id }) => id === version)
    if (!revision) return
    this.revision = revision
    this.batching = revision.batching
    this.omitsUnknownId = revision.omitsUnknownId
  }

  classify(value: unknown): ReceivedKind {
    return classifyReceived(value, this)
  }

  receive(value: unknown, stream?: ReplyStream, kind: ReceivedKind = this.classify(value)): void {
    if (typeof kind === 'string' || kind instanceof Fault) return this.#receiveOne(value, kind, stream, undefined)
    const batch = new Batch((answers) => {
      if (answers.length > 0) stream?.sendText(JSON.stringify(answers), true)
      else stream?.end()
    })
    for (const member of kind) this.#receiveOne(member.message, member.kind, stream, batch)
    batch.seal()
  }

  concerns(): boolean {
    return true
  }

  async close(): Promise<void> {
    await this.transport.close()
    this.ended()
  }

  ended(): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#relay.ended(this)
  }

  #receiveOne(message: unknown, kind: MessageKind, stream: ReplyStream | undefined, batch: Batch | undefined): void {
    if (kind instanceof Fault) return this.#refuse(kind, stream, batch)
    if (isRequest(message, kind)) return this.#receiveRequest(message, stream, batch)
    if (isNotification(message, kind) && message.method === 'notifications/cancelled') {
      this.#relay.cancel(message.params?.requestId, this)
    }
    this.#relay.receive(message, stream)
  }

  #receiveRequest(request: RpcRequest, stream: ReplyStream | undefined, batch: Batch | undefined): void {
    const problem = this.#relay.expect({ request, stream, batch, link: this })
    if (problem) return this.#refuse(problem, stream, batch)
    batch?.expect()
    this.#relay.receive(request, stream)
  }

  #refuse({ id, code, message }: Fault, stream: ReplyStream | undefined, batch?: Batch): void {
    const response: RpcResponse = { jsonrpc: '2.0', ...(id !== undefined && { id }), error: { code, message } }
    if (batch) batch.answer(response)
    else stream?.sendText(JSON.stringify(response), true, response.error)
  }
}
