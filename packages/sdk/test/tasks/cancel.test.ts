import type { McpServer } from 'tenon/server'
import { describe, expect } from 'vitest'
import { gate } from '../kit/gate.ts'

import { always, everyDialect, everyTask, legacy, modern } from './support.ts'

/** Creates a tool that reports its start and its abort, and ends when the test says so. */
function stubborn() {
  const began = gate()
  const stopped = gate<unknown>()
  const finish = gate<string>()
  const ended = gate()
  const define = (server: McpServer) => {
    server.registerTool('stubborn', always, async (_, ctx) => {
      ctx.signal.addEventListener('abort', () => stopped.open(ctx.signal.reason))
      began.open()
      try {
        const text = await finish.opened
        if (text === 'throw') throw new Error('too late')
        return text
      } finally {
        ended.open()
      }
    })
    server.registerTool('ask', always, async (_, ctx) => (await ctx.elicit('Go on?')).action)
    server.registerTool('quick', always, () => 'quick')
  }
  return { define, began: began.opened, stopped: stopped.opened, finish: finish.open, ended: ended.opened }
}

describe('cancelling', () => {
  everyTask(
    'ends a working task before the response is sent, and aborts its handler [TASK-042] [TASK-043] [XTASK-028]',
    async (world) => {
      const tool = stubborn()
      const peer = await world.peer(await world.serve(tool.define))
      const id = await peer.start('stubborn')
      await tool.began
      const { result, error } = await peer.cancel(id)
      expect(error).toBeUndefined()
      if (world.isModern) expect(result).toMatchObject({ resultType: 'complete' })
      else expect(result).toMatchObject({ taskId: id, status: 'cancelled' })
      expect(await peer.state(id)).toMatchObject({ status: 'cancelled' })
      expect(await tool.stopped).toBeInstanceOf(Error)
      tool.finish('done')
    },
    { channels: ['memory', 'http'] },
  )

  for (const how of ['done', 'throw']) {
    everyTask(`is final even when the handler still finishes (${how}) [TASK-044] [TASK-020]`, async (world) => {
      const tool = stubborn()
      const peer = await world.peer(await world.serve(tool.define))
      const id = await peer.start('stubborn')
      await tool.began
      await peer.cancel(id)
      const before = await peer.state(id)
      tool.finish(how)
      await tool.ended
      // Another task runs to completion in the meantime.
      await peer.result(await peer.start('quick'))
      expect(await peer.state(id)).toEqual(before)
    })
  }

  everyTask('ends a task that waits for input, and ignores a later answer [TASK-042] [TASK-020]', async (world) => {
    const peer = await world.peer(await world.serve(stubborn().define))
    const id = await peer.start('ask')
    const [question] = await peer.questions(id)
    expect((await peer.cancel(id)).error).toBeUndefined()
    await question!.answer({ action: 'accept', content: {} })
    await peer.result(await peer.start('quick'))
    const { result } = await peer.request('tasks/get', { taskId: id })
    expect(result).toMatchObject({ status: 'cancelled' })
    expect(result).not.toHaveProperty('inputRequests')
  })

  everyTask(
    'of a finished task is rejected on 2025-11-25 [TASK-041]',
    async (world) => {
      const peer = await world.peer(await world.serve(stubborn().define))
      const completed = await peer.start('quick')
      await peer.result(completed)
      const cancelled = await peer.start('ask')
      await peer.cancel(cancelled)
      for (const [id, status] of [
        [completed, 'completed'],
        [cancelled, 'cancelled'],
      ] as const) {
        const { error } = await peer.cancel(id)
        expect(error).toEqual({ code: -32602, message: `The task cannot be cancelled: it is already ${status}` })
        expect((await peer.state(id)).status).toBe(status)
      }
    },
    { revisions: [legacy] },
  )

  everyTask(
    'of a finished task is acknowledged on 2026-07-28 without effect [XTASK-028]',
    async (world) => {
      const peer = await world.peer(await world.serve(stubborn().define))
      const id = await peer.start('quick')
      await peer.result(id)
      const before = await peer.state(id)
      const { result } = await peer.cancel(id)
      expect(Object.keys(result ?? {}).sort()).toEqual(['_meta', 'resultType'])
      expect(result?.resultType).toBe('complete')
      expect(await peer.state(id)).toEqual(before)
    },
    { revisions: [modern] },
  )

  everyTask('concurrently succeeds for one caller on 2025-11-25 [TASK-041] [TASK-042]', async (world) => {
    const tool = stubborn()
    const server = await world.serve(tool.define)
    const peers = [await world.peer(server), await world.peer(server)]
    const id = await peers[0]!.start('stubborn')
    await tool.began
    const answers = await Promise.all([...peers, ...peers].map((peer) => peer.cancel(id)))
    const statuses = answers.map(({ result, error }) => (error ? error.code : (result?.status ?? result?.resultType)))
    if (world.isModern) expect(statuses).toEqual(['complete', 'complete', 'complete', 'complete'])
    else expect(statuses.sort()).toEqual([-32602, -32602, -32602, 'cancelled'])
    tool.finish('done')
  })

  everyDialect(
    'requires tasks/cancel: notifications/cancelled for the request does not affect its task [CANC-004]',
    async (world) => {
      const tool = stubborn()
      const peer = await world.peer(await world.serve(tool.define))
      const id = await peer.start('stubborn')
      await tool.began
      for (const requestId of [1, 2, 3]) {
        await peer.channel.say({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId } })
      }
      expect((await peer.state(id)).status).toBe('working')
      tool.finish('done')
      expect(await peer.textOf(id)).toBe('done')
    },
  )

  everyDialect(
    'answers a pending tasks/result with an error [TASK-025]',
    async (world) => {
      const tool = stubborn()
      const server = await world.serve(tool.define)
      const peer = await world.peer(server)
      const id = await peer.start('stubborn')
      await tool.began
      const waiting = peer.wait(id)
      await peer.cancel(id)
      expect((await waiting).error).toMatchObject({ message: 'The task was cancelled' })
      tool.finish('done')
    },
    { revisions: [legacy] },
  )

  everyDialect('of a task that no worker has started prevents it from running [TASK-043]', async (world) => {
    let runs = 0
    const define = (server: McpServer) =>
      void server.registerTool('count', always, () => {
        runs++
        return 'ran'
      })
    const idle = await world.serve(define, { concurrency: 0 })
    const peer = await world.peer(idle)
    const cancelled = await peer.start('count')
    await peer.cancel(cancelled)
    const other = await peer.start('count')
    const busy = await world.serve(define)
    const worker = await world.peer(busy)
    expect(await worker.textOf(other)).toBe('ran')
    expect(runs).toBe(1)
    expect((await worker.state(cancelled)).status).toBe('cancelled')
  })
})
