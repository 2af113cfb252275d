import { ErrorCode } from '../../errors.ts'
import type { RequestId, RpcMessage, RpcRequest, RpcResponse } from '../../jsonrpc/message.ts'
import type { Transport } from '../../jsonrpc/transport.ts'
import { metaKeys } from '../../protocol/meta.ts'
import { isObject, type JsonObject } from '../../util/objects.ts'
import { type ScriptedAnswer, ScriptedServer } from '../scripted-server.ts'
import type { Transcript } from '../transcript.ts'
import { type Exchange, isRequest, type Step, toExchanges } from './exchanges.ts'
import { createRedaction, type RecordOptions, type Redaction } from './record-server.ts'
import { readRecording } from './recording-file.ts'
import { describeRequest, requestKey, toText } from './request-key.ts'
import { TaskStates } from './task-states.ts'

/** Options of `replayServer`. */
export interface ReplayOptions extends RecordOptions {
  /**
   * `any`: requests may come in any order, and may be repeated. Each gets the response that was recorded for the same method
   * and params; the last one if there are no more. `recorded`: requests must come in the recorded order. Default `any`.
   */
  order?: 'any' | 'recorded' | undefined
}

/**
 * Returns a transport to a server that answers as in a recording. A request that was never recorded gets an error that lists
 * what was.
 *
 * @example
 * await using client = await connect(replayServer('fixtures/weather.jsonl'))
 * const result = await client.callTool('forecast', { city: 'Oslo' })
 */
export function replayServer(path: string, options: ReplayOptions = {}): ReplayedServer {
  return new ReplayedServer(path, options)
}

/** A server that answers as in a recording. It is the transport of a client. */
export class ReplayedServer implements Transport {
  onmessage?: Transport['onmessage'] | undefined
  onerror?: Transport['onerror'] | undefined
  onclose?: Transport['onclose'] | undefined
  readonly #path: string
  readonly #server: ScriptedServer
  readonly #exchanges: readonly Exchange[]
  readonly #used = new Set<Exchange>()
  readonly #isOrdered: boolean
  readonly #redact: Redaction
  /** The ids of the client's requests, by their ids in the recording. */
  readonly #ids = new Map<RequestId, RequestId>()
  readonly #tasks = new TaskStates()
  readonly #answers = new Map<RequestId, (answer: RpcResponse) => void>()

