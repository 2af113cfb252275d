import { CapabilityError, type CreateMessageParams, ErrorCode, McpError, PeerError, revisionIds } from 'tenon'
import { type Context, McpServer } from 'tenon/server'
import { ScriptedClient } from 'tenon/testing'
import { describe, expect, it } from 'vitest'
import { errorOf } from '../../kit/error-of.ts'
import { everyPipe, everyWire } from '../../kit/every-wire.ts'
import { gate } from '../../kit/gate.ts'
import { Peer } from '../../kit/http-peer.ts'
import { handshakeRevisions, httpRevisions } from '../../kit/revisions.ts'
import { serve } from '../../kit/serve-http.ts'
import { methodsOf, said } from '../../kit/transcript.ts'

import {
  answer,
  ask,
  asksAllOf,
  type Case,
  createMessage,
  returnsAllOf,
  sampling,
  server,
  text,
  user,
  withTools,
} from './sampling-support.ts'
import { everyAsking } from './support.ts'
import { declaredIn, modern, putTo, questionsIn } from './wire.ts'

describe('the sampling capability', () => {
  everyAsking('is declared in the handshake, or with every request [SAMP-001, SAMP-002]', async (wire) => {
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

  everyAsking('is not declared without a handler', async (wire) => {
    await using pair = await wire.connect(
      server(async () => 'nothing'),
      { handlers: { roots: [] } },
    )
    await pair.client.callTool('ask')
    for (const declared of declaredIn(pair.transcript)) expect(declared).not.toHaveProperty('sampling')
  })

  everyAsking('includes its sub-capabilities on revisions that have them [SAMP-020]', async (wire) => {
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

describe('a sampling request', () => {
  everyAsking('reaches the handler unchanged, with messages and maxTokens [SAMP-005, SAMP-014]', async (wire) => {
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
    ['has a picture that is not base64', { messages: [user({ type: 'image', data: '!!', mimeType: 'image/png' })] }],
    ['has a sound whose kind is no MIME type', { messages: [user({ type: 'audio', data: 'AAAA', mimeType: 'x' })] }],
    ['has a picture without its kind', { messages: [user({ type: 'image', data: 'AAAA' } as never)] }],
    ['has a cost priority above 1', { modelPreferences: { costPriority: 1.01 } }],
    ['has a speed priority below 0', { modelPreferences: { speedPriority: -0.01 } }],
    ['has an intelligence priority that is no number', { modelPreferences: { intelligencePriority: 'high' } }],
    ['has another context', { includeContext: 'everything' }],
  ]
  const bad = wrongs.map(([what, wrong]): Case => [what, { ...ask(), ...wrong } as CreateMessageParams])

  everyAsking('is rejected before it is sent when it is invalid [SAMP-005, SAMP-014, SAMP-036]', async (wire) => {
    await using pair = await wire.connect(asksAllOf(bad), sampling())
    for (const [at, [what]] of bad.entries()) {
      const { text } = await pair.client.callTool('ask', { at })
      expect(text, what).toMatch(/^TypeError: sample\(\): params\./)
    }
    expect(questionsIn(pair.transcript, createMessage)).toEqual([])
  })

  everyAsking(
    'is rejected before it is sent when a handler returns it and it is invalid [SAMP-005, SAMP-014, SAMP-036]',
    async (wire) => {
      await using pair = await wire.connect(returnsAllOf(bad), sampling())
      for (const at of bad.keys()) await pair.client.callTool('ask', { at }).catch(() => {})
      expect(questionsIn(pair.transcript, createMessage)).toEqual([])
    },
  )

  it.each(revisionIds)(
    'is rejected by the client before its handler runs when it is invalid (%s) [SAMP-036]',
    async (revision) => {
      let count = 0
      const options = sampling(() => answer(text(`${++count}`)))
      for (const [what, params] of bad) {
        const { error, calls } = await putTo(revision, { method: createMessage, params: { ...params } }, options)
        expect(error, what).toMatchObject({
          code: ErrorCode.InvalidParams,
          message: expect.stringContaining('params.'),
        })
        expect(calls, what).toBe(revision === modern ? 1 : 0)
      }
      expect(count).toBe(0)
    },
  )

  describe.each([...httpRevisions])('to a client without capabilities (%s)', (revision) => {
    const refused = { code: ErrorCode.MissingClientCapability, data: { requiredCapabilities: { sampling: {} } } }

    it('is answered with the missing capability: a result before 2026-07-28, HTTP 400 since [SAMP-003]', async () => {
      await using http = await serve(server((ctx) => ctx.sample(ask())))
      await using peer = await Peer.open(http.url, revision)
      const reply = await peer.call('ask')
      const { error, result } = await reply.response()
      expect(reply.status).toBe(revision === modern ? 400 : 200)
      if (revision === modern) expect(error).toMatchObject(refused)
      else expect(result).toMatchObject({ isError: true, content: [{ text: expect.stringContaining('sampling') }] })
    })
  })

  describe.each(['prompts/get', 'resources/read'])('during %s', (method) => {
    everyWire(
      'is an error for a client without capabilities [SAMP-003]',
      async (wire) => {
        const made = new McpServer({ name: 'asker', version: '1.0.0' })
        made.registerPrompt('poem', {}, async (_args, ctx) => (await ctx.sample(ask())).text)
        made.registerResource('poem', 'poem://sea', {}, async (_uri, ctx) => (await ctx.sample(ask())).text)
        await using pair = await wire.connect(made)
        const params = method === 'prompts/get' ? { name: 'poem' } : { uri: 'poem://sea' }
        const error = await errorOf<PeerError>(pair.client.request(method, params))
        const isModern = wire.revision.id === modern
        expect(error).toBeInstanceOf(PeerError)
        expect(error.rpcCode).toBe(isModern ? ErrorCode.MissingClientCapability : ErrorCode.InternalError)
        if (isModern) expect(error.data).toEqual({ requiredCapabilities: { sampling: {} } })
        expect(questionsIn(pair.transcript, createMessage)).toEqual([])
      },
      { transports: ['memory', 'stdio', 'http', 'http-stateless'] },
    )
  })

  everyWire(
    'is not sent to a client without capabilities, and the handler can continue [SAMP-003]',
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

  describe.each(handshakeRevisions)('after its call was answered (%s)', (revision) => {
    it('is not sent [SAMP-033]', async () => {
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

describe('the context of a sampling request', () => {
  describe.each(['thisServer', 'allServers'] as const)('of %s', (includeContext) => {
    everyAsking(
      'is not requested unless the client declared it, since 2025-11-25 [SAMP-027]',
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

    everyAsking('is requested when the client declared it', async (wire) => {
      await using pair = await wire.connect(
        server((ctx) => ctx.sample(ask({ includeContext }))),
        { handlers: { sample: () => answer() }, capabilities: { sampling: { context: {} } } },
      )
      await pair.client.callTool('ask')
      expect(questionsIn(pair.transcript, createMessage)).toMatchObject([{ includeContext }])
    })
  })
})

describe('a pending sampling request', () => {
  everyPipe(
    'is cancelled when the handler returns without awaiting it',
    async (wire) => {
      const asked = gate()
      const ended = gate<string>()
      const made = server(async (ctx) => {
        void ctx.sample(ask())
        await asked.opened
        return 'done'
      })
      await using pair = await wire.connect(
        made,
        sampling(async (_params, { signal }) => {
          signal.addEventListener('abort', () => ended.open('taken back'))
          asked.open()
          await ended.opened
          return answer()
        }),
      )
      await pair.client.callTool('ask')
      // Messages on a pipe arrive in order, so the cancellation arrives before the next response.
      await pair.client.ping()
      ended.open('still open')
      expect(await ended.opened).toBe('taken back')
    },
    { revisions: handshakeRevisions },
  )

  everyAsking('is cancelled when its call is cancelled', async (wire) => {
    const asked = gate()
    const ended = gate<string>()
    await using pair = await wire.connect(
      server((ctx) => ctx.sample(ask())),
      sampling(async (_params, { signal }) => {
        signal.addEventListener('abort', () => ended.open('taken back'))
        asked.open()
        await ended.opened
        return answer()
      }),
    )
    const stop = new AbortController()
    const call = pair.client.callTool('ask', {}, { signal: stop.signal })
    await asked.opened
    stop.abort()
    expect(await errorOf(call)).toMatchObject({ code: 'cancelled' })
    expect(await ended.opened).toBe('taken back')
  })
})
