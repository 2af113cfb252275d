import type { ResultObject, RpcErrorBody, RpcRequest } from '../jsonrpc/message.ts'
import type { AuthInfo } from '../protocol/auth-info.ts'
import type { Caller } from '../protocol/caller.ts'
import type { InputRequest } from '../protocol/input.ts'
import type { TaskStatus } from '../protocol/tasks.ts'
import type { HasIdentity, LocalUser } from '../protocol/transport.ts'
import type { ReplayState } from '../replay/sealed-states.ts'
import type { TaskEntry, TaskSummary } from '../store/ports.ts'

/** The part of a task that lists contain. */
export interface ListedTask extends Omit<TaskSummary, 'summary' | 'isOpen'>, SummaryBody {}

/** A task with everything that is stored in its record. */
export interface Task extends ListedTask, TaskBody {}

/** The members that lists need too. The store keeps them as text. */
export interface SummaryBody {
  /** `completed` also if the tool returned an error; dialects may report that as `failed`. */
  status: TaskStatus
  statusMessage?: string | undefined
  updatedAt: number
  ttlMs: number | null
  /** The name of the tool. */
  name: string
  /** Whether the tool returned an error. */
  isError?: boolean | undefined
  /** The scopes of the tool when the task was created. The tool may be disabled or removed before its task is read. */
  requiredScopes?: readonly string[] | undefined
}

/** The other members. The store keeps them as text. */
export interface TaskBody {
  /** The revision of the client that created the task. */
  revision: string
  /** The session that created the task. */
  sessionId?: string | undefined
  /** Open questions, by the key that clients use. */
  questions: Readonly<Record<string, InputRequest>>
  /** The keys that clients used so far, and the handler's key for each. */
  keys?: Readonly<Record<string, string>> | undefined
  /** Answers that no run has read yet. */
  answers: Readonly<Record<string, ResultObject>>
  /** The state for the next run, without results of `ctx.once`: those are stored as notes as soon as they exist. */
  state?: ReplayState | undefined
  /** The number of the current run. Only that run may change the task. */
  run: number
  /** Set if a call was promoted: until then its process runs the task without a lease from the store. */
  heldUntil?: number | undefined
  /** Runs since the task last made progress. */
  attempts: number
  result?: ResultObject | undefined
  error?: RpcErrorBody | undefined
}

/** An append-only note of a task: first its request, then each result of `ctx.once`. */
export type Note = { request: StoredRequest } | { once: [key: string, value: string] }

/** The request that created a task, with everything that a run in any process needs. */
export interface StoredRequest {
  request: RpcRequest
  caller: Pick<Caller, 'clientInfo' | 'capabilities' | 'logLevel' | 'canAnswer'>
  /** Of the HTTP request. Headers are not stored, because they contain secrets. */
  http?: { url: string; principal?: string | undefined; auth?: AuthInfo | undefined } | undefined
  /** The identity of the connection, on other transports. */
  peer?: Partial<HasIdentity & LocalUser> | undefined
}

export function isFinal(status: TaskStatus): boolean {
  return status === 'completed' || status === 'failed' || status === 'cancelled'
}

export function toEntry(task: Task): TaskEntry {
  const { id, owner, listedFor, version, createdAt, expiresAt, ...rest } = task
  const { status, statusMessage, updatedAt, ttlMs, name, requiredScopes, isError: _isError, ...body } = rest
  const isError = body.result?.isError === true || undefined
  const summary: SummaryBody = { status, statusMessage, updatedAt, ttlMs, name, isError, requiredScopes }
  return {
    ...{ id, owner, listedFor, version, createdAt, expiresAt },
    isOpen: !isFinal(status),
    summary: JSON.stringify(summary),
    body: JSON.stringify(body),
  }
}

export function fromEntry({ body, ...entry }: TaskEntry): Task {
  return { ...fromSummary(entry), ...(JSON.parse(body) as TaskBody) }
}

export function fromSummary({ summary, isOpen: _isOpen, ...entry }: TaskSummary): ListedTask {
  return { ...entry, ...(JSON.parse(summary) as SummaryBody) }
}
