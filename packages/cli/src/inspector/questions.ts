import { randomUUID } from 'node:crypto'
import type { CreateMessageResult, InputRequest } from 'tenon'
import { type ClientHandlers, describeFormProblem, type ElicitFormResult } from 'tenon/client'
import { usageError } from '../exit-codes.ts'
import type { EventLog } from './event-log.ts'
import { currentOperation } from './operation-context.ts'
import type { QuestionAnswer } from './protocol.ts'

interface OpenQuestion {
  readonly request: InputRequest
  answer(answer: QuestionAnswer): void
}

/** A question of a server. */
export interface AskedQuestion {
  readonly server: string
  readonly request: InputRequest
  readonly warnings?: readonly string[] | undefined
  /** The operation that it belongs to, if known. */
  readonly operation?: string | undefined
  /** Aborts when the server withdraws the question. */
  readonly signal: AbortSignal
}

/** The questions of all servers that wait for an answer of the user. */
export class Questions {
  readonly #log: EventLog
  readonly #open = new Map<string, OpenQuestion>()

  constructor(log: EventLog) {
    this.#log = log
  }

  /** Shows a question, and waits for the answer. Rejects if the server withdraws it. */
  ask({ server, request, warnings, operation, signal }: AskedQuestion): Promise<QuestionAnswer> {
    signal.throwIfAborted()
    if (this.#open.size >= maxOpen) throw new Error('Too many questions are open')
    const question = randomUUID()
    return new Promise((resolve, reject) => {
      const end = () => {
        this.#open.delete(question)
        signal.removeEventListener('abort', withdraw)
      }
      const withdraw = () => {
        end()
        this.#log.append({ kind: 'question-ended', question, outcome: 'withdrawn' })
        reject(signal.reason)
      }
      const answer = (given: QuestionAnswer) => {
        end()
        this.#log.append({ kind: 'question-ended', question, outcome: 'action' in given ? given.action : 'answered' })
        resolve(given)
      }
      this.#open.set(question, { request, answer })
      signal.addEventListener('abort', withdraw)
      const more = { ...(operation !== undefined && { operation }), ...(warnings?.length && { warnings }) }
      this.#log.append({ kind: 'question', server, question, request, ...more })
    })
  }

  /**
   * Answers a question. Returns false if it is not open.
   * @throws CliError if the answer does not fit, so that the user can correct it
   */
  answer(question: string, answer: QuestionAnswer): boolean {
    const open = this.#open.get(question)
    if (!open) return false
    const problem = answerProblem(open.request, answer)
    if (problem !== undefined) throw usageError(problem)
    open.answer(answer)
    return true
  }

  /**
   * Returns the handlers of a connection: the user answers everything but the roots.
   * @param ownerOf Returns the operation of the last request of the server with this method.
   */
  handlersOf(server: string, ownerOf: (method: string) => string | undefined): Omit<ClientHandlers, 'roots'> {
    const ask = (question: Omit<AskedQuestion, 'server' | 'operation'>) => {
      // On 2026-07-28 questions are part of a response, so the handler runs inside of the operation.
      const operation = currentOperation() ?? ownerOf(question.request.method)
      return this.ask({ ...question, server, operation })
    }
    return {
      elicit: async (form, { signal }) => {
        const request: InputRequest = { method: 'elicitation/create', params: { mode: 'form', ...form } }
        return toElicitResult(await ask({ request, signal }))
      },
      elicitUrl: async ({ message, url, elicitationId, warnings }, { signal }) => {
        const id = elicitationId === undefined ? {} : { elicitationId }
        const request: InputRequest = {
          method: 'elicitation/create',
          params: { mode: 'url', message, url: url.href, ...id },
        }
        const { action } = toElicitResult(await ask({ request, warnings, signal }))
        return { action }
      },
      sample: async (params, { signal }) => {
        const request: InputRequest = { method: 'sampling/createMessage', params }
        const answer = await ask({ request, signal })
        // The client checks it against the request.
        if ('message' in answer) return answer.message as CreateMessageResult
        throw new Error('The user declined the request')
      },
      // A person answers, which limits the rate by itself.
      samplesPerMinute: false,
    }
  }
}

/** A server cannot fill the memory with questions. */
const maxOpen = 1_000

function answerProblem({ method, params }: InputRequest, answer: QuestionAnswer): string | undefined {
  if (method === 'sampling/createMessage') {
    const isMessage = 'message' in answer || answer.action !== 'accept'
    return isMessage ? undefined : 'A sampling request is answered with a message.'
  }
  if ('message' in answer) return 'An elicitation is answered with an action.'
  const isForm = method === 'elicitation/create' && params.mode !== 'url'
  if (!isForm || answer.action !== 'accept') return undefined
  const problem = describeFormProblem(params.requestedSchema, answer.content ?? {})
  return problem === undefined ? undefined : `The content does not match the form: ${problem}.`
}

function toElicitResult(answer: QuestionAnswer): ElicitFormResult {
  if ('message' in answer) return { action: 'cancel' }
  if (answer.action !== 'accept') return { action: answer.action }
  // The client checks the content against the form.
  return { action: 'accept', content: answer.content as ElicitFormResult['content'] }
}
