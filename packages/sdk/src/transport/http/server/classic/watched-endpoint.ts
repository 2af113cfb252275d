import type { Prepared, RequestId, RpcMessage } from '../../../../jsonrpc/message.ts'
import { errorOf, type ReplyStream } from '../../../../jsonrpc/transport.ts'
import type { AuthInfo } from '../../../../protocol/auth-info.ts'
import type { Endpoint, PeerLink } from '../../../../protocol/endpoint.ts'
import type { HttpRequest } from '../../../../protocol/http-request.ts'
import type { RequestStream, ServerTransport } from '../../../../protocol/transport.ts'
import { isObject } from '../../../../util/objects.ts'

/** Sees the messages of every client of one transport. */
export interface MessageWatcher {
  /** Whether a program watches outgoing messages; if not, they are sent directly. */
  readonly watchesSend: boolean
  readonly watchesReceive: boolean
  /** @param route Where `deliver` sends to. A copy of a message can stand for any message with the same route. */
  send(message: RpcMessage | RpcMessage[], relatedId: RequestId | undefined, route: object, deliver: Deliver): void
  receive(value: unknown, stream: ReplyStream | undefined, deliver: (value: unknown) => void): void
}

export type Deliver = (message: RpcMessage | RpcMessage[]) => void

/** Returns the endpoint of a server whose clients all belong to one transport, which watches their messages. */
export function watchEndpoint(server: Endpoint, watcher: MessageWatcher): Endpoint {
  return {
    ...server,
    attach: (transport) => watchLink(server.attach(new WatchedPeer(transport, watcher)), watcher),
  }
}

/** Replaces `receive` of one link, so that the server still finds its own link in later calls. */
function watchLink(link: PeerLink, watcher: MessageWatcher): PeerLink {
  const receive = link.receive.bind(link)
  link.receive = (value, stream, kind) => {
    const watched = stream && watcher.watchesSend ? new WatchedStream(stream, idOf(value), watcher) : stream
    // The program may change the message, so it is classified again afterwards.
    if (watcher.watchesReceive) watcher.receive(value, watched, (changed) => receive(changed, watched))
    else receive(value, watched, kind)
  }
  return link
}

/** Sends messages that belong to no request. */
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
    const deliver = (json: string) => this.#peer.sendText?.(json)
    if (!this.#watcher.watchesSend) return deliver(text)
    this.#watcher.send(JSON.parse(text), undefined, this.#peer, (message) => deliver(JSON.stringify(message)))
  }

  disconnect(retryMs: number): void {
    this.#peer.disconnect?.(retryMs)
  }

  close(): Promise<void> {
    return this.#peer.close()
  }
}

/** Sends messages that belong to one request. */
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

  get requestInfo(): RequestStream['requestInfo'] {
    return this.#stream.requestInfo
  }

  get era(): RequestStream['era'] {
    return this.#stream.era
  }

  get assumedRevision(): string | undefined {
    return this.#stream.assumedRevision
  }
}

function idOf(value: unknown): RequestId | undefined {
  return isObject(value) ? (value.id as RequestId) : undefined
}
