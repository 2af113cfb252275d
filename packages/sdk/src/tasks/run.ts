import type { TaskControl } from '../era/call.ts'
import { isInputRequired } from '../era/questions.ts'
import type { Caller, Reply } from '../era/server.ts'
import type { ConversationHost } from '../era/stateless/conversation.ts'
import type { JournalState } from '../era/stateless/journal.ts'
import type { OpenedState } from '../era/stateless/states.ts'
import { McpError, ProtocolError, RpcCode } from '../errors.ts'
import type { Params, ResultObject, RpcErrorBody } from '../jsonrpc/message.ts'
import type { Progress } from '../jsonrpc/pending.ts'
import type { RequestMeta } from '../protocol/meta.ts'
import { ProgressSender } from '../server/progress.ts'
import { jsonProblem } from '../util/json-problem.ts'
import { elapsed } from '../util/pause.ts'
import { Interrupted, type TaskCall } from './call.ts'
import type { Edit, Outcome, TaskRepository } from './repository.ts'
import { isFinal, type Note, type Task } from './task.ts'

/** So often at most is a status written; the newest is never lost. */
const statusPauseMs = 200

/** One run of a task: everything that its handler leaves behind goes into the book by way of this. */
export class TaskRun implements TaskControl {
  readonly id: string
  readonly expiresAt: number | null
  readonly call: TaskCall
  readonly host: ConversationHost
  readonly #number: number
  readonly #book: TaskRepository
  readonly #errorOf: RunOptions['errorOf']
  #progress: ProgressSender | undefined
  /** What the handler leaves to the next run, when it asks. */
  #kept: OpenedState | undefined
  #message: string | undefined
  #isWriting: Promise<void> | undefined

  constructor(task: Task, call: TaskCall, caller: Caller, book: TaskRepository, options: RunOptions) {
    this.id = task.id
    this.expiresAt = task.expiresAt
    this.call = call
    this.#number = task.run
    this.#book = book
    this.#errorOf = options.errorOf
    call.detach(this, options.tell)
    const { progressToken: token } = (call.request.params?._meta ?? {}) as RequestMeta
    if (options.tell && token !== undefined) this.#progress = new ProgressSender(call, caller.rules, token)
    this.host = {
      states: {
        maxRounds: options.maxRounds,
        seal: async (state) => {
          this.#kept = { ...state, journal: { ...state.journal, once: [] } }
          return 'kept'
        },
        open: async () => options.opened,
      },
      note: (key, value) => this.#note({ once: [key, value] }),
      complete: (_method, _caller, result) => result,
      sign: (result) => result,
    }
  }

  status(message: string): void {
    this.#message = String(message)
    this.#isWriting ??= this.#writeStatus()
  }

  progress(progress: number, details: Omit<Progress, 'progress'> = {}): void {
    this.#progress?.send({ progress, ...details })
    const { total, message } = details
    this.status(message ?? (total === undefined ? String(progress) : `${progress} of ${total}`))
  }

  /** Writes down how the run ended. */
  async finish(running: PromiseLike<Reply> | Reply): Promise<void> {
    const ended = await this.#outcomeOf(running)
    this.#progress?.flush()
    this.call.end()
    await this.#isWriting
    if (ended === 'cancelled') return
    if (ended === 'handed-back') return this.#handBack()
    if ('questions' in ended) await this.#suspend(ended.questions)
    else await this.#book.end(this.id, this.#withMessage(ended), (task) => this.isMine(task))
  }

  isMine({ run, status }: Task): boolean {
    return run === this.#number && !isFinal(status)
  }

