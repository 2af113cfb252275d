import type { McpServer } from 'tenon/server'
import { MemoryTaskStore, type TaskStore } from 'tenon/tasks'
import { describe, expect, it } from 'vitest'
import * as z from 'zod'
import { type Gate, gate } from '../kit/gate.ts'
import type { Message } from '../kit/message.ts'

import type { Body, TaskPeer } from './peer.ts'
import { always, everyTask, extensionId, legacy, modern, relatedTask, World } from './support.ts'

/** Creates a tool that reports progress and logs step by step, as the test says. */
function talkative() {
  const steps = [gate(), gate()]
  const late = gate()
  const define = (server: McpServer) => {
    server.registerTool('talk', always, async (_, ctx) => {
      ctx.progress(1, { total: 3, message: 'one of three' })
      ctx.log.warning('one')
      await steps[0]!.opened
      ctx.progress(2, { total: 3 })
      ctx.log.warning('two')
      await steps[1]!.opened
      void late.opened.then(() => {
        ctx.progress(3)
        ctx.log.warning('three')
      })
      return 'told'
    })
    server.registerTool('ask', always, async (_, ctx) => (await ctx.elicit('Sure?', z.object({}))).action)
  }
  return { define, steps: steps.map(({ open }) => open), late: late.open }
}

const loud = { progressToken: 'p', 'io.modelcontextprotocol/logLevel': 'debug' }

describe('a handler that runs as a task', () => {
  everyTask('knows its id and sets a status message that tasks/get returns', async (world) => {
    const said = gate()
    const finish = gate()
    const server = await world.serve((made) => {
      made.registerTool('say', always, async (_, ctx) => {
        ctx.task?.status('first')
        ctx.task?.status('half way')
        said.open()
        await finish.opened
        ctx.task?.progress(3, { total: 4 })
        return `${ctx.task?.id}`
      })
      made.registerTool('count', always, async (_, ctx) => {
        ctx.progress(7)
        return 'seven'
      })
    })
    const peer = await world.peer(server)
    const id = await peer.start('say')
    await said.opened
    while ((await peer.state(id)).statusMessage !== 'half way') await turn()
    finish.open()
    expect(await peer.textOf(id)).toBe(id)
    expect((await peer.state(id)).statusMessage).toBe('3 of 4')
    const count = await peer.start('count')
    await peer.result(count)
    expect((await peer.state(count)).statusMessage).toBe('7')
  })
})

