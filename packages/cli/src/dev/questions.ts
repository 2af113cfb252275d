import type { RequestId, RpcMessage, RpcNotification, RpcRequest, RpcResponse } from 'tenon'
import { isId, metaOf, withMeta } from './messages.ts'

/** A request of a server to the client that has no answer yet. */
interface Question<Server> {
  readonly server: Server
  readonly request: RpcRequest
  readonly since: number
}

/** An answer, and the question that it belongs to. */
export interface Answered<Server> extends Question<Server> {
  /** The answer with the id that the server used. */
  readonly answer: RpcMessage
}

/**
 * The open requests of servers to the client: elicitation, sampling, roots. Every process begins to count its ids anew, so the
 * client gets ids that are unique in the whole session, and an answer for a process that is gone never reaches the next.
 */
export class Questions<Server> {
  readonly #open = new Map<RequestId, Question<Server>>()
  #count = 0

  /** Returns the request as the client gets it. */
  ask(server: Server, request: RpcRequest): RpcRequest {
    const id = `tenon-dev-${++this.#count}`
    this.#open.set(id, { server, request, since: performance.now() })
    const asked = { ...request, id }
    return metaOf(request).progressToken === undefined ? asked : withMeta(asked, { progressToken: id })
  }

  /** Returns the answer as the server gets it; undefined if no server waits for it. */
  answer(response: RpcResponse & { id: RequestId }): Answered<Server> | undefined {
    const question = this.#open.get(response.id)
    this.#open.delete(response.id)
    return question && { ...question, answer: { ...response, id: question.request.id } }
  }

  /** Returns a progress notification of the client as the server gets it; undefined if no server waits for it. */
  progress(notification: RpcNotification): { server: Server; notification: RpcNotification } | undefined {
    const token = notification.params?.progressToken
    const question = isId(token) ? this.#open.get(token) : undefined
    if (!question) return undefined
    const params = { ...notification.params, progressToken: metaOf(question.request).progressToken }
    return { server: question.server, notification: { ...notification, params } }
  }

  /** Returns the cancellation of a question as the client gets it; undefined if the notification is about something else. */
  cancel(server: Server, notification: RpcNotification): RpcNotification | undefined {
    for (const [requestId, question] of this.#open) {
      if (question.server !== server || question.request.id !== notification.params?.requestId) continue
      this.#open.delete(requestId)
      return { ...notification, params: { ...notification.params, requestId } }
    }
    return undefined
  }

  /** Forgets the questions of a server that is gone, and returns the cancellations for the client. */
  drop(server: Server, reason: string): RpcNotification[] {
    const ids = [...this.#open].filter(([, question]) => question.server === server).map(([id]) => id)
    for (const id of ids) this.#open.delete(id)
    return ids.map((requestId) => ({
      jsonrpc: '2.0',
      method: 'notifications/cancelled',
      params: { requestId, reason },
    }))
  }
}
