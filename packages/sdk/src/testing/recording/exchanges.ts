import type { RequestId, RpcMessage, RpcNotification, RpcRequest, RpcResponse } from '../../jsonrpc/message.ts'
import type { RecordedLine } from './recording-file.ts'

/** A request of the client, and everything that the server sent because of it, in order. */
export interface Exchange {
  readonly request: RpcRequest
  readonly steps: readonly Step[]
}

/** One message of the server. */
export interface Step {
  readonly message: RpcMessage
  /** How the client answered, if the message is a request. */
  readonly answer?: RpcResponse | undefined
}

/** Whether a message is a request. */
export function isRequest(message: RpcMessage): message is RpcRequest {
  return 'method' in message && 'id' in message
}

/**
 * Assigns the messages of a server to the requests of its client. Responses and progress name their request. Everything else is
 * assigned to the newest request that is not answered yet, or to the last one: a notification follows the call that caused it.
 */
export function toExchanges(lines: readonly RecordedLine[]): Exchange[] {
  const reader = new ExchangeReader()
  for (const { from, message } of lines) {
    if (from === 'server') reader.fromServer(message)
    else reader.fromClient(message)
  }
  return reader.exchanges
}

interface OpenExchange extends Exchange {
  readonly steps: OpenStep[]
  isAnswered: boolean
}

interface OpenStep extends Step {
  answer?: RpcResponse
}

class ExchangeReader {
  readonly exchanges: OpenExchange[] = []
  readonly #byId = new Map<RequestId, OpenExchange>()
  readonly #questions = new Map<RequestId, OpenStep>()

  fromClient(message: RpcMessage): void {
    if (isRequest(message)) {
      const exchange: OpenExchange = { request: message, steps: [], isAnswered: false }
      this.exchanges.push(exchange)
      this.#byId.set(message.id, exchange)
    } else if (!('method' in message)) {
      const question = this.#questions.get(message.id ?? '')
      if (question) question.answer = message
    }
  }

  fromServer(message: RpcMessage): void {
    const step: OpenStep = { message }
    if (isRequest(message)) this.#questions.set(message.id, step)
    const owner = 'method' in message ? this.#ownerOf(message) : this.#byId.get(message.id ?? '')
    owner?.steps.push(step)
    if (owner && !('method' in message)) owner.isAnswered = true
  }

  #ownerOf({ method, params }: RpcNotification): OpenExchange | undefined {
    const token = method === 'notifications/progress' ? params?.progressToken : undefined
    if (typeof token === 'string' || typeof token === 'number') return this.#byId.get(token) ?? this.exchanges.at(-1)
    // A subscription stays open while other calls cause its notifications.
    const isWaiting = ({ isAnswered, request }: OpenExchange) =>
      !isAnswered && request.method !== 'subscriptions/listen'
    return this.exchanges.findLast(isWaiting) ?? this.exchanges.at(-1)
  }
}
