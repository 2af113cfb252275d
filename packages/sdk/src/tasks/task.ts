import type { Caller } from '../era/server.ts'
import type { OpenedState } from '../era/stateless/states.ts'
import type { ResultObject, RpcErrorBody, RpcRequest } from '../jsonrpc/message.ts'
import type { Transport } from '../jsonrpc/transport.ts'
import type { InputRequest } from '../protocol/input.ts'
import type { TaskStatus } from '../protocol/tasks.ts'
import type { TaskEntry, TaskSummary } from '../store/ports.ts'
import type { AuthInfo } from '../util/auth-info.ts'

/** As much of a task as a list shows. */
export interface ListedTask extends Omit<TaskSummary, 'summary' | 'isOpen'>, SummaryBody {}

/** A task as it stands. */
export interface Task extends ListedTask, TaskBody {}

/** What the store keeps without looking at it, and lists read too. */
export interface SummaryBody {
  /** A tool's own failure is `completed` here; what to call it is a matter of the dialect. */
  status: TaskStatus
  statusMessage?: string | undefined
  updatedAt: number
  ttlMs: number | null
  /** The tool, for those who keep books. */
  name: string
  /** The tool itself failed. */
  isError?: boolean | undefined
  /** The scopes of the tool when the task was created. The tool may be disabled or removed before its task is read. */
  requiredScopes?: readonly string[] | undefined
}

/** What the store keeps without looking at it. */
export interface TaskBody {
  /** Of the client that wanted it. */
  revision: string
  /** The session that created it. */
  sessionId?: string | undefined
  /** Open questions by the key that clients know them by. */
  questions: Readonly<Record<string, InputRequest>>
  /** The names of all questions so far, and what the handler calls them. */
  keys?: Readonly<Record<string, string>> | undefined
  /** Answers that no run has seen yet. */
  answers: Readonly<Record<string, ResultObject>>
  /** What the runs so far leave to the next, but for what was done once: that is noted when it happens. */
  state?: OpenedState | undefined
  /** The run that may write; whoever has another number was replaced. */
  run: number
  /** Until then the process in which the call became a task runs it, without having been given it by the store. */
  heldUntil?: number | undefined
  /** Runs that began since it last got any further. */
  attempts: number
  result?: ResultObject | undefined
  error?: RpcErrorBody | undefined
}

/** What is noted of a task: first the request, then everything that was done once. */
export type Note = { request: KeptRequest } | { once: [key: string, value: string] }

/** Everything that a run needs to know of the call, wherever it takes place. */
export interface KeptRequest {
  request: RpcRequest
  caller: Pick<Caller, 'clientInfo' | 'capabilities' | 'logLevel' | 'answers'>
  /** Of the HTTP request; never its headers, in which secrets travel. */
  http?: { url: string; principal?: string | undefined; auth?: AuthInfo | undefined } | undefined
  /** The identity of the connection, on other transports. */
  peer?: Pick<Transport, 'auth' | 'principal' | 'isLocalUser'> | undefined
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
