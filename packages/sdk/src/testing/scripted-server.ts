import { classify, Fault, type Params, type RpcMessage, type RpcRequest } from '../jsonrpc/message.ts'
import type { ClientTransport } from '../protocol/transport.ts'
import { InMemoryTransport } from '../transport/memory/memory.ts'
import { Transcript } from './transcript.ts'

/** How a scripted server answers a request: a whole response without jsonrpc and id, or undefined for no response. */
export type ScriptedAnswer = { result: unknown } | { error: unknown } | undefined

/** A server that answers exactly what a test asks for, valid or not. Pass `transport` to a client. */
export class ScriptedServer {
  readonly transcript = new Transcript()
  /** The transport of the client. */
  readonly transport: ClientTransport
  readonly #own: InMemoryTransport

  /** @param answers By method; `'*'` handles all others. Methods without an answer get the error -32601. */
  constructor(answers: Record<string, (params: Params, request: RpcRequest) => ScriptedAnswer>) {
    const [theirs, ours] = InMemoryTransport.createLinkedPair()
    this.transport = theirs
    this.#own = ours
    ours.onmessage = (message) => {
      this.transcript.add('client', message)
      if (classify(message) instanceof Fault || !('id' in (message as object)) || !('method' in (message as object)))
        return
      const request = message as RpcRequest
      const answer = answers[request.method] ?? answers['*'] ?? methodNotFound
      const body = answer(request.params ?? {}, request)
      if (body) this.say({ jsonrpc: '2.0', id: request.id, ...body })
    }
    void ours.start()
  }

  /** Sends any message. */
  say(message: unknown): void {
    this.transcript.add('server', message)
    this.#own.send(message as RpcMessage)
  }

  /** Closes the connection, like a server that exits. */
  async close(): Promise<void> {
    await this.#own.close()
  }
}

function methodNotFound(): ScriptedAnswer {
  return { error: { code: -32601, message: 'Method not found' } }
}