  constructor(path: string, { order = 'any', redact }: ReplayOptions = {}) {
    this.#path = path
    this.#isOrdered = order === 'recorded'
    this.#redact = createRedaction(redact)
    this.#exchanges = toExchanges(readRecording(path))
    this.#server = new ScriptedServer({
      '*': (_params, request) => {
        void this.#serve(request)
        return undefined
      },
    })
    this.#server.transcript.onLine(({ from, message }) => {
      if (from === 'client' && !Array.isArray(message) && !('method' in message))
        this.#answers.get(message.id ?? '')?.(message)
    })
  }

  /** The messages of this run. */
  get transcript(): Transcript {
    return this.#server.transcript
  }

  /** The recorded requests that the client has not made yet, without polls of tasks. */
  get remaining(): RpcRequest[] {
    const unused = this.#exchanges.filter((exchange) => !this.#used.has(exchange))
    return unused.map(({ request }) => request).filter((request) => !isPoll(request))
  }

  async start(): Promise<void> {
    const { transport } = this.#server
    transport.onmessage = (message) => this.onmessage?.(message)
    transport.onclose = () => this.onclose?.()
    await transport.start()
  }

  send(message: RpcMessage | RpcMessage[]): void {
    this.#server.transport.send(message)
  }

  async close(): Promise<void> {
    await this.#server.transport.close()
  }

  async #serve(request: RpcRequest): Promise<void> {
    const exchange = isPoll(request) ? this.#findPoll(request) : this.#findCall(request)
    if (!exchange) return this.#respond(request, this.#unrecorded(request))
    this.#used.add(exchange)
    this.#ids.set(exchange.request.id, request.id)
    for (const step of exchange.steps) {
      const problem = await this.#play(step, request)
      if (problem !== undefined) return this.#respond(request, failure(problem))
    }
  }

  #findCall(request: RpcRequest): Exchange | undefined {
    return this.#isOrdered ? this.#findNext(request) : this.#find(request)
  }

  /** A recorded poll is used only after everything that led to its status, such as the answer to a question of the task. */
  #findPoll(request: RpcRequest): Exchange | undefined {
    const found = this.#find(request)
    const taskId = request.params?.taskId
    const earlier = this.#exchanges.slice(0, found && this.#exchanges.indexOf(found))
    const isReached = earlier.every(
      (exchange) => isPoll(exchange.request) || exchange.request.params?.taskId !== taskId || this.#used.has(exchange),
    )
    return isReached || !this.#pollResult(request) ? found : undefined
  }

  #find(request: RpcRequest): Exchange | undefined {
    const key = this.#keyOf(request)
    const all = this.#exchanges.filter((exchange) => requestKey(exchange.request) === key)
    return all.find((exchange) => !this.#used.has(exchange)) ?? all.at(-1)
  }

  #findNext(request: RpcRequest): Exchange | undefined {
    const next = this.#exchanges.find((exchange) => !this.#used.has(exchange) && !isPoll(exchange.request))
    return next && requestKey(next.request) === this.#keyOf(request) ? next : undefined
  }

  /** Secrets are not in the recording, so they cannot be compared either. */
  #keyOf(request: RpcRequest): string {
    return requestKey(this.#redact({ from: 'client', message: request }).message as RpcRequest)
  }

  /** Sends one message. If it is a question, waits for the answer, and describes what is wrong with it. */
  async #play({ message, answer }: Step, request: RpcRequest): Promise<string | undefined> {
    this.#tasks.note(message)
    const sent = this.#withCurrentIds(message, request)
    if (sent === undefined) return undefined
    if (!isRequest(sent)) {
      this.#server.say(sent)
      return undefined
    }
    const answered = new Promise<RpcResponse>((resolve) => this.#answers.set(sent.id, resolve))
    this.#server.say(sent)
    const given = this.#redact({ from: 'client', message: await answered }).message as RpcResponse
    this.#answers.delete(sent.id)
    if (answer === undefined || toText(outcomeOf(given)) === toText(outcomeOf(answer))) return undefined
    const [now, before] = [given, answer].map((each) => JSON.stringify(outcomeOf(each)))
    return `The client answered ${sent.method} with ${now}, but the recording ${this.#path} continues after ${before}.`
  }

  /** A message with the ids of this run; undefined if the client did not ask for it. */
  #withCurrentIds(message: RpcMessage, request: RpcRequest): RpcMessage | undefined {
    if (!('method' in message)) return { ...message, ...this.#pollResult(request), id: request.id }
    const { params = {} } = message
    if (message.method === 'notifications/progress') {
      const token = isObject(request.params?._meta) ? request.params._meta.progressToken : undefined
      return token === undefined ? undefined : { ...message, params: { ...params, progressToken: token } }
    }
    return isObject(params._meta)
      ? { ...message, params: { ...params, _meta: this.#renameMeta(params._meta) } }
      : message
  }

  #pollResult({ method, params = {} }: RpcRequest): { result: JsonObject } | undefined {
    if (method !== pollMethod) return undefined
    const isStateless = isObject(params._meta) && params._meta[metaKeys.protocolVersion] !== undefined
    const result = this.#tasks.resultFor(params.taskId, isStateless)
    return result && { result }
  }

  #renameMeta(meta: JsonObject): JsonObject {
    const id = meta[metaKeys.subscriptionId]
    if (typeof id !== 'string' && typeof id !== 'number') return meta
    return { ...meta, [metaKeys.subscriptionId]: this.#ids.get(id) ?? id }
  }

  #respond({ id }: RpcRequest, answer: ScriptedAnswer): void {
    this.#server.say({ jsonrpc: '2.0', id, ...answer })
  }

  #unrecorded(request: RpcRequest): ScriptedAnswer {
    const { method } = request
    if (method === 'ping') return { result: {} }
    const polled = this.#pollResult(request)
    if (polled) return polled
    // A client that supports more revisions than the recorded one asks first whether the server is stateless.
    if (method === 'server/discover' && this.#exchanges.some((exchange) => exchange.request.method === 'initialize'))
      return { error: { code: ErrorCode.MethodNotFound, message: 'Method not found' } }
    return failure(this.#isOrdered ? this.#outOfOrder(request) : this.#neverRecorded(request))
  }

  #outOfOrder(request: RpcRequest): string {
    const [next] = this.remaining
    const expected = next ? `The next request must be: ${describeRequest(next)}` : 'No more requests were recorded'
    return `Not in the recorded order: ${describeRequest(request)}. ${expected} (${this.#path}).`
  }

  #neverRecorded(request: RpcRequest): string {
    const all = this.#exchanges.map((exchange) => exchange.request)
    const similar = all.filter(({ method }) => method === request.method)
    const shown = [...new Set((similar.length > 0 ? similar : all).map(describeRequest))]
    const list = shown.slice(0, maxShown).join('; ') + (shown.length > maxShown ? '; ...' : '')
    return `Never recorded: ${describeRequest(request)}. ${this.#path} has: ${list || 'no requests'}. Record it again to add it.`
  }
}

const maxShown = 8

const pollMethod = 'tasks/get'

/** How often a client polls is a matter of timing, so polls have no order. */
function isPoll({ method }: RpcRequest): boolean {
  return method === pollMethod
}

function failure(message: string): ScriptedAnswer {
  return { error: { code: ErrorCode.InternalError, message } }
}

function outcomeOf({ result, error }: RpcResponse): unknown {
  return error ? { error } : result
}
