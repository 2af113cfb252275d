import type { CallInput } from '../../era/client.ts'
import { McpError } from '../../errors.ts'
import { checkParams } from '../../protocol/params.ts'
import type { ClientHandlers, ServerIdentity } from './handlers.ts'
import { InputHandlers } from './input-handlers.ts'

/**
 * Answers questions that belong to single calls, for programs that call one server on behalf of many users. On revisions
 * whose requests declare the capabilities of the client, each call has its own.
 */
export class CallQuestions {
  readonly #handlers: InputHandlers
  readonly #server: ServerIdentity

  constructor(handlers: ClientHandlers, server: ServerIdentity) {
    this.#handlers = new InputHandlers(handlers, {})
    this.#server = server
  }

  /** @param originOf Returns what is passed to the handlers, so that they know the call and the key of the question. */
  of(originOf: (key: string) => unknown, exchange?: CallInput['exchange']): CallInput {
    const { capabilities, methods } = this.#handlers
    return {
      capabilities,
      answer: async ({ key, method, params }, signal) => {
        const answer = methods.get(method)
        if (!answer) throw notDeclared(method)
        checkParams(method, params)
        return answer(params, { server: this.#server, signal, origin: originOf(key) })
      },
      ...(exchange && { exchange }),
    }
  }
}

function notDeclared(method: string): McpError {
  return new McpError('invalid-response', `The server requests ${method}, which the caller did not declare`)
}
