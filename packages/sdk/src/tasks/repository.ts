import { answerProblem } from '../era/questions.ts'
import { formAnswerProblem, isRefusal } from '../era/stateless/journal.ts'
import { McpError, ProtocolError, RpcCode } from '../errors.ts'
import type { ResultObject, RpcErrorBody } from '../jsonrpc/message.ts'
import type { InputRequest } from '../protocol/input.ts'
import type { TaskChange, TaskLimits, TaskPlace } from '../store/ports.ts'
import { toBase64Url } from '../util/base64url.ts'
import { clock } from '../util/clock.ts'
import { limitsOf, type Settings, type TaskEvent } from './options.ts'
import { PollPace } from './poll-pace.ts'
import {
  fromEntry,
  fromSummary,
  isFinal,
  type KeptRequest,
  type ListedTask,
  type Note,
  type SummaryBody,
  type Task,
  type TaskBody,
  toEntry,
} from './task.ts'

/** What a change makes of a task: the members that are new, and what happens along with it. */
export interface Edit extends TaskChange {
  readonly task: Partial<TaskBody & SummaryBody>
}

export interface NewTask {
  readonly owner: string
  readonly listedFor: string | null
  readonly request: KeptRequest
  readonly revision: string
  readonly sessionId: string | undefined
  readonly ttlMs: number | undefined
  readonly requiredScopes: readonly string[] | undefined
  /** Done once before it was a task. */
  readonly once?: readonly [string, string][] | undefined
  readonly body?: Partial<TaskBody & SummaryBody> | undefined
  readonly isReady: boolean
}

/** Far more than those who change one task at the same time; a store that never agrees must not keep us for ever. */
const maxTries = 1_000

/** Whom a task belongs to, as a text; callers without a name have one for all, and their ids cannot be guessed. */
export function ownerOf(principal: string | undefined): string {
  return principal === undefined ? '' : `p:${principal}`
}

/** The tasks of a server, and every way in which one can change. Only this writes to the store. */
export class TaskRepository {
  readonly #settings: Settings
  readonly #limits: TaskLimits
  readonly pace: PollPace
  /** Told what goes wrong where nothing depends on it. */
  reportError: (error: unknown) => void = () => {}

  constructor(settings: Settings) {
    this.#settings = settings
    this.#limits = limitsOf(settings)
    this.pace = new PollPace(settings.store, settings.pollIntervalMs)
  }

