import type { Call } from '../era/call.ts'
import type { ResultObject } from '../jsonrpc/message.ts'
import type { Reply } from '../replay/conversation.ts'
import { emptyJournal } from '../replay/journal.ts'
import { type ReplayBackend, ReplayingConversation } from '../replay/replaying-conversation.ts'
import type { Serving } from '../server/dispatch.ts'
import { deferred } from '../util/deferred.ts'
import { pause } from '../util/scheduler.ts'
import { TaskCall } from './call.ts'
import type { NewTask, TaskRepository } from './repository.ts'
import type { TaskRun } from './run.ts'
import type { TaskRunner } from './runner.ts'
import type { Task } from './task.ts'

export interface Promotion {
  /** How long a call may take before it becomes a task. */
  readonly afterMs: number
  /** Whether the result is a task even if the call was faster. */
  readonly always: boolean
  readonly serving: Serving
  /** How the call is replayed while it is not a task. */
  readonly replay: ReplayBackend<Call>
  readonly repository: TaskRepository
  readonly runner: TaskRunner
  readonly newTask: Omit<NewTask, 'isReady'>
  /** The result of a call that became a task. */
  created(task: Task): Reply
}

/**
 * Serves a call, and promotes it to a task if it takes longer than `afterMs`, or when the handler wants it. The handler continues without noticing; what it
 * does and asks afterwards belongs to the task.
 */
export async function serveOrPromote(promotion: Promotion): Promise<Reply> {
  const { serving, afterMs, always, replay } = promotion
  const call = TaskCall.ofRequest(serving.exchange)
  const backend = always ? { ...replay, complete: createEnded(promotion) } : replay
  const conversation = new ReplayingConversation<Call>(call, serving.caller, backend)
  const running = (async () => serving.serve(call, conversation))()
  let isSettled = false
  const onSettled = () => {
    isSettled = true
  }
  await Promise.race([running.then(onSettled, onSettled), pause(afterMs, { unref: true }), call.wantsTask])
  const isAnswered = isSettled || call.ended || conversation.isAsking
  return isAnswered ? running : promote(call, conversation, running, promotion)
}

async function promote(
  call: TaskCall,
  conversation: ReplayingConversation<Call>,
  running: Promise<Reply>,
  { serving, repository, runner, newTask, created }: Promotion,
): Promise<Reply> {
  const run = deferred<TaskRun>()
  run.promise.catch(() => {})
  const state = await conversation.handOver(backendOf(run.promise))
  try {
    const { once } = state.journal
    const body = { run: 1, attempts: 1, heldUntil: runner.holdUntil(), state: withoutOnce(state) }
    const task = await repository.create({ ...newTask, once, body, isReady: true })
    const taskRun = runner.createRun(task, call, serving.caller, { journal: emptyJournal, handlerState: undefined })
    run.resolve(taskRun)
    runner.follow(taskRun, running)
    return created(task)
  } catch (error) {
    running.catch(() => {})
    run.reject(error)
    call.interrupt('cancelled', error)
    throw error
  }
}

/** Passes everything on to the run. Until the task is stored, results of `ctx.once` wait. */
function backendOf(run: Promise<TaskRun>): ReplayBackend<Call> {
  return {
    states: {
      maxRounds: Number.POSITIVE_INFINITY,
      save: async (state, call) => (await run).replay.states.save(state, call),
      load: async (requestState, call) => (await run).replay.states.load(requestState, call),
    },
    saveOnce: async (key, value) => (await run).replay.saveOnce?.(key, value),
    complete: (_method, _caller, result) => result,
    sign: (result) => result,
  }
}

/** Stores the result of a fast call as a task that has ended, for clients that always get a task. */
function createEnded({ repository, newTask, created }: Promotion): ReplayBackend<Call>['complete'] {
  return async (_method, _caller, result: ResultObject) => {
    const { id } = await repository.create({ ...newTask, isReady: false })
    return created((await repository.end(id, { status: 'completed', result }))!)
  }
}

function withoutOnce<T extends { journal: { once: [string, string][] } }>(state: T): T {
  return { ...state, journal: { ...state.journal, once: [] } }
}
