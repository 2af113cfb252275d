import { describe, expect, it } from 'vitest'
import type { Caller } from '../protocol/caller.ts'
import { TaskCall } from './call.ts'
import type { TaskRepository } from './repository.ts'
import { TaskRun } from './run.ts'
import type { Task } from './task.ts'

const request = { jsonrpc: '2.0' as const, id: 1, method: 'tools/call', params: { name: 'work' } }
const newCall = () => TaskCall.ofTask({ request } as never, {}, undefined)

/** A run whose store fails. */
function failingRun(): TaskRun {
  const fail = async () => {
    throw new Error('disk full')
  }
  const repository = { change: fail, end: fail, emit: () => {} } as unknown as TaskRepository
  const task = { id: 't', expiresAt: null, run: 1 } as Task
  return new TaskRun(task, newCall(), {} as Caller, repository, {
    maxRounds: 3,
    state: {} as never,
    notify: undefined,
    errorOf: (error) => ({ code: -32603, message: String(error) }),
  })
}

describe('the end of a run', () => {
  it.each([
    ['a result', { content: [] }],
    ['questions', { resultType: 'input_required', inputRequests: { k: { method: 'roots/list' } } }],
    ['nothing but state', { resultType: 'input_required', requestState: 'kept' }],
  ])('is not reported before %s is stored', async (_, result) => {
    await expect(failingRun().finish(result as never)).rejects.toThrow('disk full')
  })

  it('that is requeued is not reported before it is stored', async () => {
    const run = failingRun()
    run.call.interrupt('requeued', undefined)
    await expect(run.finish(new Promise<never>(() => {}))).rejects.toThrow('disk full')
  })

  it('that was cancelled is not stored, because the store knows', async () => {
    const run = failingRun()
    run.call.interrupt('cancelled', undefined)
    await run.finish(new Promise<never>(() => {}))
    expect(run.call.ended).toBe(true)
  })
})

describe('a handler that keeps asking after its task has ended', () => {
  it('gets an error a hundred times, and then no answer, so that it cannot loop', async () => {
    const call = newCall()
    call.end()
    for (let count = 0; count < 100; count++) {
      await expect(call.refuseLate('elicitation/create')).rejects.toThrow('the task has ended')
    }
    const last = call.refuseLate('elicitation/create').then(
      () => 'answered',
      () => 'refused',
    )
    expect(await Promise.race([last, new Promise((resolve) => setImmediate(resolve, 'pending'))])).toBe('pending')
  })
})
