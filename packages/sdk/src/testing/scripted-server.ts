import { classify, Fault, type Params, type RpcMessage, type RpcRequest } from '../jsonrpc/message.ts'
import type { ClientTransport } from '../protocol/transport.ts'
import { InMemoryTransport } from '../transport/memory/memory.ts'
import { Transcript } from './transcript.ts'

/** What a scripted server does with a request: a whole answer without jsonrpc and id, or undefined for silence. */
export type ScriptedAnswer = { result: unknown } | { error: unknown } | undefined

/** A server that answers exactly what it is told to, right or wrong. Hand `transport` to a client. */
export class ScriptedServer {
  readonly transcript = new Transcript()
  /** The client's end. */
  readonly transport: ClientTransport
  readonly #own: InMemoryTransport

  /** @param answers By method; `'*'` takes the rest. Methods without an answer get -32601. */
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

  /** Any message at all. */
  say(message: unknown): void {
    this.transcript.add('server', message)
    this.#own.send(message as RpcMessage)
  }

  /** Ends as a server that went away does. */
  async close(): Promise<void> {
    await this.#own.close()
  }
}

function methodNotFound(): ScriptedAnswer {
  return { error: { code: -32601, message: 'Method not found' } }
}
