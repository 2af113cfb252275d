import { PeerError } from 'tenon'
import { acceptedContent, inputRequired, type McpServer } from 'tenon/server'
import { describe, expect, it } from 'vitest'
import * as z from 'zod'
import { gate } from '../kit/gate.ts'

import type { Body } from './peer.ts'
import { always, everyDialect, everyTask, legacy, modern, relatedTask, World } from './support.ts'

const form = z.object({ sure: z.boolean() })
const yes = { action: 'accept', content: { sure: true } }

/** Creates tools with questions, and records their runs. */
function asking() {
  const runs: string[] = []
  const define = (server: McpServer) => {
    server.registerTool('ask', always, async (_, ctx) => {
      runs.push('begin')
      try {
        const { action, content } = await ctx.elicit('Sure?', form)
        return `${action} ${content?.sure}`
      } catch (error) {
        if (error instanceof PeerError) return `refused ${error.rpcCode} ${error.message}`
        throw error
      }
    })
    server.registerTool('two', always, async (_, ctx) => {
      runs.push('begin')
      const [one, other] = await Promise.all([
        ctx.elicit('One?', form, { key: 'one' }),
        ctx.elicit('Other?', form, { key: 'other' }),
      ])
      return `${one.action} ${other.action}`
    })
  }
  return { runs, define }
}

describe('a question of a task', () => {
  everyTask(
    'is stored until it is answered, and then the task continues [TASK-031] [TASK-028] [XTASK-015] [XTASK-025]',
    async (world) => {
      const { define } = asking()
      const peer = await world.peer(await world.serve(define))
      const id = await peer.start('ask')
      expect((await peer.until(id, 'input_required')).status).toBe('input_required')
      const [question] = await peer.questions(id)
      expect(question).toMatchObject({ method: 'elicitation/create', params: { message: 'Sure?' } })
      const meta = question!.params._meta as Body | undefined
      expect(meta?.[relatedTask]).toEqual(world.isModern ? undefined : { taskId: id })
      await question!.answer(yes)
      expect(await peer.textOf(id)).toBe('accept true')
      expect((await peer.state(id)).status).toBe('completed')
    },
    { channels: ['memory', 'http'] },
  )

  everyTask('may be declined or cancelled', async (world) => {
    const peer = await world.peer(await world.serve(asking().define))
    for (const action of ['decline', 'cancel']) {
      const id = await peer.start('ask')
      const [question] = await peer.questions(id)
      await question!.answer({ action })
      expect(await peer.textOf(id)).toBe(`${action} undefined`)
    }
  })

  everyTask('may be answered with an error, which the handler receives', async (world) => {
    const peer = await world.peer(await world.serve(asking().define))
    const id = await peer.start('ask')
    const [question] = await peer.questions(id)
    await question!.refuse({ code: -32055, message: 'Nobody is here' })
    expect(await peer.textOf(id)).toBe('refused -32055 Nobody is here')
  })

  everyTask(
    'stays open next to others until all are answered, in any order [TASK-031] [XTASK-015] [XTASK-027]',
    async (world) => {
      const { define, runs } = asking()
      const peer = await world.peer(await world.serve(define))
      const id = await peer.start('two')
      const [one, other] = await peer.questions(id, 2)
      expect([one!.params.message, other!.params.message].sort()).toEqual(['One?', 'Other?'])
      await other!.answer(yes)
      const store = await world.openStore()
      await kept(store, id, ({ questions }) => Object.keys(questions).length === 1)
      expect((await peer.state(id)).status).toBe('input_required')
      if (world.isModern) {
        const left = await peer.questions(id)
        expect(left.map(({ key }) => key)).toEqual([one!.key])
      }
      expect(runs).toHaveLength(1)
      await one!.answer({ action: 'decline' })
      expect(await peer.textOf(id)).toBe('decline accept')
      expect(runs).toHaveLength(2)
    },
  )

  everyTask('may be elicitation, sampling and roots, one after another [SDK-013]', async (world) => {
    const server = await world.serve((made) => {
      made.registerTool('all', always, async (_, ctx) => {
        const { action } = await ctx.elicit('Sure?', form)
        const messages = [{ role: 'user' as const, content: { type: 'text' as const, text: 'Hi' } }]
        const { content } = await ctx.sample({ messages, maxTokens: 5 })
        const roots = await ctx.roots()
        return JSON.stringify([action, content, roots])
      })
    })
    const peer = await world.peer(server)
    const id = await peer.start('all')
    const text = { type: 'text', text: 'Hello' }
    const answers: Record<string, Body> = {
      'elicitation/create': yes,
      'sampling/createMessage': { role: 'assistant', model: 'm', content: text },
      'roots/list': { roots: [{ uri: 'file:///a' }] },
    }
    const asked: string[] = []
    const outcome = await peer.drive(id, ({ method }) => {
      asked.push(method)
      return answers[method]!
    })
    expect(asked).toEqual(Object.keys(answers))
    expect(JSON.parse(outcome.result!.content![0]!.text)).toEqual(['accept', text, [{ uri: 'file:///a' }]])
  })

  everyTask('may be a URL elicitation [SDK-013]', async (world) => {
    const server = await world.serve((made) => {
      made.registerTool('page', always, async (_, ctx) => (await ctx.elicitUrl('Pay', 'https://pay.example/1')).action)
    })
    const peer = await world.peer(server)
    const id = await peer.start('page')
    const [question] = await peer.questions(id)
    expect(question!.params).toMatchObject({ mode: 'url', message: 'Pay', url: 'https://pay.example/1' })
    expect(typeof question!.params.elicitationId).toBe(world.isModern ? 'undefined' : 'string')
    await question!.answer({ action: 'accept' })
    expect(await peer.textOf(id)).toBe('accept')
  })

  everyDialect('that the client does not support ends the task as it would end the call', async (world) => {
    const { define } = asking()
    const server = await world.serve(define)
    const peer = await world.peer(server, { capabilities: {} })
    const id = await peer.start('ask')
    const { result, error } = await peer.result(id)
    if (world.isModern) {
      expect(error).toMatchObject({
        code: -32021,
        data: { requiredCapabilities: { elicitation: { form: {} } } },
      })
    } else expect(result).toMatchObject({ isError: true })
    expect((await peer.state(id)).status).toBe('failed')
  })

  everyDialect('is limited by maxRounds', async (world) => {
    const server = await world.serve(
      (made) => {
        made.registerTool('endless', always, async (_, ctx) => {
          for (;;) await ctx.elicit('Again?', form)
        })
      },
      { server: { questions: { maxRounds: 3 } } },
    )
    const peer = await world.peer(server)
    const id = await peer.start('endless')
    let asked = 0
    const { error } = await peer.drive(id, () => {
      asked++
      return yes
    })
    expect(asked).toBe(3)
    expect(error).toEqual({ code: -32603, message: 'The request asked the client more than 3 times' })
  })
})