describe('a session of 2025-11-25', () => {
  everyTask(
    'receives every status change of its task, with the whole task [TASK-036] [TASK-029]',
    async (world) => {
      const { define } = talkative()
      const peer = await world.peer(await world.serve(define))
      const id = await peer.start('ask')
      const [question] = await peer.questions(id)
      await question!.answer({ action: 'decline' })
      await peer.result(id)
      const last = await peer.channel.until((heard) => heard.find(({ params }) => params?.status === 'completed'))
      expect(last.params).toEqual((await peer.request('tasks/get', { taskId: id })).result)
      const told = peer.heard('notifications/tasks/status').map(({ params }) => params?.status)
      expect(told).toContain('input_required')
      expect(told.at(-1)).toBe('completed')
      for (const { params } of peer.heard('notifications/tasks/status')) expect(params).not.toHaveProperty('_meta')
    },
    { revisions: [legacy], channels: ['memory', 'http'] },
  )

  everyTask(
    'receives progress and logs with the related task until the task has ended [TASK-028] [PROG-011]',
    async (world) => {
      const { define, steps, late } = talkative()
      const peer = await world.peer(await world.serve(define))
      const id = await peer.start('talk', {}, { meta: { progressToken: 'p' } })
      const nth = (method: string, count: number) =>
        peer.channel.until(() => (peer.heard(method).length >= count ? true : undefined))
      await nth('notifications/progress', 1)
      steps[0]!()
      await nth('notifications/progress', 2)
      await nth('notifications/message', 2)
      steps[1]!()
      await peer.result(id)
      late()
      await peer.state(id)
      const progress = peer.heard('notifications/progress')
      expect(progress.map(({ params }) => [params?.progressToken, params?.progress])).toEqual([
        ['p', 1],
        ['p', 2],
      ])
      expect(peer.heard('notifications/message').map(({ params }) => params?.data)).toEqual(['one', 'two'])
      for (const { params } of [...progress, ...peer.heard('notifications/message')]) {
        expect(params?._meta?.[relatedTask]).toEqual({ taskId: id })
      }
    },
    { revisions: [legacy], channels: ['memory', 'http'] },
  )

  everyTask(
    'is told which task a withdrawn question belongs to [TASK-028]',
    async (world) => {
      const peer = await world.peer(await world.serve(talkative().define))
      const id = await peer.start('ask')
      const result = peer.result(id)
      await peer.questions(id)
      await peer.cancel(id)
      const withdrawn = await peer.channel.until(() => peer.heard('notifications/cancelled')[0])
      expect(withdrawn.params).toMatchObject({
        requestId: peer.heard('elicitation/create')[0]!.id,
        _meta: { [relatedTask]: { taskId: id } },
      })
      await result
    },
    { revisions: [legacy], channels: ['memory', 'http'], stores: ['memory'] },
  )

  it('receives the last progress of a task that reports more often than is sent [TASK-028] [PROG-011]', async () => {
    await using world = new World(legacy, 'memory', 'memory')
    const server = await world.serve((made) => {
      made.registerTool('count', always, (_, ctx) => {
        for (let step = 1; step <= 100; step++) ctx.progress(step, { total: 100 })
        return 'counted'
      })
    })
    const peer = await world.peer(server)
    await peer.result(await peer.start('count', {}, { meta: { progressToken: 'p' } }))
    const values = peer.heard('notifications/progress').map(({ params }) => params?.progress)
    expect(values.length).toBeLessThan(100)
    expect(values.at(-1)).toBe(100)
  })

  it('gets no related-task metadata where the message already names the task [TASK-029]', async () => {
    await using world = new World(legacy, 'memory', 'memory')
    const peer = await world.peer(await world.serve(talkative().define))
    const taskId = await peer.start('ask')
    const answers = [await peer.request('tasks/get', { taskId }), await peer.request('tasks/list')]
    answers.push(await peer.cancel(taskId))
    for (const { result } of answers) {
      expect(result).toBeDefined()
      expect(result?._meta ?? {}).not.toHaveProperty([relatedTask])
    }
  })
})

