import type { KeyedInputRequest, Listening } from '../../era/client.ts'
import { McpError, PeerError } from '../../errors.ts'
import type { ResultObject } from '../../jsonrpc/message.ts'
import { joinSignals } from '../../util/abort.ts'
import { backoffMs, defaultBackoff } from '../../util/backoff.ts'
import { define, isObject, type JsonObject } from '../../util/objects.ts'
import { pause } from '../../util/scheduler.ts'
import { readInputRequests, unlessAborted } from '../input/round-trips.ts'
import type { PolledTask, TaskClient, TaskDialect } from './dialect.ts'
import { retry } from './poller.ts'
import { readTask, type TaskUpdate } from './snapshot.ts'

/** How often a lost stream of task updates is opened again. */
const maxListens = 4

const withdrawn = Symbol('withdrawn')

/** A task of the extension `io.modelcontextprotocol/tasks`: `tasks/get` or a notification brings everything. */
export class ExtensionTaskDialect implements TaskDialect {
  readonly earlyOutcome = undefined
  readonly #task: PolledTask
  readonly #client: TaskClient
  /** Keys whose handling has begun: each request for input is handled once (tasks extension, input requests). */
  readonly #handled = new Set<string>()
  /** The requests for input that are being handled. */
  readonly #pending = new Map<string, AbortController>()
  #outstanding: ReadonlySet<string> = new Set()
  #rounds = 0
  #listening: Listening | undefined
  /** Replaced by `start`. */
  #signal = AbortSignal.abort()

  constructor(task: PolledTask, client: TaskClient) {
    this.#task = task
    this.#client = client
  }

  get isNotified(): boolean {
    return this.#listening !== undefined
  }

  async fetch(): Promise<TaskUpdate> {
    const { id } = this.#task
    return readTask('tasks/get', id, await this.#client.call('tasks/get', { taskId: id }))
  }

  async cancel(): Promise<undefined> {
    await this.#client.call('tasks/cancel', { taskId: this.#task.id })
  }

  start(signal: AbortSignal): void {
    this.#signal = signal
    const stop = () => {
      for (const pending of this.#pending.values()) pending.abort(signal.reason)
    }
    signal.addEventListener('abort', stop, { once: true })
    void this.#listen(signal)
  }

  update({ snapshot, body }: TaskUpdate): void {
    const needsInput = snapshot.status === 'input_required'
    const requests = needsInput ? readInputRequests('tasks/get', body.inputRequests) : []
    this.#outstanding = new Set(requests.map(({ key }) => key))
    for (const [key, pending] of this.#pending) if (!this.#outstanding.has(key)) pending.abort(withdrawn)
    const fresh = requests.filter(({ key }) => !this.#handled.has(key))
    if (fresh.length > 0) this.#provideInput(fresh, this.#signal).catch((error) => this.#task.fail(error))
  }

  async outcome({ snapshot, body }: TaskUpdate): Promise<ResultObject> {
    const { result, error } = body
    if (snapshot.status === 'cancelled') throw new McpError('cancelled', 'The task was cancelled')
    if (snapshot.status === 'failed') {
      const { code, message, data } = isObject(error) ? error : {}
      if (typeof code === 'number' && typeof message === 'string') throw new PeerError(code, message, data)
      throw new McpError('invalid-response', 'The task failed, but the server did not send an error')
    }
    if (isObject(result)) return result
    throw new McpError('invalid-response', 'The task completed, but the server did not send a result')
  }

  /** Sends all new responses together: servers need not accept them one by one (tasks extension, `tasks/update`). */
  async #provideInput(requests: KeyedInputRequest[], signal: AbortSignal): Promise<void> {
    const { maxRounds } = this.#client
    if (++this.#rounds > maxRounds) {
      throw new McpError(
        'invalid-response',
        `The task requested input ${maxRounds} times without returning a result (maxRounds)`,
      )
    }
    try {
      await this.#send(await this.#gather(requests, signal), signal)
    } catch (error) {
      // The server has no response yet, so the next poll has to handle these requests again.
      for (const { key } of requests) this.#handled.delete(key)
      if (!signal.aborted) throw error
    }
  }

  async #gather(requests: KeyedInputRequest[], signal: AbortSignal): Promise<JsonObject> {
    const resume = this.#client.pause()
    const responses: JsonObject = {}
    try {
      await Promise.all(
        requests.map(async (request) => {
          const response = await this.#respond(request, signal)
          if (response) define(responses, request.key, response)
        }),
      )
      return responses
    } catch (error) {
      for (const { key } of requests) this.#pending.get(key)?.abort(error)
      throw error
    } finally {
      resume()
    }
  }

  /** Returns undefined if the server withdrew the request. */
  async #respond(request: KeyedInputRequest, signal: AbortSignal): Promise<ResultObject | undefined> {
    const { key } = request
    const pending = new AbortController()
    this.#handled.add(key)
    this.#pending.set(key, pending)
    const joined = joinSignals([pending.signal, signal])
    try {
      const response = this.#client.answer(request, joined.signal)
      return await unlessAborted(response, pending.signal)
    } catch (error) {
      if (pending.signal.reason === withdrawn) return undefined
      throw error
    } finally {
      joined.release()
      this.#pending.delete(key)
    }
  }

  /** Sends responses to outstanding requests only (tasks extension, `tasks/update`). */
  async #send(responses: JsonObject, signal: AbortSignal): Promise<void> {
    const inputResponses: JsonObject = {}
    for (const key of Object.keys(responses)) {
      if (this.#outstanding.has(key)) define(inputResponses, key, responses[key])
    }
    if (Object.keys(inputResponses).length === 0) return
    const params = { taskId: this.#task.id, inputResponses }
    await retry(() => this.#client.call('tasks/update', params), signal)
    this.#task.wake()
  }

  /** Listens for updates if the server sends them. Polling continues either way. */
  async #listen(signal: AbortSignal): Promise<void> {
    for (let tries = 0; tries < maxListens && !signal.aborted; tries++) {
      if (tries > 0) await pause(backoffMs(defaultBackoff, tries - 1), { signal })
      if ((await this.#listenOnce(signal)) !== 'lost') return
    }
  }

  async #listenOnce(signal: AbortSignal): Promise<'closed' | 'lost'> {
    const { id } = this.#task
    try {
      const listening = await this.#client.listen(id)
      const stop = () => void listening.close().catch(() => {})
      if (signal.aborted) {
        stop()
        return 'closed'
      }
      signal.addEventListener('abort', stop)
      this.#listening = listening
      // The task may have changed before the server began to send updates.
      this.#task.wake()
      const how = await listening.ended
      signal.removeEventListener('abort', stop)
      if (this.#listening === listening) this.#listening = undefined
      this.#task.wake()
      return how
    } catch {
      return 'closed'
    }
  }
}
