import type { InspectorEvent } from '../../../src/inspector/protocol.ts'
import { Changes } from './changes.ts'
import type { EventOf, ViewModel } from './view-model.ts'

/** A task in its newest state. */
export interface TaskView {
  readonly server: string
  readonly task: EventOf<'task'>['task']
  readonly operation?: string | undefined
  /** The states that it had, oldest first. */
  readonly history: readonly { readonly at: number; readonly status: string; readonly message?: string | undefined }[]
}

/** The columns of the board. */
export const taskStates = ['working', 'input_required', 'completed', 'failed', 'cancelled'] as const

const maxHistory = 50

/** The tasks of every server. */
export class Tasks implements ViewModel {
  readonly changes = new Changes()
  readonly #byKey = new Map<string, TaskView>()

  apply(event: InspectorEvent): void {
    if (event.kind !== 'task') return
    const key = `${event.server} ${event.task.taskId}`
    const before = this.#byKey.get(key)
    const step = { at: event.at, status: event.task.status, message: event.task.statusMessage }
    const history = [...(before?.history ?? []), step].slice(-maxHistory)
    const operation = event.operation ?? before?.operation
    const task = before && isOutOfDate(event.task, before.task) ? before.task : event.task
    this.#byKey.set(key, { server: event.server, task, operation, history })
    this.changes.mark()
  }

  /** Tasks of a server, newest first. */
  of(server: string): TaskView[] {
    return [...this.#byKey.values()].filter((view) => view.server === server).reverse()
  }

  ofOperation(operation: string | undefined): TaskView | undefined {
    if (operation === undefined) return undefined
    return [...this.#byKey.values()].find((view) => view.operation === operation)
  }
}

const finalStates: readonly string[] = ['completed', 'failed', 'cancelled']

/**
 * A response to `tasks/get` may arrive after a notification of a later state, because they take different streams. Final
 * states do not change any more.
 */
function isOutOfDate(task: TaskView['task'], before: TaskView['task']): boolean {
  if (finalStates.includes(before.status)) return !finalStates.includes(task.status)
  return Date.parse(task.lastUpdatedAt) < Date.parse(before.lastUpdatedAt)
}