  async create({ owner, request, ttlMs, once = [], body, isReady, ...rest }: NewTask): Promise<Task> {
    const { store } = this.#settings
    const now = clock.now()
    const kept = Math.min(ttlMs ?? this.#settings.ttlMs, this.#settings.maxTtlMs)
    const task: Task = {
      id: toBase64Url(crypto.getRandomValues(new Uint8Array(24))),
      owner,
      version: 1,
      createdAt: now,
      expiresAt: now + kept,
      ttlMs: kept,
      ...rest,
      name: String(request.request.params?.name),
      status: 'working',
      updatedAt: now,
      questions: {},
      answers: {},
      run: 0,
      attempts: 0,
      ...body,
    }
    const notes: Note[] = [{ request }, ...once.map((entry): Note => ({ once: entry }))]
    try {
      const texts = notes.map((note) => JSON.stringify(note))
      await store.create(toEntry(task), { notes: texts, isReady, limits: this.#limits })
    } catch (error) {
      // Whoever called may try again later, and should know.
      const isFull = error instanceof McpError && error.code === 'overloaded'
      throw isFull ? new ProtocolError(RpcCode.InternalError, error.message) : error
    }
    this.pace.created()
    this.tell('created', task)
    return task
  }

  /** Somebody else's task is not found, and takes as long. */
  async find(id: string, owner: string): Promise<Task> {
    const entry = await this.#settings.store.get(id)
    if (entry?.owner === owner) return fromEntry(entry)
    throw new ProtocolError(RpcCode.InvalidParams, 'There is no such task, or no longer')
  }

  /** For the runner, which works for everybody. */
  async get(id: string): Promise<Task | undefined> {
    const entry = await this.#settings.store.get(id)
    return entry && fromEntry(entry)
  }

  async notes(id: string): Promise<Note[]> {
    return (await this.#settings.store.notes(id)).map((text) => JSON.parse(text) as Note)
  }

  async list(listedFor: string, after: TaskPlace | undefined, limit: number): Promise<ListedTask[]> {
    return (await this.#settings.store.list(listedFor, { after, limit })).map(fromSummary)
  }

  /**
   * Changes a task, however many others do so at the same time.
   * @param edit Looks at the newest state; undefined leaves it.
   * @returns The task as it is now; undefined when it is gone.
   */
  async change(id: string, edit: (task: Task) => Edit | undefined): Promise<Task | undefined> {
    for (let tries = 0; tries < maxTries; tries++) {
      const task = await this.get(id)
      if (!task) return undefined
      const edited = edit(task)
      if (!edited) return task
      const next: Task = { ...task, ...edited.task, version: task.version + 1, updatedAt: clock.now() }
      if (await this.#settings.store.replace(toEntry(next), { ...edited, limits: this.#limits })) return next
    }
    throw new McpError('overloaded', `The task ${id} could not be changed: somebody else was faster, ${maxTries} times`)
  }

  /**
   * @param isMine Looks at the newest state, also one that is final.
   * @returns The task as it ended, whoever ended it first.
   */
  async end(id: string, outcome: Outcome, isMine: (task: Task) => boolean = () => true): Promise<Task | undefined> {
    let isEnded = false
    const task = await this.change(id, (now) => {
      isEnded = isMine(now) && !isFinal(now.status)
      if (!isEnded) return undefined
      return { task: { ...outcome, questions: {}, answers: {}, state: undefined } }
    })
    if (isEnded && task) {
      this.pace.ended()
      this.tell(outcome.status, task)
    }
    return task
  }

  /**
   * Takes answers to questions that are open; others are ignored, also those that came before. When the last is there, the
   * task goes on. Throws on an answer that is none.
   */
  async answer(id: string, answers: Readonly<Record<string, unknown>>): Promise<void> {
    let isAnswered = false
    const task = await this.change(id, ({ status, questions, answers: known }) => {
      isAnswered = false
      if (status !== 'input_required') return undefined
      const keys = Object.keys(answers).filter((key) => Object.hasOwn(questions, key))
      if (keys.length === 0) return undefined
      for (const key of keys) checkAnswer(key, questions[key]!, answers[key])
      const open = Object.entries(questions).filter(([key]) => !keys.includes(key))
      isAnswered = open.length === 0
      const taken = keys.map((key) => [key, answers[key] as ResultObject] as const)
      return {
        task: {
          questions: Object.fromEntries(open),
          answers: { ...known, ...Object.fromEntries(taken) },
          ...(isAnswered && { status: 'working' as const }),
        },
        isReady: isAnswered,
      }
    })
    if (isAnswered && task) this.tell('answered', task)
  }

  tell(type: TaskEvent['type'], { id, owner, name, attempts }: Task): void {
    const principal = owner === '' ? undefined : owner.slice(2)
    const event = { type, taskId: id, principal, name, ...(type === 'started' && { attempt: attempts }) }
    try {
      this.#settings.onEvent(event)
    } catch (error) {
      this.reportError(error)
    }
  }
}

/** How a task ends. */
export type Outcome =
  | { status: 'completed'; result: ResultObject; statusMessage?: string | undefined }
  | { status: 'failed'; error: RpcErrorBody; statusMessage?: string | undefined }
  | { status: 'cancelled'; statusMessage?: string | undefined }

function checkAnswer(key: string, question: InputRequest, answer: unknown): void {
  // The client refused to answer; what to make of that is up to the handler.
  if (isRefusal(answer)) return
  const problem = answerProblem(question, answer) ?? formAnswerProblem(question, answer as ResultObject)
  if (problem === undefined) return
  throw new ProtocolError(RpcCode.InvalidParams, `params.inputResponses[${JSON.stringify(key)}]: ${problem}`)
}