  async #outcomeOf(running: PromiseLike<Reply> | Reply): Promise<Ended> {
    let result: ResultObject
    try {
      const ended = await Promise.race([running, this.call.interrupted])
      if (ended instanceof Interrupted) return this.#interrupted(ended)
      result = ended as ResultObject
    } catch (error) {
      return this.#failed(this.#errorOf(error))
    }
    const problem = jsonProblem(result)
    if (problem !== undefined) {
      const message = `The tool ${this.call.request.params?.name} returned an invalid result: ${problem}`
      return this.#failed(this.#errorOf(new ProtocolError(RpcCode.InternalError, message)))
    }
    if (isInputRequired(result)) return { questions: (result.inputRequests ?? {}) as Task['questions'] }
    return { status: 'completed', result }
  }

  #interrupted({ how }: Interrupted): Outcome | 'cancelled' | 'handed-back' {
    return typeof how === 'string' ? how : this.#failed(how)
  }

  #failed(error: RpcErrorBody): Outcome {
    return { status: 'failed', error, statusMessage: error.message }
  }

  async #suspend(questions: Task['questions']): Promise<void> {
    const isOpen = Object.keys(questions).length > 0
    const task = await this.#change((now) => ({
      task: {
        status: isOpen ? 'input_required' : 'working',
        ...withFreshKeys(questions, now),
        answers: {},
        state: this.#kept,
        attempts: 0,
        heldUntil: undefined,
        ...this.#statusMessage,
      },
      // A handler may return state without a question, and runs again with it.
      isReady: !isOpen,
    }))
    if (task) this.#book.tell('input-required', task)
  }

  /** Another process goes on; that this one ends is nothing against the task. */
  async #handBack(): Promise<void> {
    const left = { attempts: 0, heldUntil: undefined, ...this.#statusMessage }
    const task = await this.#change(() => ({ task: left, isReady: true }))
    if (task) this.#book.tell('handed-back', task)
  }

  /** Undefined, and nothing is changed, when the task has ended or was given to another run. */
  async #change(edit: (task: Task) => Edit): Promise<Task | undefined> {
    let isMine = false
    const task = await this.#book.change(this.id, (now) => {
      isMine = this.isMine(now)
      return isMine ? edit(now) : undefined
    })
    return isMine ? task : undefined
  }

  #withMessage(outcome: Outcome): Outcome {
    return { ...this.#statusMessage, ...outcome } as Outcome
  }

  get #statusMessage(): { statusMessage?: string } {
    return this.#message === undefined ? {} : { statusMessage: this.#message }
  }

  /** Done is what is noted: if this process ends now, another finds it. */
  async #note(note: Note): Promise<void> {
    // It got further, so whatever ended earlier runs was not this.
    const task = await this.#change(() => ({ task: { attempts: 0 }, notes: [JSON.stringify(note)] }))
    if (!task) throw new McpError('cancelled', 'The task was cancelled, or runs elsewhere now')
  }

  async #writeStatus(): Promise<void> {
    let written: string | undefined
    while (written !== this.#message && !this.call.ended) {
      const message = this.#message
      try {
        await this.#change(() => ({ task: { statusMessage: message } }))
      } catch {
        // The store is away; the next status, or the end, is written again.
      }
      written = message
      await Promise.race([
        elapsed(statusPauseMs),
        this.call.interrupted,
        new Promise<void>((resolve) => this.call.onEnd(resolve)),
      ])
    }
    this.#isWriting = undefined
  }
}

type Ended = Outcome | { questions: Task['questions'] } | 'cancelled' | 'handed-back'

export interface RunOptions {
  readonly maxRounds: number
  /** What earlier runs left. */
  readonly opened: OpenedState
  /** Sends the client a notification that belongs to the task; undefined where tasks have none. */
  readonly tell: ((method: string, params?: Params) => void) | undefined
  errorOf(error: unknown): RpcErrorBody
}

export const emptyJournal: JournalState = { round: 0, once: [], answers: {}, asked: {}, changed: 0 }

/** Tasks extension: keys are unique in the life of a task, whatever its handler calls the questions. */
function withFreshKeys(questions: Task['questions'], { keys = {}, run }: Task): Pick<Task, 'questions' | 'keys'> {
  const entries = Object.entries(questions).map(([key, question]) => {
    return { key, name: Object.hasOwn(keys, key) ? `${key}~${run}` : key, question }
  })
  return {
    questions: Object.fromEntries(entries.map(({ name, question }) => [name, question])),
    keys: { ...keys, ...Object.fromEntries(entries.map(({ name, key }) => [name, key])) },
  }
}
