import { type CreateMessageResult, ErrorCode, PeerError, ProtocolError, revisionIds } from 'tenon'
import { chooseModel } from 'tenon/client'
import { McpServer } from 'tenon/server'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { errorOf } from '../../kit/error-of.ts'
import { everyPipe } from '../../kit/every-wire.ts'
import { Peer } from '../../kit/http-peer.ts'
import { handshakeRevisions, httpRevisions } from '../../kit/revisions.ts'
import { serve } from '../../kit/serve-http.ts'
import { said } from '../../kit/transcript.ts'

import { script } from '../../transport/stdio/support.ts'
import { answer, ask, createMessage, sampling, server, text, use, user } from './sampling-support.ts'
import { everyAsking } from './support.ts'
import { answersIn, modern, putTo } from './wire.ts'

describe('the result of sampling', () => {
  const reasons = [undefined, 'endTurn', 'stopSequence', 'maxTokens', 'content_filter:x']

  everyAsking('has a role, content and a model; stopReason may be any string [SAMP-006, SAMP-017]', async (wire) => {
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

  everyAsking(
    'may come from another model, and be shorter, than requested [SAMP-016, SAMP-037, SAMP-040]',
    async (wire) => {
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
    },
  )

  everyAsking('may come from a model of another provider that fits the hint [SAMP-013]', async (wire) => {
    const equivalents: Record<string, string> = { 'claude-3-sonnet': 'gemini-1.5-pro', claude: 'gemini-1.5-flash' }
    await using pair = await wire.connect(
      server((ctx) =>
        ctx.sample(ask({ modelPreferences: { hints: [{ name: 'claude-3-sonnet' }, { name: 'claude' }] } })),
      ),
      sampling(({ modelPreferences }) => {
        const hints = modelPreferences?.hints?.map(({ name = '' }) => ({ name: equivalents[name] ?? name }))
        const models = ['gemini-1.5-flash', 'gemini-1.5-pro']
        return answer(text('x'), { model: chooseModel({ ...modelPreferences, hints }, models) })
      }),
    )
    expect(JSON.parse((await pair.client.callTool('ask')).text).model).toBe('gemini-1.5-pro')
  })

  everyAsking('comes from the model of the first matching hint [SAMP-011, SAMP-012, SAMP-035]', async (wire) => {
    const models = ['gpt-5-mini', 'claude-haiku-4', 'claude-sonnet-4', 'gemini-pro']
    const hints = [{ name: 'opus' }, {}, { name: 'Sonnet' }, { name: 'gpt' }]
    await using pair = await wire.connect(
      server((ctx) => ctx.sample(ask({ modelPreferences: { hints, costPriority: 1, intelligencePriority: 0 } }))),
      sampling(({ modelPreferences }) => answer(text('x'), { model: chooseModel(modelPreferences, models) })),
    )
    expect(JSON.parse((await pair.client.callTool('ask')).text).model).toBe('claude-sonnet-4')
  })

  everyAsking('requires the approval of the handler: the server gets only the refusal [SAMP-029]', async (wire) => {
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
  })

  it.each(revisionIds)('is rate limited by the client (%s) [SAMP-034]', async (revision) => {
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
    // The default is 120 per minute; false disables the limit.
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
  everyAsking('that exceeds maxTokens is not sent to the server [SAMP-015]', async (wire) => {
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

  it('that is far too long is detected without a token counter [SAMP-015]', async () => {
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

  it.each(revisionIds)('is not sent to the server when it is malformed (%s) [SAMP-006, SAMP-036]', async (revision) => {
    for (const [what, given] of wrong) {
      const question = { method: createMessage, params: { ...ask() } }
      const { error, result, calls } = await putTo(
        revision,
        question,
        sampling(() => given as CreateMessageResult),
      )
      expect(result, what).toBe(undefined)
      if (revision === modern) expect(error?.thrown, what).toMatchObject({ code: 'invalid-argument' })
      else expect(error, what).toEqual({ code: ErrorCode.InternalError, message: 'Internal error' })
      expect(calls, what).toBe(revision === modern ? 1 : 0)
    }
  })

  // A value that is not an object is not a valid JSON-RPC result, so it would not be matched to the question at all.
  const believable = wrong.filter(([, given]) => given !== undefined)
  const tooTrusting = { capabilities: { sampling: { tools: {} } } }

  everyPipe('does not reach the handler when it is malformed [SAMP-006, SAMP-036]', async (wire) => {
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
        expect(second.error, what).toMatchObject({ code: ErrorCode.InvalidParams })
        expect(caught.at(-1), what).toMatchObject({ code: 'protocol' })
      } else {
        client.say({ jsonrpc: '2.0', id: ((await asked) as { id: number }).id, result: given })
        expect((await called).result, what).toMatchObject({ isError: true })
        expect(caught.at(-1), what).toMatchObject({ code: 'invalid-response' })
      }
    }
  })

  it.each(httpRevisions)(
    'does not reach the handler when it is malformed (%s, http) [SAMP-006, SAMP-036]',
    async (revision) => {
      await using http = await serve(server((ctx) => ctx.sample(ask())))
      await using peer = await Peer.open(http.url, revision, tooTrusting)
      for (const [what, given] of believable) {
        const first = await peer.call('ask')
        if (revision === modern) {
          const answers = answerAll((await first.response()).result!, given)
          const second = await peer.request('tools/call', { name: 'ask', arguments: {}, ...answers })
          expect((await second.response()).error, what).toMatchObject({ code: ErrorCode.InvalidParams })
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

describe('a sampling handler that throws', () => {
  const refusal = () => {
    throw new ProtocolError(-1, 'User rejected sampling request')
  }

  everyAsking(
    'a ProtocolError, such as a refusal by the user, is answered with its code [SAMP-018]',
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
    'any other error is answered with an internal error, and reported to the client',
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
      expect(caught[0]).toMatchObject({ rpcCode: ErrorCode.InternalError, message: 'Internal error' })
      expect(failures).toEqual([broken])
      expect(pair.transcript.toString()).not.toContain('sk-123')
    },
    { revisions: handshakeRevisions },
  )

  everyAsking(
    'ends the call on 2026-07-28: the caller gets the error, and the request is not repeated [SAMP-032]',
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

  everyAsking('leaves no trace: the next request contains only its own messages [SAMP-031]', async (wire) => {
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
