import {
  CapabilityError,
  type CreateMessageParams,
  type CreateMessageResult,
  ErrorCode,
  type PeerError,
  type SamplingMessage,
  type ToolUseContent,
} from 'tenon'
import type { Context } from 'tenon/server'
import { ScriptedClient } from 'tenon/testing'
import { describe, expect, it } from 'vitest'
import { errorOf } from '../../kit/error-of.ts'
import { Peer } from '../../kit/http-peer.ts'
import { serve } from '../../kit/serve-http.ts'

import {
  answer,
  ask,
  asksAllOf,
  assistant,
  beforeTools,
  type Case,
  createMessage,
  outcome,
  returnsAllOf,
  sampling,
  server,
  text,
  use,
  user,
  weather,
  withTools,
} from './sampling-support.ts'
import { everyAsking, everyPage } from './support.ts'
import { answersIn, modern, putTo, questionsIn } from './wire.ts'

describe('tools in sampling', () => {
  /** Samples with the tool until the model stops using it. */
  async function agent(ctx: Context): Promise<{ text: string; turns: number }> {
    const messages = [user(text('Compare the weather'))]
    for (let turn = 1; ; turn++) {
      const { role, content, stopReason, text } = await ctx.sample(ask({ messages, tools: [weather] }))
      if (stopReason !== 'toolUse') return { text, turns: turn }
      const uses = [content].flat().filter((block): block is ToolUseContent => block.type === 'tool_use')
      messages.push({ role, content }, user(uses.map(({ id }) => outcome(id))))
    }
  }

  everyPage(
    'are used in a loop: the server runs them and samples again with the results [SAMP-020, SAMP-023, SAMP-024]',
    async (wire) => {
      const script = [
        answer([text('Two cities'), use('Bern'), use('Oslo')], { stopReason: 'toolUse' }),
        answer(use('Rome'), { stopReason: 'toolUse' }),
        answer(text('It rains everywhere'), { stopReason: 'endTurn' }),
      ]
      const seen: SamplingMessage[][] = []
      await using pair = await wire.connect(
        server(agent),
        sampling(({ messages, tools }) => {
          expect(tools).toEqual([weather])
          seen.push(messages)
          return script[seen.length - 1]!
        }),
      )
      const result = JSON.parse((await pair.client.callTool('ask')).text)
      expect(result).toEqual({ text: 'It rains everywhere', turns: 3 })
      expect(seen.map(({ length }) => length)).toEqual([1, 3, 5])
      expect(seen[2]).toEqual([
        user(text('Compare the weather')),
        assistant([text('Two cities'), use('Bern'), use('Oslo')]),
        user([outcome('Bern'), outcome('Oslo')]),
        assistant(use('Rome')),
        user([outcome('Rome')]),
      ])
    },
  )

  everyPage('are limited by maxRounds on the server [SAMP-028]', async (wire) => {
    let count = 0
    const made = server(agent, { questions: { maxRounds: 5 } })
    await using pair = await wire.connect(
      made,
      sampling(() => answer(use(`city-${++count}`), { stopReason: 'toolUse' })),
    )
    const error = await errorOf<PeerError>(pair.client.callTool('ask'))
    expect(error).toMatchObject({ rpcCode: ErrorCode.InternalError, message: expect.stringContaining('5 times') })
    expect(count).toBe(5)
  })

  everyAsking(
    'are limited by maxRounds on the client on 2026-07-28 [SAMP-028]',
    async (wire) => {
      let count = 0
      await using pair = await wire.connect(server(agent), {
        ...sampling(() => answer(use(`city-${++count}`), { stopReason: 'toolUse' })),
        maxRounds: 4,
      })
      expect(await errorOf(pair.client.callTool('ask'))).toMatchObject({ code: 'invalid-response' })
      expect(count).toBe(4)
    },
    { revisions: [modern] },
  )

  const wishes: [string, Partial<CreateMessageParams>][] = [
    ['tools', { tools: [weather] }],
    ['no tools at all', { tools: [] }],
    ['a choice of tools', { toolChoice: { mode: 'none' } }],
  ]

  describe.each(wishes)('requested with %s', (_what, wish) => {
    const required = { sampling: { tools: {} } }

    everyAsking('are not sent to a client that did not declare them [SAMP-021]', async (wire) => {
      const caught: unknown[] = []
      await using pair = await wire.connect(
        server(async (ctx) => {
          await ctx.sample(ask(wish)).catch((error) => void caught.push(error))
          return [ctx.can('sampleTools'), (await ctx.sample(ask())).text]
        }),
        { handlers: { sample: () => answer() } },
      )
      // The handler sees the result in each of its runs.
      expect(JSON.parse((await pair.client.callTool('ask')).text)).toEqual([false, 'Waves'])
      expect(caught[0]).toBeInstanceOf(CapabilityError)
      expect(caught[0]).toMatchObject({ code: 'capability-missing', capability: 'sampleTools', required })
      const asked = questionsIn(pair.transcript, createMessage)
      expect(asked).toHaveLength(1)
      for (const member of ['tools', 'toolChoice']) expect(asked[0]).not.toHaveProperty(member)
    })

    everyAsking('are an error when the handler does not catch the CapabilityError [SAMP-021]', async (wire) => {
      await using pair = await wire.connect(
        server((ctx) => ctx.sample(ask(wish))),
        { handlers: { sample: () => answer() } },
      )
      if (wire.revision.id === modern) {
        const error = await errorOf<PeerError>(pair.client.callTool('ask'))
        expect(error.rpcCode).toBe(ErrorCode.MissingClientCapability)
        expect(error.data).toEqual({ requiredCapabilities: required })
      } else {
        const { isError, text } = await pair.client.callTool('ask')
        expect(isError).toBe(true)
        expect(text).toContain(withTools.includes(wire.revision.id) ? '{"sampling":{"tools":{}}}' : wire.revision.id)
      }
      expect(questionsIn(pair.transcript, createMessage)).toEqual([])
    })

    it.each(withTools)('are rejected by a client that did not declare them (%s) [SAMP-022]', async (revision) => {
      let count = 0
      const sample = () => answer(text(`${++count}`))
      const question = { method: createMessage, params: { ...ask(wish) } }
      const { error } = await putTo(revision, question, { handlers: { sample } })
      expect(error).toMatchObject({ code: ErrorCode.InvalidParams, message: expect.stringContaining('sampling.tools') })
      expect(count).toBe(0)
    })
  })

  it('result in HTTP 400 on 2026-07-28 when the client did not declare them [SAMP-021]', async () => {
    await using http = await serve(server((ctx) => ctx.sample(ask({ tools: [weather] }))))
    await using peer = await Peer.open(http.url, modern, { capabilities: { sampling: {} } })
    const reply = await peer.call('ask')
    expect(reply.status).toBe(400)
    expect((await reply.response()).error).toMatchObject({
      code: ErrorCode.MissingClientCapability,
      data: { requiredCapabilities: { sampling: { tools: {} } } },
    })
  })

  it.each(beforeTools)('are not supported, whatever the client declares (%s)', async (revision) => {
    const made = server(async (ctx) => [ctx.can('sample'), ctx.can('sampleTools')])
    await using client = await ScriptedClient.connect(made, { revision, capabilities: { sampling: { tools: {} } } })
    await client.open()
    const { result } = await client.request('tools/call', { name: 'ask' })
    expect(result).toMatchObject({ content: [text('[true,false]')] })
  })

  const disorder: [string, SamplingMessage[]][] = [
    ['mixes results with other blocks', [assistant(use('1')), user([outcome('1'), text('So?')])]],
    ['has other blocks before the results', [assistant(use('1')), user([text('Here:'), outcome('1')])]],
    ['leaves a use open', [assistant([use('1'), use('2')]), user(outcome('1'))]],
    ['ends with a use', [user(text('x')), assistant(use('1'))]],
    ['puts another message before the result', [assistant(use('1')), user(text('wait')), user(outcome('1'))]],
    ['goes on as the assistant before the result', [assistant(use('1')), assistant(text('x')), user(outcome('1'))]],
    ['splits the results', [assistant([use('1'), use('2')]), user(outcome('1')), user(outcome('2'))]],
    ['has a result of nothing', [user(outcome('1'))]],
    ['has the result of another use', [assistant(use('1')), user([outcome('1'), outcome('2')])]],
    ['has two uses of one id', [assistant([use('1'), use('1')]), user(outcome('1'))]],
    ['lets the user use a tool', [user(use('1')), user(outcome('1'))]],
    ['lets the assistant give a result', [assistant(use('1')), assistant(outcome('1'))]],
  ]

  const disordered = disorder.map(([what, messages]): Case => {
    return [what, ask({ messages: [user(text('Weather?')), ...messages], tools: [weather] })]
  })

  everyPage('require a valid order of messages before anything is sent [SAMP-023, SAMP-024]', async (wire) => {
    await using pair = await wire.connect(asksAllOf(disordered), sampling())
    for (const [at, [what]] of disordered.entries()) {
      const { text } = await pair.client.callTool('ask', { at })
      expect(text, what).toMatch(/^TypeError: sample\(\): params\.messages\[\d\]/)
    }
    expect(questionsIn(pair.transcript, createMessage)).toEqual([])
  })

  everyPage('require a valid order of messages when a handler returns them [SAMP-023, SAMP-024]', async (wire) => {
    await using pair = await wire.connect(returnsAllOf(disordered), sampling())
    for (const at of disordered.keys()) await pair.client.callTool('ask', { at }).catch(() => {})
    expect(questionsIn(pair.transcript, createMessage)).toEqual([])
  })

  it.each(withTools)(
    'in an invalid order are rejected by the client with -32602 (%s) [SAMP-019, SAMP-036]',
    async (revision) => {
      let count = 0
      const options = sampling(() => answer(text(`${++count}`)))
      for (const [what, params] of disordered) {
        const { error, calls } = await putTo(revision, { method: createMessage, params: { ...params } }, options)
        const message = expect.stringMatching(/^params\.messages\[\d\]/)
        expect(error, what).toMatchObject({ code: ErrorCode.InvalidParams, message })
        expect(calls, what).toBe(revision === modern ? 1 : 0)
      }
      expect(count).toBe(0)
    },
  )

  describe('with toolChoice', () => {
    const cases: [string, CreateMessageParams['toolChoice'], CreateMessageResult['content'], boolean][] = [
      ['by default may use a tool', undefined, use('1'), true],
      ['by default may use none', undefined, text('x'), true],
      ['with auto may use a tool', { mode: 'auto' }, use('1'), true],
      ['with auto may use none', { mode: 'auto' }, text('x'), true],
      ['without a mode may use none', {}, text('x'), true],
      ['with required may use a tool', { mode: 'required' }, [text('x'), use('1')], true],
      ['with required may not do without', { mode: 'required' }, text('x'), false],
      ['with none may do without', { mode: 'none' }, text('x'), true],
      ['with none may not use one', { mode: 'none' }, [text('x'), use('1')], false],
    ]

    describe.each(cases)('%s', (_what, toolChoice, content, isFine) => {
      everyPage('is enforced on both sides [SAMP-025]', async (wire) => {
        const params = ask({ tools: [weather], ...(toolChoice && { toolChoice }) })
        const seen: unknown[] = []
        await using pair = await wire.connect(
          server((ctx) => ctx.sample(params)),
          sampling((given) => {
            seen.push(given.toolChoice)
            return answer(content)
          }),
        )
        const result = await pair.client.callTool('ask').catch((error) => ({ isError: true, error }))
        expect(seen).toEqual([toolChoice])
        expect(result.isError ?? false).toBe(!isFine)
        expect(answersIn(pair.transcript)).toHaveLength(isFine ? 1 : 0)
      })
    })

    it.each([
      ['an unknown mode', { tools: [weather], toolChoice: { mode: 'any' } }],
      ['required without a tool', { tools: [], toolChoice: { mode: 'required' } }],
    ])('reject %s on both sides [SAMP-025]', async (_what, wish) => {
      const params = ask(wish as Partial<CreateMessageParams>)
      const made = server((ctx) => ctx.sample(params))
      for (const revision of withTools) {
        await using client = await ScriptedClient.connect(made, { revision, capabilities: { sampling: { tools: {} } } })
        await client.open()
        expect((await client.request('tools/call', { name: 'ask' })).result).toMatchObject({ isError: true })
        const { error } = await putTo(revision, { method: createMessage, params: { ...params } }, sampling())
        expect(error).toMatchObject({ code: ErrorCode.InvalidParams })
      }
    })
  })
})
