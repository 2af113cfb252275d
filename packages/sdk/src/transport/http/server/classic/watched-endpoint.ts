import type { CloseDetail } from '../../../../errors.ts'
import type { ReceivedKind } from '../../../../jsonrpc/batch.ts'
import type { Prepared, RequestId, RpcMessage, RpcNotification, RpcResponse } from '../../../../jsonrpc/message.ts'
import { errorOf } from '../../../../jsonrpc/send.ts'
import type { ReplyStream } from '../../../../jsonrpc/transport.ts'
import type { AuthInfo } from '../../../../protocol/auth-info.ts'
import type { Endpoint, PeerLink, RevisionFacts } from '../../../../protocol/endpoint.ts'
import type { HttpRequest } from '../../../../protocol/http-request.ts'
import type { RequestStream, ServerTransport } from '../../../../protocol/transport.ts'
import { isObject } from '../../../../util/objects.ts'

/** Whom a transport shows its messages to, on their way in and out. */
export interface MessageWatcher {
  /** Whether somebody looks at outgoing messages; where nobody does, they take the short way. */
  readonly watchesSend: boolean
  readonly watchesReceive: boolean
  /** @param way What `deliver` sends on: a copy of a message can stand for any message that goes the same way. */
  send(message: RpcMessage | RpcMessage[], relatedId: RequestId | undefined, way: object, deliver: Deliver): void
  receive(value: unknown, stream: ReplyStream | undefined, deliver: (value: unknown) => void): void
}

export type Deliver = (message: RpcMessage | RpcMessage[]) => void

/** A server whose peers all belong to one transport, which sees what they say and are told. */
export class WatchedEndpoint implements Endpoint {
  readonly #server: Endpoint
  readonly #watcher: MessageWatcher
  readonly changes: Endpoint['changes']

  constructor(server: Endpoint, watcher: MessageWatcher) {
    this.#server = server
    this.#watcher = watcher
    this.changes = server.changes
  }

  get revisions(): readonly RevisionFacts[] {
    return this.#server.revisions
  }

  attach(transport: ServerTransport): PeerLink {
    return new WatchedLink(this.#server.attach(new WatchedPeer(transport, this.#watcher)), this.#watcher)
  }

  revisionOf(link: PeerLink): RevisionFacts | undefined {
    return this.#server.revisionOf((link as WatchedLink).link)
  }

  saveSession(link: PeerLink, message: unknown): ((before: unknown) => unknown) | undefined {
    return this.#server.saveSession((link as WatchedLink).link, message)
  }

  restoreSession(link: PeerLink, state: unknown): void {
    this.#server.restoreSession((link as WatchedLink).link, state)
  }

  tellSession(link: PeerLink, change: object | undefined): void {
    this.#server.tellSession((link as WatchedLink).link, change)
  }

  reportError(error: unknown): void {
    this.#server.reportError(error)
  }

  hold(): () => Promise<void> {
    return this.#server.hold()
  }
}

class WatchedLink implements PeerLink {
  readonly link: PeerLink
  readonly #watcher: MessageWatcher

  constructor(link: PeerLink, watcher: MessageWatcher) {
    this.link = link
    this.#watcher = watcher
  }

  get batching(): boolean {
    return this.link.batching
  }

  set batching(value: boolean) {
    this.link.batching = value
  }

  get omitsUnknownId(): boolean {
    return this.link.omitsUnknownId
  }

  set omitsUnknownId(value: boolean) {
    this.link.omitsUnknownId = value
  }

  get firstId(): number {
    return this.link.firstId
  }

  set firstId(value: number) {
    this.link.firstId = value
  }

  classify(value: unknown): ReceivedKind {
    return this.link.classify(value)
  }

  receive(value: unknown, stream?: ReplyStream, kind?: ReceivedKind): void {
    const watcher = this.#watcher
    const shown = stream && watcher.watchesSend ? new WatchedStream(stream, idOf(value), watcher) : stream
    // The program that watches may change the message, so it is classified again afterwards.
    if (watcher.watchesReceive) watcher.receive(value, shown, (taken) => this.link.receive(taken, shown))
    else this.link.receive(value, shown, kind)
  }

  concerns(message: RpcNotification | RpcResponse): boolean {
    return this.link.concerns(message)
  }

  close(graceMs?: number): Promise<void> {
    return this.link.close(graceMs)
  }

  ended(detail?: CloseDetail): void {
    this.link.ended(detail)
  }
}

/** The way to a peer for what belongs to no request. */
class WatchedPeer implements ServerTransport {
  readonly #peer: ServerTransport
  readonly #watcher: MessageWatcher

  constructor(peer: ServerTransport, watcher: MessageWatcher) {
    this.#peer = peer
    this.#watcher = watcher
  }

  get sessionId(): string | undefined {
    return this.#peer.sessionId
  }

  get principal(): string | undefined {
    return this.#peer.principal
  }

  async start(): Promise<void> {}

  send(message: RpcMessage | RpcMessage[]): void {
    this.sendText(JSON.stringify(message))
  }

  sendText(text: string): void {
    if (!this.#watcher.watchesSend) return this.#peer.sendText!(text)
    this.#watcher.send(JSON.parse(text), undefined, this.#peer, (message) =>
      this.#peer.sendText!(JSON.stringify(message)),
    )
  }

  disconnect(retryMs: number): void {
    this.#peer.disconnect?.(retryMs)
  }

  close(): Promise<void> {
    return this.#peer.close()
  }
}

/** The stream of one request. */
class WatchedStream implements RequestStream {
  readonly #stream: RequestStream
  readonly #requestId: RequestId | undefined
  readonly #watcher: MessageWatcher

  constructor(stream: RequestStream, requestId: RequestId | undefined, watcher: MessageWatcher) {
    this.#stream = stream
    this.#requestId = requestId
    this.#watcher = watcher
  }

  sendText(text: string, isLast: boolean): boolean {
    if (!isLast && this.#stream.begin?.() === false) return false
    this.#watcher.send(JSON.parse(text), this.#requestId, this.#stream, (message) => {
      this.#stream.sendText(JSON.stringify(message), isLast, errorOf(message))
    })
    return true
  }

  sendPrepared(_id: RequestId, _result: Prepared): boolean {
    return false
  }

  end(): void {
    this.#stream.end()
  }

  disconnect(retryMs: number): void {
    this.#stream.disconnect?.(retryMs)
  }

  get request(): HttpRequest | undefined {
    return this.#stream.request
  }

  get authInfo(): AuthInfo | undefined {
    return this.#stream.authInfo
  }

  get requestInfo(): { headers: Readonly<Record<string, string>> } | undefined {
    return this.#stream.requestInfo
  }

  get era(): 'handshake' | 'stateless' | undefined {
    return this.#stream.era
  }

  get assumedRevision(): string | undefined {
    return this.#stream.assumedRevision
  }
}

function idOf(value: unknown): RequestId | undefined {
  return isObject(value) ? (value.id as RequestId) : undefined
}