describe('answers', () => {
  everyTask(
    'that do not match are rejected, and the question stays open [XTASK-025]',
    async (world) => {
      const peer = await world.peer(await world.serve(asking().define))
      const id = await peer.start('ask')
      const [question] = await peer.questions(id)
      for (const bad of [{}, { action: 'perhaps' }, { action: 'accept', content: { sure: 'yes' } }, 5, null]) {
        await expect(question!.answer(bad as Body)).rejects.toMatchObject({ code: -32602 })
        expect((await peer.state(id)).status).toBe('input_required')
      }
      await question!.answer(yes)
      expect(await peer.textOf(id)).toBe('accept true')
    },
    { revisions: [modern] },
  )

  everyTask(
    'that do not match are an error for the handler on 2025-11-25',
    async (world) => {
      const peer = await world.peer(await world.serve(asking().define))
      const id = await peer.start('ask')
      const [question] = await peer.questions(id)
      await question!.answer({ action: 'accept', content: { sure: 'yes' } })
      expect(await peer.textOf(id)).toMatch(/^refused -32602 .*sure/)
    },
    { revisions: [legacy] },
  )

  everyTask(
    'to questions that were not asked or already answered are ignored [XTASK-025] [XTASK-026]',
    async (world) => {
      const { define, runs } = asking()
      const peer = await world.peer(await world.serve(define))
      const id = await peer.start('two')
      const [one, other] = await peer.questions(id, 2)
      const update = async (inputResponses: Body) => {
        const { result, error } = await peer.request('tasks/update', { taskId: id, inputResponses })
        expect(error).toBeUndefined()
        expect(Object.keys(result!).sort()).toEqual(['_meta', 'resultType'])
        expect(result!.resultType).toBe('complete')
      }
      await update({ unknown: yes, constructor: yes, __proto__: yes })
      await update({})
      expect(runs).toHaveLength(1)
      await one!.answer(yes)
      await update({ [one!.key]: { action: 'decline' } })
      await update({ [one!.key]: { action: 'nonsense' }, [other!.key]: yes, unknown: 5 })
      expect(await peer.textOf(id)).toBe('accept accept')
      // The same after the task has finished.
      await update({ [one!.key]: { action: 'decline' } })
      expect(await peer.textOf(id)).toBe('accept accept')
    },
    { revisions: [modern] },
  )

  everyTask(
    'from two clients at the same time count once',
    async (world) => {
      const { define, runs } = asking()
      const server = await world.serve(define)
      const peers = [await world.peer(server), await world.peer(server)]
      const id = await peers[0]!.start('ask')
      const update = (action: string) => (peer: (typeof peers)[number]) =>
        peer.request('tasks/update', {
          taskId: id,
          inputResponses: { 'elicitation#1': { action, ...(action === 'accept' && { content: { sure: true } }) } },
        })
      await peers[0]!.until(id, 'input_required')
      await Promise.all([...peers.map(update('accept')), ...peers.map(update('decline'))])
      expect(await peers[0]!.textOf(id)).toMatch(/^(accept true|decline undefined)$/)
      expect(runs).toHaveLength(2)
    },
    { revisions: [modern] },
  )
})

