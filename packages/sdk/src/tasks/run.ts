import type { Call, TaskControl } from '../era/call.ts'
import { ProgressSender } from '../era/progress.ts'
import { ErrorCode, McpError, ProtocolError } from '../errors.ts'
import { jsonProblem } from '../jsonrpc/json-problem.ts'
import type { Params, ResultObject, RpcErrorBody } from '../jsonrpc/message.ts'
import type { Progress } from '../jsonrpc/pending.ts'
import type { Caller } from '../protocol/caller.ts'
import { isInputRequired } from '../protocol/input-check.ts'
import type { RequestMeta } from '../protocol/meta.ts'
import type { Reply } from '../replay/conversation.ts'
import type { ReplayBackend } from '../replay/replaying-conversation.ts'
import type { ReplayState } from '../replay/sealed-states.ts'
import { pause } from '../util/scheduler.ts'
import { Interruption, type TaskCall } from './call.ts'
import type { Edit, TaskOutcome, TaskRepository } from './repository.ts'
import { isFinal, type Note, type Task } from './task.ts'

/** The shortest time between two writes of the status. The newest status is always written. */
const statusPauseMs = 200

/** The `requestState` of every run: the state itself is in the record of the task. */
export const storedState = 'stored'

/** One run of a task. It writes to the repository what its handler asks, reports and returns. */
export class TaskRun implements TaskControl {
  readonly id: string
  readonly expiresAt: number | null
  readonly call: TaskCall
  readonly replay: ReplayBackend<Call>
  readonly #number: number
  readonly #repository: TaskRepository
  readonly #errorOf: RunOptions['errorOf']
  #progress: ProgressSender | undefined
  /** The state for the next run. Set if the handler asks. */
  #nextState: ReplayState | undefined
  #message: string | undefined
  #isWriting: Promise<void> | undefined

  constructor(task: Task, call: TaskCall, caller: Caller, repository: TaskRepository, options: RunOptions) {
    this.id = task.id
    this.expiresAt = task.expiresAt
    this.call = call
    this.#number = task.run
    this.#repository = repository
    this.#errorOf = options.errorOf
    call.detach(this, options.notify)
    const { progressToken: token } = (call.request.params?._meta ?? {}) as RequestMeta
    if (options.notify && token !== undefined) this.#progress = new ProgressSender(call, caller.rules, token)
    this.replay = {
      states: {
        maxRounds: options.maxRounds,
        save: async (state) => {
          this.#nextState = { ...state, journal: { ...state.journal, once: [] } }
          return storedState
        },
        load: async () => options.state,
      },
      saveOnce: (key, value) => this.#appendNote({ once: [key, value] }),
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

  /** Waits for the end of the run and writes its outcome. */
  async finish(running: PromiseLike<Reply> | Reply): Promise<void> {
    const ended = await this.#outcomeOf(running)
    this.#progress?.flush()
    this.call.end()
    await this.#isWriting
    if (ended === 'cancelled') return
    if (ended === 'requeued') return this.#requeue()
    if ('questions' in ended) await this.#suspend(ended.questions)
    else await this.#repository.end(this.id, { ...this.#statusMessage, ...ended }, (task) => this.isCurrent(task))
  }

  /** False if the task has ended, or another run has replaced this one. */
  isCurrent({ run, status }: Task): boolean {
    return run === this.#number && !isFinal(status)
  }

  async #outcomeOf(running: PromiseLike<Reply> | Reply): Promise<RunOutcome> {
    let result: ResultObject
    try {
      const ended = await Promise.race([running, this.call.interrupted])
      if (ended instanceof Interruption) return toOutcome(ended)
      result = ended as ResultObject
    } catch (error) {
      return failed(this.#errorOf(error))
    }
    const problem = jsonProblem(result)
    if (problem !== undefined) {
      const message = `The tool ${this.call.request.params?.name} returned an invalid result: ${problem}`
      return failed(this.#errorOf(new ProtocolError(ErrorCode.InternalError, message)))
    }
    if (isInputRequired(result)) return { questions: (result.inputRequests ?? {}) as Task['questions'] }
    return { status: 'completed', result, ...(result.isError === true && { statusMessage: diagnosisOf(result) }) }
  }

  async #suspend(questions: Task['questions']): Promise<void> {
    const isOpen = Object.keys(questions).length > 0
    const task = await this.#change((now) => ({
      task: {
        status: isOpen ? 'input_required' : 'working',
        ...withUniqueKeys(questions, now),
        answers: {},
        state: this.#nextState,
        attempts: 0,
        heldUntil: undefined,
        ...this.#statusMessage,
      },
      // A handler may return state without questions. Then it runs again at once.
      isReady: !isOpen,
    }))
    if (task) this.#repository.emit('input-required', task)
  }

  /** Lets another process continue. The attempt does not count, because the task did not cause its end. */
  async #requeue(): Promise<void> {
    const change = { attempts: 0, heldUntil: undefined, ...this.#statusMessage }
    const task = await this.#change(() => ({ task: change, isReady: true }))
    if (task) this.#repository.emit('requeued', task)
  }

  /** Returns undefined, and changes nothing, if this run is not the current one. */
  async #change(edit: (task: Task) => Edit): Promise<Task | undefined> {
    let isCurrent = false
    const task = await this.#repository.change(this.id, (now) => {
      isCurrent = this.isCurrent(now)
      return isCurrent ? edit(now) : undefined
    })
    return isCurrent ? task : undefined
  }

  get #statusMessage(): { statusMessage?: string } {
    return this.#message === undefined ? {} : { statusMessage: this.#message }
  }

  /** A result of `ctx.once` counts only after it is stored, so that it survives the end of this process. */
  async #appendNote(note: Note): Promise<void> {
    // The run made progress, so earlier failed attempts do not count any more.
    const task = await this.#change(() => ({ task: { attempts: 0 }, notes: [JSON.stringify(note)] }))
    if (!task) throw new McpError('cancelled', 'The task was cancelled, or another process continues it')
  }

  async #writeStatus(): Promise<void> {
    let written: string | undefined
    while (written !== this.#message && !this.call.ended) {
      const message = this.#message
      try {
        await this.#change(() => ({ task: { statusMessage: message } }))
      } catch {
        // The store is unavailable. The next status, or the end of the run, is written again.
      }
      written = message
      await Promise.race([
        pause(statusPauseMs, { unref: true }),
        this.call.interrupted,
        new Promise<void>((resolve) => this.call.onEnd(resolve)),
      ])
    }
    this.#isWriting = undefined
  }
}

