import type { Listening } from '../../era/client.ts'
import { McpError, PeerError } from '../../errors.ts'
import type { Params, ResultObject } from '../../jsonrpc/message.ts'
import { backoffMs, defaultBackoff } from '../../util/backoff.ts'
import { define, isObject, type JsonObject } from '../../util/objects.ts'
import { pause } from '../../util/pause.ts'
import { readInputRequests, unlessAborted } from '../round-trips.ts'
import type { Followed, TaskDialect, TaskPeer } from './dialect.ts'
import { retry } from './retry.ts'
import { readTask, type TaskUpdate } from './snapshot.ts'

/** How often a stream of changes that was lost is opened again. */
const maxListens = 4

const takenBack = Symbol('taken back')

/** A task of the extension `io.modelcontextprotocol/tasks`: everything comes by `tasks/get`, or is pushed. */
export class ExtensionTaskDialect implements TaskDialect {
  readonly early = undefined
  readonly #task: Followed
  readonly #peer: TaskPeer
  /** Keys that were answered, or are being: each is answered once (tasks extension, input requests). */
  readonly #asked = new Set<string>()
  /** Questions that somebody is thinking about. */
  readonly #open = new Map<string, AbortController>()
  #outstanding: ReadonlySet<string> = new Set()
  #rounds = 0
  #listening: Listening | undefined
  #signal: AbortSignal | undefined

  constructor(task: Followed, peer: TaskPeer) {
    this.#task = task
    this.#peer = peer
  }

  get isTold(): boolean {
    return this.#listening !== undefined
  }

  async look(): Promise<TaskUpdate> {
    const { id } = this.#task
    return readTask('tasks/get', id, await this.#peer.call('tasks/get', { taskId: id }))
  }

  async cancel(): Promise<undefined> {
    await this.#peer.call('tasks/cancel', { taskId: this.#task.id })
  }

  start(signal: AbortSignal): void {
    this.#signal = signal
    const stop = () => {
      for (const open of this.#open.values()) open.abort(signal.reason)
    }
    signal.addEventListener('abort', stop, { once: true })
    void this.#listen(signal)
  }

  saw({ snapshot, body }: TaskUpdate): void {
    const isAsking = snapshot.status === 'input_required'
    const questions = isAsking ? readInputRequests('tasks/get', body.inputRequests) : []
    this.#outstanding = new Set(questions.map(([key]) => key))
    for (const [key, open] of this.#open) if (!this.#outstanding.has(key)) open.abort(takenBack)
    const fresh = questions.filter(([key]) => !this.#asked.has(key))
    if (fresh.length > 0) this.#answer(fresh, this.#signal!).catch((error) => this.#task.fail(error))
  }

  async outcome({ snapshot, body }: TaskUpdate): Promise<ResultObject> {
    const { result, error } = body
    if (snapshot.status === 'cancelled') throw new McpError('cancelled', 'The task was cancelled')
    if (snapshot.status === 'failed') {
      const { code, message, data } = (isObject(error) ? error : {}) as JsonObject
      if (typeof code === 'number' && typeof message === 'string') throw new PeerError(code, message, data)
      throw new McpError('invalid-response', 'A task failed, but its server does not say of what')
    }
    if (isObject(result)) return result as ResultObject
    throw new McpError('invalid-response', 'A task was completed, but has no result')
  }

  /** All that are new, together: a server need not take answers one by one (tasks extension, `tasks/update`). */
  async #answer(questions: [string, JsonObject][], signal: AbortSignal): Promise<void> {
    if (++this.#rounds > this.#peer.maxRounds) {
      throw new McpError('invalid-response', `The task asked ${this.#peer.maxRounds} times without coming to a result`)
    }
    try {
      await this.#send(await this.#gather(questions, signal), signal)
    } catch (error) {
      // Whoever follows the task next asks anew what the server got no answer to.
      for (const [key] of questions) this.#asked.delete(key)
      if (!signal.aborted) throw error
    }
  }

  async #gather(questions: [string, JsonObject][], signal: AbortSignal): Promise<JsonObject> {
    const goOn = this.#peer.pause()
    const answers: JsonObject = {}
    try {
      await Promise.all(
        questions.map(async ([key, { method, params }]) => {
          const answer = await this.#put(key, method as string, (params as Params | undefined) ?? {}, signal)
          if (answer) define(answers, key, answer)
        }),
      )
      return answers
    } catch (error) {
      for (const [key] of questions) this.#open.get(key)?.abort(error)
      throw error
    } finally {
      goOn()
    }
  }

  /** The answer; undefined when the server took the question back. */
  async #put(key: string, method: string, params: Params, signal: AbortSignal): Promise<ResultObject | undefined> {
    const open = new AbortController()
    this.#asked.add(key)
    this.#open.set(key, open)
    try {
      return await unlessAborted(this.#peer.answer(method, params, AbortSignal.any([open.signal, signal])), open.signal)
    } catch (error) {
      if (open.signal.reason === takenBack) return undefined
      throw error
    } finally {
      this.#open.delete(key)
    }
  }

  /** Only what is still wanted: each key names an outstanding request (tasks extension, `tasks/update`). */
  async #send(answers: JsonObject, signal: AbortSignal): Promise<void> {
    const wanted: JsonObject = {}
    for (const key of Object.keys(answers)) if (this.#outstanding.has(key)) define(wanted, key, answers[key])
    if (Object.keys(wanted).length === 0) return
    const params = { taskId: this.#task.id, inputResponses: wanted }
    await retry(() => this.#peer.call('tasks/update', params), signal)
    this.#task.wake()
  }

  /** A stream is a convenience; without it the task is asked how it stands. */
  async #listen(signal: AbortSignal): Promise<void> {
    for (let tries = 0; tries < maxListens && !signal.aborted; tries++) {
      if (tries > 0) await pause(backoffMs(defaultBackoff, tries - 1), signal)
      if ((await this.#listenOnce(signal)) !== 'lost') return
    }
  }

  async #listenOnce(signal: AbortSignal): Promise<'closed' | 'lost'> {
    const { id } = this.#task
    try {
      const listening = await this.#peer.listen(id)
      const stop = () => void listening.close().catch(() => {})
      if (signal.aborted) {
        stop()
        return 'closed'
      }
      signal.addEventListener('abort', stop)
      this.#listening = listening
      // It may have changed before the server began to tell of changes.
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
