import type { RpcMessage } from '../../jsonrpc/message.ts'
import { isObject, type JsonObject, omit } from '../../util/objects.ts'

/**
 * The newest state of each task that was sent. How often a client polls, and whether it learns of a change by polling or by a
 * notification, is a matter of timing. So polls are answered with the newest state instead of the recorded one.
 */
export class TaskStates {
  readonly #states = new Map<unknown, JsonObject>()

  /** Remembers the state in a message of the server, if it has one. */
  note(message: RpcMessage): void {
    const state = stateIn(message)
    if (state && !this.#isOlder(state)) this.#states.set(state.taskId, state)
  }

  /** The newest state of a task, as the result of `tasks/get`; undefined if none was sent. */
  resultFor(taskId: unknown, isStateless: boolean): JsonObject | undefined {
    const state = this.#states.get(taskId)
    return state && { ...omit(state, ['_meta', 'resultType']), ...(isStateless && { resultType: 'complete' }) }
  }

  #isOlder(state: JsonObject): boolean {
    return timeOf(state) < timeOf(this.#states.get(state.taskId) ?? {})
  }
}

/** The state is the params of a notification, the result itself, or a member of it. */
function stateIn(message: RpcMessage): JsonObject | undefined {
  const outer = 'method' in message ? message.params : message.result
  const state = isObject(outer?.task) ? outer.task : outer
  return typeof state?.taskId === 'string' && typeof state.status === 'string' ? state : undefined
}

/** ISO times compare like texts. */
function timeOf({ lastUpdatedAt }: JsonObject): string {
  return typeof lastUpdatedAt === 'string' ? lastUpdatedAt : ''
}