describe('the keys of questions', () => {
  everyDialect('are unique in a task, even when its handler uses the same names [XTASK-023]', async (world) => {
    const server = await world.serve((made) => {
      made.registerTool('by-hand', always, (_, ctx) => {
        const round = (ctx.requestState as number | undefined) ?? 0
        const content = acceptedContent(ctx.inputResponses, 'ok', form)
        if (round > 0 && !content) return `round ${round} had no answer`
        if (round === 3) return 'three answers'
        const ok = inputRequired.elicit({ message: `Round ${round}?`, requestedSchema: form })
        return inputRequired({ inputRequests: { ok }, requestState: round + 1 })
      })
      let runs = 0
      made.registerTool('fickle', always, async (_, ctx) => {
        runs++
        const { action } = await ctx.elicit(runs < 3 ? `Take ${runs}?` : 'Take?', form)
        return action
      })
    })
    const peer = await world.peer(server)
    for (const [tool, text, count] of [
      ['by-hand', 'three answers', 3],
      ['fickle', 'accept', 3],
    ] as const) {
      const keys: string[] = []
      const { result } = await peer.drive(await peer.start(tool), ({ key }) => {
        keys.push(key)
        return yes
      })
      expect(result?.content?.[0]?.text).toBe(text)
      expect(keys).toHaveLength(count)
      expect(new Set(keys).size).toBe(count)
    }
  })
})

describe('a handler that returns questions', () => {
  everyTask('gets its state and its answers in the next run', async (world) => {
    const seen: unknown[] = []
    const server = await world.serve((made) => {
      made.registerTool('by-hand', always, async (_, ctx) => {
        seen.push(ctx.requestState)
        const step = await ctx.once('step', () => seen.length)
        const content = acceptedContent(ctx.inputResponses, 'ok', form)
        if (content) return `${content.sure} ${JSON.stringify(ctx.requestState)} ${step}`
        const ok = inputRequired.elicit({ message: 'Sure?', requestedSchema: form })
        return inputRequired({ inputRequests: { ok }, requestState: { n: 1 } })
      })
    })
    const peer = await world.peer(server)
    const id = await peer.start('by-hand')
    const { result } = await peer.drive(id, () => yes)
    expect(result?.content?.[0]?.text).toBe('true {"n":1} 1')
    expect(seen).toEqual([undefined, { n: 1 }])
  })

  everyTask('may return state without a question, and runs again with it', async (world) => {
    const server = await world.serve((made) => {
      made.registerTool('count', always, (_, ctx) => {
        const count = ((ctx.requestState as number | undefined) ?? 0) + 1
        return count === 4 ? `counted to ${count}` : inputRequired({ requestState: count })
      })
    })
    const peer = await world.peer(server)
    expect(await peer.textOf(await peer.start('count'))).toBe('counted to 4')
  })
})

