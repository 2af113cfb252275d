import { principalOf } from '../era/access.ts'
import { ProtocolError, RpcCode } from '../errors.ts'
import type { Params, ResultObject } from '../jsonrpc/message.ts'
import type { Context } from '../server/context.ts'
import type { TaskPlace } from '../store/ports.ts'
import { ownerOf, type TaskBook } from './book.ts'
import { toLegacyTask } from './legacy.ts'
import type { Settings } from './options.ts'
import type { Task } from './task.ts'

const pageSize = 100

/** Tasks of the caller, the oldest first, in pages (2025-11-25 tasks, listing). */
export async function listTasks(
  { cursor }: Params,
  ctx: Context,
  book: TaskBook,
  settings: Settings,
  mayUse: (task: Task) => boolean,
): Promise<ResultObject> {
  const owner = ownerOf(principalOf(ctx.call))
  const found: Task[] = []
  let after = cursor === undefined ? undefined : toPlace(cursor as string)
  for (;;) {
    const page = await book.list(owner, after, pageSize)
    found.push(...page.filter((task) => isListed(task, ctx) && mayUse(task)))
    after = page.at(-1)
    if (found.length > pageSize || page.length < pageSize) break
  }
  const shown = found.slice(0, pageSize)
  return {
    tasks: shown.map((task) => toLegacyTask(task, settings)),
    ...(found.length > pageSize && { nextCursor: toCursor(shown.at(-1)!) }),
  }
}

/** Whoever has no name must not see what others without a name do; their session tells them apart. */
function isListed({ sessionId }: Task, { call, request, sessionId: mine }: Context): boolean {
  if (principalOf(call) !== undefined) return true
  // HTTP without sessions: nothing tells them apart.
  if (request && mine === undefined) return false
  return sessionId === mine
}

function toCursor({ createdAt, id }: Task): string {
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