type RunOutcome = TaskOutcome | { questions: Task['questions'] } | 'cancelled' | 'requeued'

export interface RunOptions {
  readonly maxRounds: number
  /** The state that earlier runs left. */
  readonly state: ReplayState
  /** Sends the client a notification about the task; undefined if its client gets none. */
  readonly notify: ((method: string, params?: Params) => void) | undefined
  errorOf(error: unknown): RpcErrorBody
}

function toOutcome({ reason }: Interruption): RunOutcome {
  return typeof reason === 'string' ? reason : failed(reason)
}

function failed(error: RpcErrorBody): TaskOutcome {
  return { status: 'failed', error, statusMessage: error.message }
}

/** Characters of a status message that come from the result of a tool. Clients show it in a list. */
const maxDiagnosis = 1_000

/** 2025-11-25 tasks, execution errors: the status of a failed task says what went wrong. */
function diagnosisOf({ content }: ResultObject): string {
  const blocks = (Array.isArray(content) ? content : []) as Params[]
  const text = blocks.flatMap((block) => (typeof block.text === 'string' ? [block.text] : [])).join('\n')
  if (text === '') return 'The tool reported an error'
  return text.length > maxDiagnosis ? `${text.slice(0, maxDiagnosis - 1).replace(/[\ud800-\udbff]$/, '')}…` : text
}

/** Tasks extension: a key is never used twice in a task, even if the handler uses it again. */
function withUniqueKeys(questions: Task['questions'], { keys = {}, run }: Task): Pick<Task, 'questions' | 'keys'> {
  const entries = Object.entries(questions).map(([key, question]) => {
    return { key, name: Object.hasOwn(keys, key) ? `${key}~${run}` : key, question }
  })
  return {
    questions: Object.fromEntries(entries.map(({ name, question }) => [name, question])),
    keys: { ...keys, ...Object.fromEntries(entries.map(({ name, key }) => [name, key])) },
  }
}