describe('ctx.once in a task', () => {
  everyTask('runs once, however many questions follow', async (world) => {
    const done: string[] = []
    const step = (name: string) => () => {
      done.push(name)
      return { name, at: done.length }
    }
    const server = await world.serve((made) => {
      made.registerTool('steps', always, async (_, ctx) => {
        const one = await ctx.once('one', step('one'))
        await ctx.elicit('First?', form)
        const two = await ctx.once('two', step('two'))
        await ctx.elicit('Second?', form)
        const three = await ctx.once('three', step('three'))
        return JSON.stringify([one, two, three])
      })
    })
    const peer = await world.peer(server)
    const { result } = await peer.drive(await peer.start('steps'), () => yes)
    expect(done).toEqual(['one', 'two', 'three'])
    expect(JSON.parse(result!.content![0]!.text)).toEqual([
      { name: 'one', at: 1 },
      { name: 'two', at: 2 },
      { name: 'three', at: 3 },
    ])
  })
})

describe('several tasks/result requests for one task', () => {
  it('on two connections are each asked, and the first answer counts [TASK-031]', async () => {
    await using world = new World(legacy, 'memory', 'memory')
    const server = await world.serve(asking().define)
    const [first, second] = [await world.peer(server), await world.peer(server)]
    const id = await first!.start('ask')
    const [lost] = await first!.questions(id)
    const [question] = await second!.questions(id)
    await question!.answer(yes)
    expect(await second!.textOf(id)).toBe('accept true')
    await lost!.answer({ action: 'decline' })
    expect(await first!.textOf(id)).toBe('accept true')
  })

  it('on one connection are asked once, and again when the first request is cancelled [TASK-031]', async () => {
    await using world = new World(legacy, 'memory', 'memory')
    const peer = await world.peer(await world.serve(asking().define))
    const id = await peer.start('ask')
    await peer.until(id, 'input_required')
    const params = { taskId: id }
    const asked = peer.channel.until((heard) => heard.find(({ method }) => method === 'elicitation/create'))
    await peer.channel.say({ jsonrpc: '2.0', id: 'first', method: 'tasks/result', params })
    await asked
    const waiting = peer.wait(id)
    await peer.state(id)
    expect(peer.heard('elicitation/create')).toHaveLength(1)
    await peer.channel.say({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 'first' } })
    await peer.channel.until(() => peer.heard('elicitation/create')[1])
    const question = (await peer.questions(id, 2)).at(-1)
    await question!.answer(yes)
    expect((await waiting).result?.content?.[0]?.text).toBe('accept true')
  })

  it('on one connection all get the result, and the question is asked once', async () => {
    await using world = new World(legacy, 'memory', 'memory')
    const finish = gate()
    const server = await world.serve((made) => {
      made.registerTool('ask', always, async (_, ctx) => {
        const { action } = await ctx.elicit('Sure?', form)
        await finish.opened
        return action
      })
    })
    const peer = await world.peer(server)
    const id = await peer.start('ask')
    const waiting = [1, 2, 3].map(() => peer.request('tasks/result', { taskId: id }))
    const [question] = await peer.questions(id)
    await question!.answer(yes)
    await peer.until(id, 'working')
    expect(peer.heard('elicitation/create')).toHaveLength(1)
    finish.open()
    for (const { result } of await Promise.all(waiting)) expect(result?.content?.[0]?.text).toBe('accept')
  })
})

interface KeptBody {
  questions: object
}

/** Waits until the stored record of a task fulfils the condition. */
async function kept(
  store: Awaited<ReturnType<World['openStore']>>,
  id: string,
  isSo: (body: KeptBody) => boolean,
): Promise<void> {
  for (;;) {
    const entry = await store.get(id)
    if (entry && isSo(JSON.parse(entry.body) as KeptBody)) return
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}
