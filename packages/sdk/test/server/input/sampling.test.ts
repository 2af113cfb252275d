import {
  CapabilityError,
  type CreateMessageParams,
  type CreateMessageResult,
  McpError,
  PeerError,
  ProtocolError,
  RpcCode,
  revisionIds,
  type SamplingContent,
  type ToolResultContent,
} from 'tenon'
import { chooseModel } from 'tenon/client'
import { type Context, McpServer } from 'tenon/server'
import { ScriptedClient } from 'tenon/testing'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { errorOf, gate, methodsOf, said } from '../../era/support.ts'
import { everyPipe, everyWire } from '../../kit/every-wire.ts'
import { httpRevisions, Peer, serve } from '../../transport/http/server/support.ts'
import { handshakeRevisions, script } from '../../transport/stdio/support.ts'
import {
  answer,
  ask,
  asksAllOf,
  assistant,
  audio,
  beforeTools,
  type Case,
  createMessage,
  image,
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
import { answersIn, declaredIn, modern, putTo, questionsIn } from './wire.ts'

describe('a client that samples', () => {
  everyAsking('says so at the handshake, or with every request [SAMP-001, SAMP-002]', async (wire) => {
    await using pair = await wire.connect(
      server((ctx) => ctx.sample(ask())),
      { handlers: { sample: () => answer() } },
    )
    await pair.client.listTools()
    await pair.client.callTool('ask')
    const requests = said(pair.transcript, 'client').filter(({ id, method }) => id !== undefined && method)
    const declared = declaredIn(pair.transcript)
    expect(declared).toHaveLength(wire.revision.id === modern ? requests.length : 1)
    expect(declared).toEqual(declared.map(() => ({ sampling: {} })))
  })

  everyAsking('says nothing of it when it cannot', async (wire) => {
    await using pair = await wire.connect(
      server(async () => 'nothing'),
      { handlers: { roots: [] } },
    )
    await pair.client.callTool('ask')
    for (const declared of declaredIn(pair.transcript)) expect(declared).not.toHaveProperty('sampling')
  })

  everyAsking('says what else it can, where the revision has a word for it [SAMP-020]', async (wire) => {
    await using pair = await wire.connect(
      server(async (ctx) => [ctx.can('sample'), ctx.can('sampleTools')]),
      {
        handlers: { sample: () => answer() },
        capabilities: { sampling: { tools: {}, context: {} } },
      },
    )
    const hasTools = withTools.includes(wire.revision.id)
    expect((await pair.client.callTool('ask')).text).toBe(`[true,${hasTools}]`)
    const wanted = hasTools ? { tools: {}, context: {} } : {}
    for (const { sampling } of declaredIn(pair.transcript)) expect(sampling).toEqual(wanted)
  })
})

describe('a request to sample', () => {
  everyAsking('reaches the handler as it was made, with messages and maxTokens [SAMP-005, SAMP-014]', async (wire) => {
    const params = ask({
      modelPreferences: {
        hints: [{ name: 'sonnet' }, {}],
        costPriority: 0,
        speedPriority: 1,
        intelligencePriority: 0.5,
      },
      systemPrompt: 'Be brief',
      includeContext: 'none',
      temperature: 0.2,
      stopSequences: ['\n'],
      metadata: { provider: { tier: 1 } },
    })
    const seen: unknown[] = []
    await using pair = await wire.connect(
      server((ctx) => ctx.sample(params)),
      sampling(({ _meta, ...given }, { server: asker, signal }) => {
        seen.push(given, asker.name, signal.aborted)
        return answer()
      }),
    )
    await pair.client.callTool('ask')
    expect(seen).toEqual([params, 'asker', false])
    const [asked] = questionsIn(pair.transcript, createMessage)
    expect(asked).toMatchObject({ messages: params.messages, maxTokens: 50 })
  })

  const wrongs: [string, Record<string, unknown>][] = [
    ['has no messages', { messages: undefined }],
    ['has no maxTokens', { maxTokens: undefined }],
    ['wants no tokens', { maxTokens: 0 }],
    ['wants half a token', { maxTokens: 0.5 }],
    ['has a role of its own', { messages: [{ role: 'system', content: text('x') }] }],
    ['has an empty message', { messages: [user([])] }],
    ['has content of no kind', { messages: [user({ type: 'video', data: 'AAAA' } as never)] }],
    ['has a picture without its kind', { messages: [user({ type: 'image', data: 'AAAA' } as never)] }],
    ['has a cost priority above 1', { modelPreferences: { costPriority: 1.01 } }],
    ['has a speed priority below 0', { modelPreferences: { speedPriority: -0.01 } }],
    ['has an intelligence priority that is no number', { modelPreferences: { intelligencePriority: 'high' } }],
    ['has another context', { includeContext: 'everything' }],
  ]
  const bad = wrongs.map(([what, wrong]): Case => [what, { ...ask(), ...wrong } as CreateMessageParams])

  everyAsking('is refused before it goes out when it is wrong [SAMP-005, SAMP-014, SAMP-036]', async (wire) => {
    await using pair = await wire.connect(asksAllOf(bad), sampling())
    for (const [at, [what]] of bad.entries()) {
      const { text } = await pair.client.callTool('ask', { at })
      expect(text, what).toMatch(/^TypeError: sample\(\): params\./)
    }
    expect(questionsIn(pair.transcript, createMessage)).toEqual([])
  })

  everyAsking(
    'is refused before it goes out when a handler returns it by hand and it is wrong [SAMP-005, SAMP-014, SAMP-036]',
    async (wire) => {
      await using pair = await wire.connect(returnsAllOf(bad), sampling())
      for (const at of bad.keys()) await pair.client.callTool('ask', { at }).catch(() => {})
      expect(questionsIn(pair.transcript, createMessage)).toEqual([])
    },
  )

  it.each(revisionIds)(
    'is refused by the client, without its model seeing it, when it is wrong (%s) [SAMP-036]',
    async (revision) => {
      let count = 0
      const options = sampling(() => answer(text(`${++count}`)))
      for (const [what, params] of bad) {
        const { error, calls } = await putTo(revision, { method: createMessage, params: { ...params } }, options)
        expect(error, what).toMatchObject({ code: RpcCode.InvalidParams, message: expect.stringContaining('params.') })
        expect(calls, what).toBe(revision === modern ? 1 : 0)
      }
      expect(count).toBe(0)
    },
  )

  describe.each([...httpRevisions])('of a client that declared nothing (%s)', (revision) => {
    const refused = { code: RpcCode.MissingClientCapability, data: { requiredCapabilities: { sampling: {} } } }

    it('is answered with what is missing: a result before 2026-07-28, and 400 since [SAMP-003]', async () => {
      await using http = await serve(server((ctx) => ctx.sample(ask())))
      await using peer = await Peer.open(http.url, revision)
      const reply = await peer.call('ask')
      const { error, result } = await reply.response()
      expect(reply.status).toBe(revision === modern ? 400 : 200)
      if (revision === modern) expect(error).toMatchObject(refused)
      else expect(result).toMatchObject({ isError: true, content: [{ text: expect.stringContaining('sampling') }] })
    })
  })

  describe.each(['prompts/get', 'resources/read'])('of %s', (method) => {
    everyWire(
      'is an error for a client that declared nothing [SAMP-003]',
      async (wire) => {
        const made = new McpServer({ name: 'asker', version: '1.0.0' })
        made.registerPrompt('poem', {}, async (_args, ctx) => (await ctx.sample(ask())).text)
        made.registerResource('poem', 'poem://sea', {}, async (_uri, ctx) => (await ctx.sample(ask())).text)
        await using pair = await wire.connect(made)
        const params = method === 'prompts/get' ? { name: 'poem' } : { uri: 'poem://sea' }
        const error = await errorOf<PeerError>(pair.client.request(method, params))
        const isModern = wire.revision.id === modern
        expect(error).toBeInstanceOf(PeerError)
        expect(error.rpcCode).toBe(isModern ? RpcCode.MissingClientCapability : RpcCode.InternalError)
        if (isModern) expect(error.data).toEqual({ requiredCapabilities: { sampling: {} } })
        expect(questionsIn(pair.transcript, createMessage)).toEqual([])
      },
      { transports: ['memory', 'stdio', 'http', 'http-stateless'] },
    )
  })

  everyWire(
    'is not made for a client that declared nothing, and the handler may go on [SAMP-003]',
    async (wire) => {
      const caught: unknown[] = []
      await using pair = await wire.connect(
        server(async (ctx) => {
          await ctx.sample(ask()).catch((error) => void caught.push(error))
          return ctx.can('sample')
        }),
      )
      expect((await pair.client.callTool('ask')).text).toBe('false')
      expect(caught).toEqual([expect.any(CapabilityError)])
      expect(caught[0]).toMatchObject({
        code: 'capability-missing',
        capability: 'sample',
        required: { sampling: {} },
      })
      expect(questionsIn(pair.transcript, createMessage)).toEqual([])
    },
    { transports: ['memory', 'stdio', 'http', 'http-stateless'] },
  )

  describe.each(handshakeRevisions)('after its request was answered (%s)', (revision) => {
    it('is not made: nothing is asked out of the blue [SAMP-033]', async () => {
      let kept: Context | undefined
      const made = server(async (ctx) => {
        kept = ctx
        return 'done'
      })
      await using client = await ScriptedClient.connect(made, { revision, capabilities: { sampling: {} } })
      await client.open()
      await client.request('tools/call', { name: 'ask' })
      const asked = client.next((message) => 'method' in message && message.method === createMessage)
      const refused = kept!.sample(ask()).then(
        () => 'answered',
        (error) => error,
      )
      expect(await Promise.race([refused, asked])).toBeInstanceOf(McpError)
      await client.request('ping')
      expect(methodsOf(client.transcript, 'server')).not.toContain(createMessage)
    })
  })
})

describe('the content of messages', () => {
  const conversation = [
    user([text('What is this?'), image]),
    assistant(text('A cat')),
    user([text('And this?'), audio]),
    user(audio),
  ]

  everyAsking(
    'is one text, image or audio block before 2025-11-25, audio being told in words on 2024-11-05 [SAMP-007, SAMP-008]',
    async (wire) => {
      const isOldest = wire.revision.id === '2024-11-05'
      await using pair = await wire.connect(
        server((ctx) => ctx.sample(ask({ messages: conversation }))),
        sampling(),
      )
      await pair.client.callTool('ask')
      const heard = isOldest ? text('[audio, audio/wav]') : audio
      expect(questionsIn(pair.transcript, createMessage)[0]!.messages).toEqual([
        user(text('What is this?')),
        user(image),
        assistant(text('A cat')),
        user(text('And this?')),
        user(heard),
        user(heard),
      ])
    },
    { revisions: beforeTools },
  )

  everyAsking(
    'is one block in answers before 2025-11-25, never a list [SAMP-007, SAMP-008, SAMP-010]',
    async (wire) => {
      const answers: CreateMessageResult['content'][] = [text('One'), [text('One'), text('Two')], [image], audio]
      const seen: unknown[] = []
      await using pair = await wire.connect(
        server(async (ctx) => {
          for (const _ of answers) seen.push((await ctx.sample(ask())).content)
        }),
        sampling(() => answer(answers[seen.length])),
      )
      await pair.client.callTool('ask')
      const wanted = [
        text('One'),
        text('One\n\nTwo'),
        image,
        wire.revision.id === '2024-11-05' ? text('[audio, audio/wav]') : audio,
      ]
      expect(seen).toEqual(wanted)
      expect(answersIn(pair.transcript).map(({ content }) => content)).toEqual(wanted)
    },
    { revisions: beforeTools },
  )

  everyAsking(
    'cannot be a list of pictures in an answer before 2025-11-25: the server is told of a failure [SAMP-010]',
    async (wire) => {
      const caught: unknown[] = []
      await using pair = await wire.connect(
        server((ctx) => ctx.sample(ask()).catch((error) => caught.push(error))),
        sampling(() => answer([text('Look'), image])),
      )
      const failures: unknown[] = []
      pair.client.on('error', ({ error }) => failures.push(error))
      await pair.client.callTool('ask')
      expect(caught).toEqual([expect.any(PeerError)])
      expect(caught[0]).toMatchObject({ rpcCode: RpcCode.InternalError })
      expect(failures).toEqual([expect.any(TypeError)])
      expect(answersIn(pair.transcript)).toEqual([])
    },
    { revisions: beforeTools },
  )

  everyAsking(
    'cannot be uses and results of tools before 2025-11-25: the handler is told [SAMP-007, SAMP-008]',
    async (wire) => {
      const caught: unknown[] = []
      const messages = [user(text('Weather?')), assistant(use('1')), user(outcome('1'))]
      await using pair = await wire.connect(
        server((ctx) => ctx.sample(ask({ messages })).catch((error) => caught.push(error))),
        sampling(),
      )
      await pair.client.callTool('ask')
      expect(caught).toEqual([expect.any(TypeError)])
      expect(questionsIn(pair.transcript, createMessage)).toEqual([])
    },
    { revisions: beforeTools },
  )

  everyPage('is a block or a list of blocks of every kind since 2025-11-25 [SAMP-009]', async (wire) => {
    const messages = [
      ...conversation,
      assistant([text('Let me see'), use('Bern'), use('Oslo')]),
      user([outcome('Oslo'), outcome('Bern')]),
      assistant(use('Rome')),
      user(outcome('Rome')),
    ]
    const content: SamplingContent[] = [text('Here'), image, audio, use('Paris')]
    const seen: unknown[] = []
    await using pair = await wire.connect(
      server(async (ctx) => ctx.sample(ask({ messages, tools: [weather] }))),
      sampling((params) => {
        seen.push(params.messages)
        return answer(content)
      }),
    )
    const result = JSON.parse((await pair.client.callTool('ask')).text)
    expect(result.content).toEqual(content)
    expect(result.text).toBe('Here')
    expect(seen).toEqual([messages])
    expect(questionsIn(pair.transcript, createMessage)[0]!.messages).toEqual(messages)
    expect(answersIn(pair.transcript)[0]!.content).toEqual(content)
  })

  everyPage('keeps its _meta, and that of messages, results and uses of tools [SAMP-026]', async (wire) => {
    const _meta = (id: number) => ({ 'example.com/cache': { id } })
    const seen: CreateMessageParams[] = []
    await using pair = await wire.connect(
      server(async (ctx) => {
        const first = await ctx.sample(ask({ messages: [{ ...user(text('x')), _meta: _meta(1) }], tools: [weather] }))
        const messages = [
          { ...user({ ...text('x'), _meta: _meta(2) }), _meta: _meta(1) },
          { role: first.role, content: first.content },
          user([{ ...outcome('1'), _meta: _meta(3) }]),
        ]
        const last = await ctx.sample(ask({ messages, tools: [weather] }))
        return [first, last]
      }),
      sampling((params) => {
        seen.push(params)
        return seen.length === 1
          ? answer({ ...use('1'), _meta: _meta(4) }, { _meta: _meta(5) })
          : answer({ ...text('Rain'), _meta: _meta(6) })
      }),
    )
    const [first, last] = JSON.parse((await pair.client.callTool('ask')).text)
    expect(first).toMatchObject({ _meta: _meta(5), content: { _meta: _meta(4) } })
    expect(last.content._meta).toEqual(_meta(6))
    expect(seen[0]!.messages[0]!._meta).toEqual(_meta(1))
    expect(seen[1]!.messages).toMatchObject([
      { _meta: _meta(1), content: { _meta: _meta(2) } },
      { content: { type: 'tool_use', id: '1', _meta: _meta(4) } },
      { content: [{ type: 'tool_result', toolUseId: '1', _meta: _meta(3) }] },
    ])
  })

  everyPage('gives what a tool returned as data in the form of the revision [SAMP-009]', async (wire) => {
    const numbers = { ...outcome('1'), structuredContent: [1, 2] }
    const messages = [user(text('x')), assistant(use('1')), user(numbers)]
    await using pair = await wire.connect(
      server((ctx) => ctx.sample(ask({ messages, tools: [weather] }))),
      sampling(),
    )
    expect((await pair.client.callTool('ask')).isError).toBeFalsy()
    const [asked] = questionsIn(pair.transcript, createMessage)
    const sent = (asked!.messages as { content: ToolResultContent }[])[2]!.content
    // Until 2025-11-25 structured content is an object.
    const wrapped = { ...outcome('1'), structuredContent: { result: [1, 2] } }
    expect(sent).toEqual(wire.revision.id === modern ? numbers : wrapped)
  })
})

describe('the answer of a model', () => {
  const reasons = [undefined, 'endTurn', 'stopSequence', 'maxTokens', 'content_filter:x']

  everyAsking('has a role, content and a model; why it stopped may be any word [SAMP-006, SAMP-017]', async (wire) => {
    let count = 0
    await using pair = await wire.connect(
      server(async (ctx) => {
        const results: unknown[] = []
        for (const _ of reasons) results.push(await ctx.sample(ask()))
        return results
      }),
      sampling(() => {
        const stopReason = reasons[count++]
        return answer(text('Waves'), stopReason === undefined ? {} : { stopReason })
      }),
    )
    const results = JSON.parse((await pair.client.callTool('ask')).text)
    expect(results).toEqual(
      reasons.map((stopReason) => ({ ...answer(), text: 'Waves', ...(stopReason !== undefined && { stopReason }) })),
    )
    expect(answersIn(pair.transcript)).toEqual(
      reasons.map((stopReason) => ({ ...answer(), ...(stopReason !== undefined && { stopReason }) })),
    )
  })

  everyAsking('may come from another model, and be shorter, than was wished [SAMP-013, SAMP-016]', async (wire) => {
    const wishes = ask({
      systemPrompt: 'Speak French',
      modelPreferences: { hints: [{ name: 'sonnet' }] },
      temperature: 0,
      stopSequences: ['.'],
      metadata: { seed: 1 },
    })
    await using pair = await wire.connect(
      server((ctx) => ctx.sample(wishes)),
      sampling(() => answer(text('I.'), { model: 'gpt-5' })),
    )
    expect(JSON.parse((await pair.client.callTool('ask')).text)).toMatchObject({ model: 'gpt-5', text: 'I.' })
  })

  everyAsking('comes from the model that the first fitting hint names [SAMP-011, SAMP-012, SAMP-035]', async (wire) => {
    const models = ['gpt-5-mini', 'claude-haiku-4', 'claude-sonnet-4', 'gemini-pro']
    const hints = [{ name: 'opus' }, {}, { name: 'Sonnet' }, { name: 'gpt' }]
    await using pair = await wire.connect(
      server((ctx) => ctx.sample(ask({ modelPreferences: { hints, costPriority: 1, intelligencePriority: 0 } }))),
      sampling(({ modelPreferences }) => answer(text('x'), { model: chooseModel(modelPreferences, models) })),
    )
    expect(JSON.parse((await pair.client.callTool('ask')).text).model).toBe('claude-sonnet-4')
  })

  everyAsking(
    'exists only if the handler approves: its refusal is all that the server hears [SAMP-029]',
    async (wire) => {
      const asked: string[] = []
      let approves = true
      const handler = sampling(({ messages }) => {
        asked.push(JSON.stringify(messages))
        if (!approves) throw new ProtocolError(-1, 'The user rejected the request')
        return answer(text('approved'))
      })
      await using pair = await wire.connect(
        server((ctx) => ctx.sample(ask())),
        handler,
      )
      expect(JSON.parse((await pair.client.callTool('ask')).text).text).toBe('approved')
      approves = false
      const refused = await pair.client.callTool('ask').then(
        ({ text: said, isError }) => (isError ? said : 'sampled'),
        (error) => String(error.message),
      )
      expect(refused).toContain('The user rejected the request')
      expect(asked).toHaveLength(2)
    },
  )

  it.each(revisionIds)('is not sampled more often than the client allows (%s) [SAMP-034]', async (revision) => {
    vi.useFakeTimers({ toFake: ['Date'] })
    onTestFinished(() => void vi.useRealTimers())
    const { InputHandlers } = await import('../../../src/client/input/input-handlers.ts')
    const sample = vi.fn(() => answer() as never)
    const asking = { server: { name: revision, address: undefined }, signal: new AbortController().signal }
    const request = (answerer: InstanceType<typeof InputHandlers>) =>
      answerer.methods.get('sampling/createMessage')!(ask() as never, asking)
    const limited = new InputHandlers({ sample, samplesPerMinute: 3 }, {})
    for (let count = 0; count < 3; count++) await request(limited)
    await expect(request(limited)).rejects.toMatchObject({
      rpcCode: -32_000,
      data: { error: 'rate_limited', retryAfterMs: 20_000 },
    })
    expect(sample).toHaveBeenCalledTimes(3)
    vi.setSystemTime(Date.now() + 20_000)
    await request(limited)
    await expect(request(limited)).rejects.toThrow('Rate limit exceeded')
    // By default 120 a minute; false turns it off.
    const usual = new InputHandlers({ sample }, {})
    for (let count = 0; count < 120; count++) await request(usual)
    await expect(request(usual)).rejects.toThrow('Rate limit exceeded')
    const unlimited = new InputHandlers({ sample, samplesPerMinute: false }, {})
    for (let count = 0; count < 500; count++) await request(unlimited)
    for (const samplesPerMinute of [0, -1, Number.NaN, '5' as never]) {
      expect(() => new InputHandlers({ sample, samplesPerMinute }, {})).toThrow('handlers.samplesPerMinute')
    }
  })

  const words = (said: string) => said.split(' ').length
  everyAsking('that is longer than maxTokens is not sent to the server [SAMP-015]', async (wire) => {
    const answers: Record<string, ReturnType<typeof answer>> = {
      short: answer(text('one two three')),
      long: answer(text('one two three four')),
    }
    let which = 'short'
    const options = sampling(() => answers[which]!)
    await using pair = await wire.connect(
      server((ctx) => ctx.sample(ask({ maxTokens: 3 }))),
      { ...options, handlers: { ...options.handlers, countTokens: words } },
    )
    const errors: unknown[] = []
    pair.client.on('error', ({ error }) => errors.push(error))
    expect(JSON.parse((await pair.client.callTool('ask')).text).text).toBe('one two three')
    which = 'long'
    const failed = await pair.client.callTool('ask').then(
      ({ isError }) => isError === true,
      () => true,
    )
    expect(failed).toBe(true)
    expect(pair.transcript.toString()).not.toContain('four')
  })

  it('that is much too long is found without counting tokens [SAMP-015]', async () => {
    const { InputHandlers } = await import('../../../src/client/input/input-handlers.ts')
    const asking = { server: { name: 's', address: undefined }, signal: new AbortController().signal }
    const sample = (length: number) =>
      new InputHandlers({ sample: () => answer(text('x'.repeat(length))) as never }, {}).methods.get(
        'sampling/createMessage',
      )!(ask({ maxTokens: 10 }) as never, asking)
    await expect(sample(1_280)).resolves.toMatchObject({ role: 'assistant' })
    await expect(sample(1_281)).rejects.toThrow('at least 11 tokens, and maxTokens is 10')
  })

  const wrong: [string, unknown][] = [
    ['nothing', undefined],
    ['no role', { model: 'm', content: text('x') }],
    ['no model', { role: 'assistant', content: text('x') }],
    ['no content', { role: 'assistant', model: 'm' }],
    ['plain text', { role: 'assistant', model: 'm', content: 'x' }],
    ['half a picture', answer({ type: 'image', data: 'AAAA' } as never)],
    ['a kind of content that no revision has', answer({ type: 'video', data: 'AAAA' } as never)],
    ['a number for why it stopped', answer(text('x'), { stopReason: 4 })],
    ['the use of a tool that was not offered', answer(use('1', 'rm'))],
  ]

  it.each(revisionIds)('is not sent to the server when it is none (%s) [SAMP-006, SAMP-036]', async (revision) => {
    for (const [what, given] of wrong) {
      const question = { method: createMessage, params: { ...ask() } }
      const { error, result, calls } = await putTo(
        revision,
        question,
        sampling(() => given as CreateMessageResult),
      )
      expect(result, what).toBe(undefined)
      if (revision === modern) expect(error?.thrown, what).toMatchObject({ code: 'invalid-argument' })
      else expect(error, what).toEqual({ code: RpcCode.InternalError, message: 'Internal error' })
      expect(calls, what).toBe(revision === modern ? 1 : 0)
    }
  })

  // What is no object at all is no answer in JSON-RPC, and so not even one to this question.
  const believable = wrong.filter(([, given]) => given !== undefined)
  const tooTrusting = { capabilities: { sampling: { tools: {} } } }

  everyPipe('does not reach the handler when it is none [SAMP-006, SAMP-036]', async (wire) => {
    const caught: unknown[] = []
    const made = server(async (ctx) => {
      await ctx.sample(ask()).catch((error) => {
        caught.push(error)
        throw error
      })
    })
    await using client = await script(wire, made, tooTrusting)
    for (const [what, given] of believable) {
      const asked = client.next((message) => 'method' in message && message.method === createMessage)
      const called = client.request('tools/call', { name: 'ask' })
      if (wire.revision.id === modern) {
        const second = await client.request('tools/call', { name: 'ask', ...answerAll((await called).result!, given) })
        expect(second.error, what).toMatchObject({ code: RpcCode.InvalidParams })
        expect(caught.at(-1), what).toMatchObject({ code: 'protocol' })
      } else {
        client.say({ jsonrpc: '2.0', id: ((await asked) as { id: number }).id, result: given })
        expect((await called).result, what).toMatchObject({ isError: true })
        expect(caught.at(-1), what).toMatchObject({ code: 'invalid-response' })
      }
    }
  })

  it.each(httpRevisions)(
    'does not reach the handler when it is none (%s, http) [SAMP-006, SAMP-036]',
    async (revision) => {
      await using http = await serve(server((ctx) => ctx.sample(ask())))
      await using peer = await Peer.open(http.url, revision, tooTrusting)
      for (const [what, given] of believable) {
        const first = await peer.call('ask')
        if (revision === modern) {
          const answers = answerAll((await first.response()).result!, given)
          const second = await peer.request('tools/call', { name: 'ask', arguments: {}, ...answers })
          expect((await second.response()).error, what).toMatchObject({ code: RpcCode.InvalidParams })
        } else {
          const { id } = await first.notified(createMessage)
          expect((await peer.post({ jsonrpc: '2.0', id, result: given as never })).status).toBe(202)
          const reply = await first.until(() => first.messages.find(({ method, result }) => !method && result))
          expect(reply.result, what).toMatchObject({ isError: true })
        }
      }
    },
  )

  function answerAll({ inputRequests, requestState }: Record<string, unknown>, given: unknown) {
    const keys = Object.keys(inputRequests as object)
    return { inputResponses: Object.fromEntries(keys.map((key) => [key, given])), requestState }
  }
})

describe('a model that fails', () => {
  const refusal = () => {
    throw new ProtocolError(-1, 'User rejected sampling request')
  }

  everyAsking(
    'or is refused by the user, is an error with the code of the handler [SAMP-018]',
    async (wire) => {
      const caught: unknown[] = []
      await using pair = await wire.connect(
        server((ctx) => ctx.sample(ask()).catch((error) => caught.push(error))),
        sampling(refusal),
      )
      await pair.client.callTool('ask')
      expect(caught).toEqual([expect.any(PeerError)])
      expect(caught[0]).toMatchObject({ code: 'peer', rpcCode: -1, message: 'User rejected sampling request' })
      expect(said(pair.transcript, 'client').filter(({ error }) => error)).toMatchObject([{ error: { code: -1 } }])
    },
    { revisions: handshakeRevisions },
  )

  everyAsking(
    'is an internal error to the server, which learns nothing else; the client hears of it',
    async (wire) => {
      const caught: unknown[] = []
      const failures: unknown[] = []
      const broken = new Error('no such API key: sk-123')
      await using pair = await wire.connect(
        server((ctx) => ctx.sample(ask()).catch((error) => caught.push(error))),
        sampling(async () => {
          throw broken
        }),
      )
      pair.client.on('error', ({ error }) => failures.push(error))
      await pair.client.callTool('ask')
      expect(caught[0]).toMatchObject({ rpcCode: RpcCode.InternalError, message: 'Internal error' })
      expect(failures).toEqual([broken])
      expect(pair.transcript.toString()).not.toContain('sk-123')
    },
    { revisions: handshakeRevisions },
  )

  everyAsking(
    'ends the call on 2026-07-28: the caller gets the error and the server is not called again [SAMP-032]',
    async (wire) => {
      const broken = new Error('no model')
      let handler: () => never = refusal
      await using pair = await wire.connect(
        server((ctx) => ctx.sample(ask())),
        sampling(() => handler()),
      )
      const refused = await errorOf<ProtocolError>(pair.client.callTool('ask'))
      expect(refused).toBeInstanceOf(ProtocolError)
      expect(refused).toMatchObject({ rpcCode: -1, message: 'User rejected sampling request' })
      handler = () => {
        throw broken
      }
      expect(await errorOf(pair.client.callTool('ask'))).toBe(broken)
      expect(said(pair.transcript, 'client', 'tools/call')).toHaveLength(2)
      expect(answersIn(pair.transcript)).toEqual([])
    },
    { revisions: [modern] },
  )

  everyAsking('is forgotten: the next request is answered with its own messages alone [SAMP-031]', async (wire) => {
    const seen: unknown[] = []
    const made = new McpServer({ name: 'asker', version: '1.0.0' })
    made.registerTool('say', { inputSchema: { type: 'object', properties: { what: {} } } }, async (args, ctx) => {
      const { what } = args as { what: string }
      const content = text(what)
      return (await ctx.sample(ask({ messages: [user(content)] }))).text
    })
    await using pair = await wire.connect(
      made,
      sampling(({ messages }) => {
        seen.push(messages)
        if (seen.length === 1) refusal()
        return answer()
      }),
    )
    await pair.client.callTool('say', { what: 'secret' }).catch(() => {})
    await Promise.all(['one', 'two'].map((what) => pair.client.callTool('say', { what })))
    expect(seen).toEqual(expect.arrayContaining(['secret', 'one', 'two'].map((what) => [user(text(what))])))
    expect(seen).toHaveLength(3)
  })
})

describe('the context of a sampling request', () => {
  describe.each(['thisServer', 'allServers'] as const)('of %s', (includeContext) => {
    everyAsking(
      'is not asked for unless the client declared it since 2025-11-25 [SAMP-027]',
      async (wire) => {
        await using pair = await wire.connect(
          server((ctx) => ctx.sample(ask({ includeContext }))),
          sampling(),
        )
        expect((await pair.client.callTool('ask')).isError).toBeFalsy()
        const [asked] = questionsIn(pair.transcript, createMessage)
        expect(asked!.includeContext ?? 'none').toBe('none')
      },
      { revisions: withTools },
    )

    everyAsking('is asked for where the client can give it', async (wire) => {
      await using pair = await wire.connect(
        server((ctx) => ctx.sample(ask({ includeContext }))),
        { handlers: { sample: () => answer() }, capabilities: { sampling: { context: {} } } },
      )
      await pair.client.callTool('ask')
      expect(questionsIn(pair.transcript, createMessage)).toMatchObject([{ includeContext }])
    })
  })
})

describe('a question to the model', () => {
  everyPipe(
    'is taken back when the handler answers without waiting for it',
    async (wire) => {
      const asked = gate()
      const ended = gate<string>()
      const made = server(async (ctx) => {
        void ctx.sample(ask())
        await asked.promise
        return 'done'
      })
      await using pair = await wire.connect(
        made,
        sampling(async (_params, { signal }) => {
          signal.addEventListener('abort', () => ended.open('taken back'))
          asked.open()
          await ended.promise
          return answer()
        }),
      )
      await pair.client.callTool('ask')
      // What the server sends on a pipe is in order: what it took back is known by the time of the next answer.
      await pair.client.ping()
      ended.open('still open')
      expect(await ended.promise).toBe('taken back')
    },
    { revisions: handshakeRevisions },
  )

  everyAsking('is taken back when its call is given up', async (wire) => {
    const asked = gate()
    const ended = gate<string>()
    await using pair = await wire.connect(
      server((ctx) => ctx.sample(ask())),
      sampling(async (_params, { signal }) => {
        signal.addEventListener('abort', () => ended.open('taken back'))
        asked.open()
        await ended.promise
        return answer()
      }),
    )
    const stop = new AbortController()
    const call = pair.client.callTool('ask', {}, { signal: stop.signal })
    await asked.promise
    stop.abort()
    expect(await errorOf(call)).toMatchObject({ code: 'cancelled' })
    expect(await ended.promise).toBe('taken back')
  })
})
