import { principalOf } from '../era/access.ts'
import type { Call } from '../era/call.ts'
import { ProtocolError, RpcCode } from '../errors.ts'
import type { Params, ResultObject } from '../jsonrpc/message.ts'
import type { Context } from '../server/context.ts'
import type { TaskPlace } from '../store/ports.ts'
import { toCoreTask } from './core-dialect.ts'
import { ownerOf, type TaskRepository } from './repository.ts'
import type { ListedTask } from './task.ts'

const pageSize = 100

/** Tasks of the caller, the oldest first, in pages (2025-11-25 tasks, listing). */
export async function listTasks(
  { cursor }: Params,
  ctx: Context,
  book: TaskRepository,
  mayUse: (task: ListedTask) => boolean,
): Promise<ResultObject> {
  let after = cursor === undefined ? undefined : toPlace(cursor as string)
  const listedFor = listOf(ctx.call)
  if (listedFor === null) return { tasks: [] }
  const found: ListedTask[] = []
  for (;;) {
    const page = await book.list(listedFor, after, pageSize)
    found.push(...page.filter(mayUse))
    after = page.at(-1)
    if (found.length > pageSize || page.length < pageSize) break
  }
  const shown = found.slice(0, pageSize)
  return {
    tasks: shown.map((task) => toCoreTask(task, book.pace)),
    ...(found.length > pageSize && { nextCursor: toCursor(shown.at(-1)!) }),
  }
}

/**
 * The list that a task of this caller is in. Callers without a name must not see what others without a name do; their session
 * tells them apart. Over HTTP without sessions nothing does, so there is no list.
 */
export function listOf(call: Pick<Call, 'link' | 'stream'>): string | null {
  const principal = principalOf(call)
  if (principal !== undefined) return ownerOf(principal)
  const { sessionId } = call.link.transport
  if (call.stream?.request && sessionId === undefined) return null
  return `s:${sessionId ?? ''}`
}

function toCursor({ createdAt, id }: ListedTask): string {
  return btoa(JSON.stringify([createdAt, id]))
}

function toPlace(cursor: string): TaskPlace {
  try {
    const [createdAt, id] = JSON.parse(atob(cursor)) as unknown[]
    if (typeof createdAt === 'number' && typeof id === 'string') return { createdAt, id }
  } catch {
    // Not one of ours.
  }
  throw new ProtocolError(RpcCode.InvalidParams, 'params.cursor was not given out by this server')
}