describe('a client of 2026-07-28', () => {
  everyTask(
    'receives neither progress nor logs of a task, even when the call requested them [XTASK-037]',
    async (world) => {
      const { define, steps, late } = talkative()
      const peer = await world.peer(await world.serve(define))
      const id = await peer.start('talk', {}, { meta: loud })
      await listen(peer, [id])
      steps[0]!()
      steps[1]!()
      await peer.result(id)
      late()
      await peer.channel.until((heard) => heard.find(({ params }) => params?.status === 'completed'))
      for (const method of ['notifications/progress', 'notifications/message', 'notifications/tasks/status']) {
        expect(peer.heard(method)).toEqual([])
      }
    },
    { revisions: [modern], channels: ['memory', 'http'] },
  )

  everyTask(
    'that listens receives the current state and every change, as tasks/get returns them [XTASK-034]',
    async (world) => {
      const peer = await world.peer(await world.serve(talkative().define))
      const id = await peer.start('ask')
      await peer.until(id, 'input_required')
      await listen(peer, [id])
      const asked = await peer.channel.until((heard) => heard.find(({ params }) => params?.status === 'input_required'))
      expect(Object.keys(asked.params!.inputRequests as object)).toHaveLength(1)
      const [question] = await peer.questions(id)
      await question!.answer({ action: 'decline' })
      const ended = await peer.channel.until((heard) => heard.find(({ params }) => params?.status === 'completed'))
      const { _meta, resultType: _type, ...task } = (await peer.request('tasks/get', { taskId: id })).result!
      const { _meta: meta, ...told } = ended.params!
      expect(told).toEqual(task)
      expect(meta).toHaveProperty(['io.modelcontextprotocol/subscriptionId'])
      const statuses = peer.heard('notifications/tasks').map(({ params }) => params?.status)
      expect(statuses[0]).toBe('input_required')
      expect(statuses.at(-1)).toBe('completed')
    },
    { revisions: [modern], channels: ['memory', 'http'] },
  )

  it('that listens never receives an earlier state after a later one', async () => {
    const store = new SlowTaskStore()
    const steps = [gate(), gate(), gate()]
    await using world = new World(modern, 'memory', 'memory')
    const define = (server: McpServer) => {
      server.registerTool('say', always, async (_, ctx) => {
        for (const [index, { opened }] of steps.entries()) {
          await opened
          ctx.task?.status(`step ${index + 1}`)
        }
        return 'said'
      })
    }
    const peer = await world.peer(await world.serve(define, { store }))
    const id = await peer.start('say')
    await listen(peer, [id])
    const told = () => peer.heard('notifications/tasks').map(({ params }) => params?.statusMessage)
    const until = (message: string) => peer.channel.until(() => told().includes(message) || undefined)
    steps[0]!.open()
    await until('step 1')
    const late = store.holdReads()
    steps[1]!.open()
    await late.began.opened
    late.stop()
    steps[2]!.open()
    await peer.channel.until((heard) => heard.find(({ params }) => params?.status === 'completed'))
    late.arrives.open()
    // After this request the late read has been handled.
    await peer.state(id)
    expect(told()).not.toContain('step 2')
  })

  it('can subscribe to its own tasks only, and the acknowledgement names them [XTASK-035] [XTASK-039]', async () => {
    await using world = new World(modern, 'memory', 'http')
    const server = await world.serve(talkative().define)
    const [ann, bob] = [await world.peer(server, { user: 'ann' }), await world.peer(server, { user: 'bob' })]
    const [hers, his] = [await ann!.start('ask'), await bob!.start('ask')]
    const { params } = await listen(ann!, [his, 'none', hers])
    expect((params!.notifications as Body).taskIds).toEqual([hers])
    await bob!.cancel(his)
    await ann!.cancel(hers)
    await ann!.channel.until((heard) => heard.find(({ params: told }) => told?.status === 'cancelled'))
    const ids = ann!.heard('notifications/tasks').map(({ params: told }) => told?.taskId)
    expect(new Set(ids)).toEqual(new Set([hers]))
    const nothing = await listen(ann!, [his])
    expect((nothing.params!.notifications as Body).taskIds).toEqual([])
  })

  it('without the extension cannot subscribe to tasks, and the error names it [XTASK-036]', async () => {
    await using world = new World(modern, 'memory', 'memory')
    const server = await world.serve(talkative().define)
    for (const channel of ['memory', 'http'] as const) {
      const peer = await world.peer(server, { hasTasks: false, channel })
      for (const taskIds of [['a'], []]) {
        const { error } = await peer.request('subscriptions/listen', { notifications: { taskIds } })
        expect(error).toMatchObject({
          code: -32021,
          data: { requiredCapabilities: { extensions: { [extensionId]: {} } } },
        })
      }
    }
  })

  it('that subscribes to other notifications receives none about tasks', async () => {
    await using world = new World(modern, 'memory', 'memory')
    const server = await world.serve(talkative().define)
    const peer = await world.peer(server)
    const { params } = await listen(peer, undefined)
    expect(params?.notifications).not.toHaveProperty('taskIds')
    const id = await peer.start('ask')
    await peer.until(id, 'input_required')
    await peer.cancel(id)
    expect(peer.heard('notifications/tasks')).toEqual([])
  })
})

/** A store whose reads after a change can arrive late, as they do over a network. */
class SlowTaskStore extends MemoryTaskStore {
  #held: Gate | undefined
  #began: Gate | undefined
  #isChange = false

  /** Delays the reads that a change causes, until `stop`. */
  holdReads() {
    const stop = () => {
      this.#held = undefined
    }
    const held = { began: gate(), arrives: gate(), stop }
    this.#held = held.arrives
    this.#began = held.began
    return held
  }

  override watch(listener: Parameters<TaskStore['watch']>[0]): ReturnType<TaskStore['watch']> {
    return super.watch((id, text) => {
      this.#isChange = true
      listener(id, text)
      this.#isChange = false
    })
  }

  override async get(id: string) {
    const held = this.#isChange ? this.#held : undefined
    const entry = await super.get(id)
    if (held) this.#began?.open()
    await held?.opened
    return entry
  }
}

/** Subscribes and waits for the acknowledgement. */
function listen(peer: TaskPeer, taskIds: string[] | undefined): Promise<Message> {
  const method = 'notifications/subscriptions/acknowledged'
  const before = peer.heard(method).length
  const notifications = { toolsListChanged: true, ...(taskIds && { taskIds }) }
  peer.request('subscriptions/listen', { notifications }).catch(() => {})
  return peer.channel.until(() => peer.heard(method)[before])
}

function turn(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 5))
}
