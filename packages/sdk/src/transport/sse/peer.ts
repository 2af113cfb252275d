import type { RpcMessage } from '../../jsonrpc/message.ts'
import type { TextSender, Transport } from '../../jsonrpc/transport.ts'
import type { PeerLink } from '../../protocol/endpoint.ts'
import type { HttpRequest } from '../../protocol/http-request.ts'
import type { HasSession, RequestStream } from '../../protocol/transport.ts'
import { accountOf } from '../../util/account.ts'
import { random } from '../../util/random.ts'
import { type EventSink, eventHeaders, type HeaderFields, type HttpCall } from '../http/server/call.ts'
import type { HandlerServices } from '../http/server/single-request.ts'
import { EventStream } from '../http/server/streams/event-stream.ts'

/** One client of the HTTP+SSE transport. It gets every message on its one stream and sends messages by POST. */
export class SsePeer implements Transport, TextSender, HasSession {
  readonly sessionId = random.uuid()
  readonly principal: string | undefined
  readonly #services: HandlerServices
  readonly #stream: EventStream
  readonly #sink: EventSink
  readonly #onClosed: (sessionId: string) => void
  isClosed = false
  link: PeerLink | undefined

  constructor(
    call: HttpCall,
    messagesPath: string,
    services: HandlerServices,
    headers: HeaderFields | undefined,
    onClosed: (sessionId: string) => void,
  ) {
    this.principal = call.request.principal
    this.#services = services
    this.#onClosed = onClosed
    this.#sink = call.stream({ ...eventHeaders, ...headers })
    this.#stream = new EventStream('', this.#sink, undefined, {
      maxQueuedBytes: services.maxQueuedBytes,
      reportError: (error) => services.endpoint.reportError(error),
      onUnread: () => this.#ended(),
    })
    services.streams.add(this.#stream, accountOf(call.request))
    call.onClose(() => this.#stream.lost(this.#sink))
    this.#sink.write(`event: endpoint\ndata: ${messagesPath}?sessionId=${this.sessionId}\n\n`)
  }

  attach(link: PeerLink): void {
    this.link = link
    this.#services.endpoint.listening?.(link, () => this.#stream.hangUp())
  }

  /** @param request The POST that contained the message. It identifies the caller for handlers. */
  receive(value: unknown, request: HttpRequest): void {
    const stream: RequestStream = {
      request,
      era: 'handshake',
      sendText: (text) => {
        this.sendText(text)
        return true
      },
      end: () => {},
    }
    this.link?.receive(value, stream)
  }

  async start(): Promise<void> {}

  send(message: RpcMessage | RpcMessage[]): void {
    this.sendText(JSON.stringify(message))
  }

  sendText(text: string): void {
    this.#stream.send(text)
  }

  async close(): Promise<void> {
    this.#stream.end()
  }

  #ended(): void {
    this.isClosed = true
    this.#services.streams.delete(this.#stream)
    this.#onClosed(this.sessionId)
    this.link?.ended()
  }
}
