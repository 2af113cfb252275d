import { isIndistinct, principalOf } from '../era/access.ts'
import type { Call } from '../era/call.ts'
import { methodNotFound } from '../era/method-errors.ts'
import { ErrorCode, ProtocolError } from '../errors.ts'
import type { Params, ResultObject } from '../jsonrpc/message.ts'
import type { Context } from '../server/context.ts'
import type { TaskPosition } from '../store/ports.ts'
import { toCoreTask } from './core-dialect.ts'
import { ownerOf, type TaskRepository } from './repository.ts'
import type { ListedTask } from './task.ts'

const pageSize = 100

/** `tasks/list`: the caller's tasks in pages, oldest first (2025-11-25 tasks, listing). */
export async function listTasks(
  { cursor }: Params,
  ctx: Context,
  repository: TaskRepository,
  maySee: (task: ListedTask) => boolean,
): Promise<ResultObject> {
  let after = cursor === undefined ? undefined : parseCursor(cursor as string)
  const listedFor = listOf(ctx.call)
  // Such callers were told that there is no list: a task that `tasks/get` finds would have to be in it.
  if (listedFor === null) throw methodNotFound('tasks/list')
  const found: ListedTask[] = []
  for (;;) {
    const page = await repository.list(listedFor, after, pageSize)
    found.push(...page.filter(maySee))
    after = page.at(-1)
    if (found.length > pageSize || page.length < pageSize) break
  }
  const shown = found.slice(0, pageSize)
  return {
    tasks: shown.map((task) => toCoreTask(task, repository.pollInterval)),
    ...(found.length > pageSize && { nextCursor: toCursor(shown.at(-1)!) }),
  }
}

/**
 * The list that contains the caller's tasks. Unauthenticated callers must not see each other's tasks, so each session has a
 * list of its own. Over HTTP without sessions they cannot be told apart, so the result is null.
 */
export function listOf(call: Pick<Call, 'link' | 'stream'>): string | null {
  if (isIndistinct(call)) return null
  const principal = principalOf(call)
  return principal === undefined ? `s:${call.link.transport.sessionId ?? ''}` : ownerOf(principal)
}

function toCursor({ createdAt, id }: ListedTask): string {
  return btoa(JSON.stringify([createdAt, id]))
}

function parseCursor(cursor: string): TaskPosition {
  try {
    const [createdAt, id] = JSON.parse(atob(cursor)) as unknown[]
    if (typeof createdAt === 'number' && typeof id === 'string') return { createdAt, id }
  } catch {
    // Not a cursor of this server.
  }
  throw new ProtocolError(ErrorCode.InvalidParams, 'params.cursor was not issued by this server')
}
