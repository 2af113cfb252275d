import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { McpError } from '../../errors.ts'
import type { Params, ResultObject } from '../../jsonrpc/message.ts'
import type { RequestOptions, SendOptions } from '../../jsonrpc/pending.ts'
import type { Call } from '../call.ts'
import { askAsTask, type TaskProgress, taskProgressed } from './client-task.ts'

/** A call whose client answers each method in turn. */
function callWith(answers: Record<string, (ResultObject | Error)[]>) {
  const asked: string[] = []
  const call = {
    ended: false,
    request: { method: 'tools/call', params: { name: 'book' } },
    ask: async (method: string, _params: Params, { signal }: { signal?: AbortSignal } = {}) => {
      signal?.throwIfAborted()
      asked.push(method)
      const answer = answers[method]?.shift() ?? {}
      if (answer instanceof Error) throw answer
      return answer
    },
    refuseLate: (method: string) => Promise.reject(new McpError('cancelled', `${method} was not sent`)),
  }
  const errors: unknown[] = []
  const progress: TaskProgress = new Map()
  const limits = { onTask: undefined, reportError: (error: unknown) => void errors.push(error) }
  const ask = (options: RequestOptions = {}) =>
    askAsTask(call as unknown as Call, 'elicitation/create', {}, { ...options, progress, limits })
  return { call, asked, ask, progress, errors }
}

const task = (status: string) => ({ taskId: 't', status, pollInterval: 1 })

describe('a question that the client may answer as a task', () => {
  it('is answered at once by a client that makes no task of it', async () => {
    const { ask, asked } = callWith({ 'elicitation/create': [{ action: 'accept' }] })
    expect(await ask()).toEqual({ action: 'accept' })
    expect(asked).toEqual(['elicitation/create'])
  })

  it('is polled while the task works, and then has its result', async () => {
    const { ask, asked } = callWith({
      'elicitation/create': [{ task: task('working') }],
      'tasks/get': [task('working'), task('completed')],
      'tasks/result': [{ action: 'decline' }],
    })
    expect(await ask()).toEqual({ action: 'decline' })
    expect(asked).toEqual(['elicitation/create', 'tasks/get', 'tasks/get', 'tasks/result'])
  })

  it('fails if the task has no id', async () => {
    const { ask, asked } = callWith({ 'elicitation/create': [{ task: { ...task('working'), taskId: 1 } }] })
    await expect(ask()).rejects.toMatchObject({ code: 'invalid-response' })
    expect(asked).toHaveLength(1)
  })

  it('fails if the client cancels the task', async () => {
    const { ask, asked } = callWith({
      'elicitation/create': [{ task: task('working') }],
      'tasks/get': [task('cancelled')],
    })
    await expect(ask()).rejects.toMatchObject({ code: 'cancelled', message: 'The client cancelled the task' })
    expect(asked).toEqual(['elicitation/create', 'tasks/get'])
  })

  it('fails with an error of the client, and leaves the task to it', async () => {
    const { ask, asked } = callWith({
      'elicitation/create': [{ task: task('working') }],
      'tasks/get': [new McpError('peer', 'no such task')],
    })
    await expect(ask()).rejects.toThrow('no such task')
    expect(asked).toEqual(['elicitation/create', 'tasks/get'])
  })

  it('is cancelled at the client if the signal has aborted meanwhile', async () => {
    const stop = new AbortController()
    const { ask, asked, call } = callWith({})
    call.ask = async (method) => {
      asked.push(method)
      stop.abort(new Error('enough'))
      return { task: task('working') }
    }
    const error = await ask({ signal: stop.signal }).catch((reason) => reason)
    expect(error).toMatchObject({ code: 'cancelled', message: 'elicitation/create was cancelled' })
    expect(error.cause).toEqual(new Error('enough'))
    expect(asked).toEqual(['elicitation/create', 'tasks/cancel'])
  })

  it('is cancelled at the client after its timeout', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    onTestFinished(() => void vi.useRealTimers())
    const slow = { ...task('working'), pollInterval: 60_000 }
    const { ask, asked } = callWith({ 'elicitation/create': [{ task: slow }] })
    const failed = expect(ask({ timeoutMs: 1_000 })).rejects.toMatchObject({ code: 'timeout', timeoutMs: 1_000 })
    await vi.advanceTimersByTimeAsync(1_000)
    await failed
    expect(asked).toEqual(['elicitation/create', 'tasks/cancel'])
  })

  it('sends nothing more when the call has ended', async () => {
    const { ask, asked, call } = callWith({ 'elicitation/create': [{ task: task('working') }] })
    const failed = expect(ask()).rejects.toThrow('tasks/get was not sent')
    call.ended = true
    await failed
    expect(asked).toEqual(['elicitation/create'])
  })

  it('reports progress that increases, until the task ends [PROG-010] [PROG-011]', async () => {
    const { ask, call, progress, errors } = callWith({})
    const send = (value: number) => taskProgressed(progress, { progressToken: 7, progress: value })
    call.ask = async (method, _params, options: SendOptions = {}) => {
      if (method === 'elicitation/create') {
        options.onSent?.(7)
        for (const value of [1, 3, 2, 3, 4]) send(value)
        return { task: task('completed') }
      }
      for (let value = 5; value <= 5_000; value++) send(value)
      return { action: 'accept' }
    }
    const values: number[] = []
    await ask({
      onProgress: (value) => {
        values.push(value.progress)
        if (value.progress === 3) throw new Error('of the listener')
      },
    })
    send(6_000)
    expect(values.slice(0, 4)).toEqual([1, 3, 4, 5])
    expect(values.length).toBeLessThan(200)
    expect(values.at(-1)).toBe(5_000)
    expect(errors).toEqual([new Error('of the listener')])
  })
})
