import type { Reply } from '../era/server.ts'
import { type ConversationHost, StatelessConversation } from '../era/stateless/conversation.ts'
import type { ResultObject } from '../jsonrpc/message.ts'
import type { Serving } from '../server/dispatch.ts'
import { deferred } from '../util/deferred.ts'
import { elapsed } from '../util/pause.ts'
import { TaskCall } from './call.ts'
import type { NewTask, TaskRepository } from './repository.ts'
import { emptyJournal, type TaskRun } from './run.ts'
import type { TaskRunner } from './runner.ts'
import type { Task } from './task.ts'

export interface Promotion {
  readonly serving: Serving
  readonly book: TaskRepository
  readonly runner: TaskRunner
  readonly newTask: Omit<NewTask, 'isReady'>
  /** The answer that says it is a task. */
  created(task: Task): Reply
}

/**
 * Serves a call, and makes a task of it when that takes longer than it may. The handler goes on as if nothing had happened;
 * what it does and asks from then on is the task's.
 *
 * @param always Whether the answer is a task also when it was quick.
 */
export async function serveFor(afterMs: number, always: boolean, becoming: Promotion): Promise<Reply> {
  const { serving } = becoming
  const call = TaskCall.ofRequest(serving.exchange)
  const conversation = serving.converse(call)
  if (!(conversation instanceof StatelessConversation)) throw new TypeError('Only 2026-07-28 lets the server decide')
  if (always) conversation.completeWith((_method, _caller, result) => createEnded(result, becoming))
  const running = (async () => serving.serve(call, conversation))()
  let isOver = false
  const over = () => {
    isOver = true
  }
  await Promise.race([running.then(over, over), elapsed(afterMs)])
  const isAnswered = isOver || call.ended || conversation.isAsking
  return isAnswered ? running : becomeTask(call, conversation, running, becoming)
}

async function becomeTask(
  call: TaskCall,
  conversation: StatelessConversation,
  running: Promise<Reply>,
  { serving, book, runner, newTask, created }: Promotion,
): Promise<Reply> {
  const run = deferred<TaskRun>()
  run.promise.catch(() => {})
  const opened = await conversation.handOver(hostOf(run.promise))
  try {
    const { once } = opened.journal
    const body = { run: 1, attempts: 1, heldUntil: runner.holdUntil(), state: withoutOnce(opened) }
    const task = await book.create({ ...newTask, once, body, isReady: true })
    const begun = runner.createRun(task, call, serving.caller, { journal: emptyJournal, byHand: undefined })
    run.resolve(begun)
    runner.follow(begun, running)
    return created(task)
  } catch (error) {
    running.catch(() => {})
    run.reject(error)
    call.interrupt('cancelled', error)
    throw error
  }
}

/** Until the task is kept, what is done once waits. */
function hostOf(run: Promise<TaskRun>): ConversationHost {
  return {
    states: {
      maxRounds: Number.POSITIVE_INFINITY,
      seal: async (state, call) => (await run).host.states.seal(state, call),
      open: async (text, call) => (await run).host.states.open(text, call),
    },
    note: async (key, value) => (await run).host.note?.(key, value),
    complete: (_method, _caller, result) => result,
    sign: (result) => result,
  }
}

/** It was quick, but its client is promised a task. */
async function createEnded(result: ResultObject, { book, newTask, created }: Promotion): Promise<Reply> {
  const { id } = await book.create({ ...newTask, isReady: false })
  return created((await book.end(id, { status: 'completed', result }))!)
}

function withoutOnce<T extends { journal: { once: [string, string][] } }>(opened: T): T {
  return { ...opened, journal: { ...opened.journal, once: [] } }
}
