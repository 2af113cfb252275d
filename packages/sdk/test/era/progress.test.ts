import { metaKeys, type RevisionId } from 'tenon'
import { Client, type ClientHandlers, type Progress } from 'tenon/client'
import { McpServer } from 'tenon/server'
import { InMemoryTransport, ScriptedClient } from 'tenon/testing'
import { describe, expect, it } from 'vitest'
import * as z from 'zod'
import { everyWire } from '../kit/every-wire.ts'
import { gate } from '../kit/gate.ts'
import { allRevisions, handshakeRevisions, modern } from '../kit/revisions.ts'
import { scripted, scriptedClient, shaped } from '../kit/scripted-server.ts'
import { heard, methodsOf, type Said, said } from '../kit/transcript.ts'
import { testServer } from './support.ts'

function reporter(steps: [number, Omit<Progress, 'progress'>?][]) {
  const server = new McpServer({ name: 's', version: '1' })
  server.registerTool('work', {}, async (_, ctx) => {
    for (const [progress, details] of steps) ctx.progress(progress, details)
    return 'done'
  })
  return server
}

async function reported(server: McpServer, revision: RevisionId, progressToken: unknown) {
  await using caller = await ScriptedClient.connect(server, { revision })
  await caller.open()
  const answer = (await caller.request('tools/call', { name: 'work', _meta: { progressToken } })) as Said
  return { answer, params: said(caller.transcript, 'server', 'notifications/progress').map(({ params }) => params!) }
}

describe('progress from a server', () => {
  everyWire(
    'delivers progress with total and message where the revision has them [PROG-003, PROG-004]',
    async (wire) => {
      const server = reporter([[0.5], [1, { total: 4 }], [2.25, { total: 4, message: 'nearly' }], [4, { total: 4 }]])
      await using pair = await wire.connect(server)
      const events: Progress[] = []
      await pair.client.callTool('work', {}, { onProgress: (event) => events.push(event) })
      const message = wire.revision.id === '2024-11-05' ? {} : { message: 'nearly' }
      expect(events).toEqual([
        { progress: 0.5 },
        { progress: 1, total: 4 },
        { progress: 2.25, total: 4, ...message },
        { progress: 4, total: 4 },
      ])
      const token = said(pair.transcript, 'client', 'tools/call')[0]?.params?._meta?.progressToken
      for (const { params } of said(pair.transcript, 'server', 'notifications/progress')) {
        expect(params?.progressToken).toBe(token)
        expect(params?.progress).toEqual(expect.any(Number))
      }
    },
  )

  everyWire(
    'shows the message of the author to the caller, word for word [PROG-006]',
    async (wire) => {
      const messages = ['Reticulating splines...', '3 of 7 Dateien übertragen – «résumé.pdf»', '世界 100 % 🎉']
      const server = reporter(messages.map((message, index) => [index + 1, { total: 3, message }]))
      await using pair = await wire.connect(server)
      const heard: unknown[] = []
      await pair.client.callTool('work', {}, { onProgress: ({ message }) => heard.push(message) })
      expect(heard).toEqual(messages)
    },
    { revisions: ['2025-03-26', '2025-06-18', '2025-11-25', '2026-07-28'] },
  )

  it.each(allRevisions)(
    'sends back the progress token as given, a string or an integer (%s) [PROG-001, PROG-003]',
    async (revision) => {
      for (const token of ['abc', '', '7', 7, 0, -1]) {
        const { params, answer } = await reported(reporter([[1]]), revision, token)
        expect(answer.result).toBeDefined()
        expect(params.map(({ progressToken }) => progressToken)).toEqual([token])
      }
    },
  )

  it.each(allRevisions)('refuses a progress token that is neither (%s) [PROG-001]', async (revision) => {
    for (const token of [null, 1.5, {}, [], true, ['a']]) {
      const { params, answer } = await reported(reporter([[1]]), revision, token)
      expect(answer.error?.code, JSON.stringify(token)).toBe(-32602)
      expect(params).toEqual([])
    }
  })

  it.each(allRevisions)(
    'sends only increasing progress, whatever a handler reports (%s) [PROG-005]',
    async (revision) => {
      const steps: [number][] = [[1], [3], [2], [3], [Number.NaN], [3.5], [-1], [4]]
      const { params } = await reported(reporter(steps), revision, 't')
      const values = params.map(({ progress }) => progress)
      expect(values).toEqual([1, 3, 3.5, 4])
    },
  )

  it.each(allRevisions)('sends only progress that is a number (%s) [PROG-003]', async (revision) => {
    const steps = [Number.NEGATIVE_INFINITY, 1, Number.POSITIVE_INFINITY, '5' as never, 2].map((step): [number] => [
      step,
    ])
    const { params } = await reported(reporter([...steps, [3, { total: Number.POSITIVE_INFINITY }]]), revision, 't')
    expect(params.map(({ progress }) => progress)).toEqual([1, 2, 3])
    for (const { total } of params) expect([undefined, expect.any(Number)]).toContainEqual(total)
  })

  it.each(allRevisions)('sends no progress to a caller without a token (%s) [PROG-007, PROG-008]', async (revision) => {
    const { params, answer } = await reported(reporter([[1], [2]]), revision, undefined)
    expect(answer.result).toMatchObject({ content: [{ text: 'done' }] })
    expect(params).toEqual([])
  })

  it.each(allRevisions)('requires no progress at all (%s) [PROG-008]', async (revision) => {
    const { params, answer } = await reported(reporter([]), revision, 't')
    expect(answer.result).toMatchObject({ content: [{ text: 'done' }] })
    expect(params).toEqual([])
  })

  it.each(allRevisions)('sends no progress after the response (%s) [PROG-007, PROG-009]', async (revision) => {
    const server = new McpServer({ name: 's', version: '1' })
    let later: (() => void) | undefined
    server.registerTool('work', {}, (_, ctx) => {
      ctx.progress(1)
      later = () => ctx.progress(2)
      return 'done'
    })
    await using caller = await ScriptedClient.connect(server, { revision })
    await caller.open()
    await caller.request('tools/call', { name: 'work', _meta: { progressToken: 't' } })
    later?.()
    await caller.request('tools/list')
    const lines = said(caller.transcript, 'server')
    expect(said(caller.transcript, 'server', 'notifications/progress')).toHaveLength(1)
    const at = lines.findIndex(({ method }) => method === 'notifications/progress')
    expect(lines[at + 1]?.result).toMatchObject({ content: [{ text: 'done' }] })
  })

  it.each(allRevisions)(
    'throttles progress of a tight loop and sends the last value before the response (%s) [PROG-005, PROG-009, PROG-010]',
    async (revision) => {
      const steps = Array.from({ length: 10_000 }, (_, index): [number] => [index + 1])
      const { params } = await reported(reporter(steps), revision, 't')
      const values = params.map(({ progress }) => progress as number)
      expect(values.length).toBeLessThan(100)
      expect(values.length).toBeGreaterThan(2)
      expect(values.at(-1)).toBe(10_000)
      expect(values).toEqual([...values].sort((a, b) => a - b))
      expect(new Set(values).size).toBe(values.length)
    },
  )

  it.each(allRevisions)('drops delayed progress after a cancellation (%s) [PROG-009]', async (revision) => {
    const server = new McpServer({ name: 's', version: '1' })
    const started = gate()
    server.registerTool('work', {}, async (_, ctx) => {
      for (let step = 1; step <= 100; step++) ctx.progress(step)
      started.open()
      await new Promise((resolve) => ctx.signal.addEventListener('abort', resolve))
      return 'x'
    })
    await using caller = await ScriptedClient.connect(server, { revision })
    await caller.open()
    const params = caller.params({ name: 'work', _meta: { progressToken: 't' } })
    caller.say({ jsonrpc: '2.0', id: 'x', method: 'tools/call', params })
    await started.opened
    caller.notify('notifications/cancelled', { requestId: 'x' })
    await caller.request('tools/list')
    const before = said(caller.transcript, 'server', 'notifications/progress').length
    expect(before).toBeLessThan(100)
    // Longer than the delay of the throttled value.
    await new Promise((resolve) => setTimeout(resolve, 80))
    await caller.request('tools/list')
    expect(said(caller.transcript, 'server', 'notifications/progress').length).toBe(before)
  })

  it.each(allRevisions)(
    'uses each request’s own token for concurrent requests (%s) [PROG-003, PROG-007]',
    async (revision) => {
      const server = new McpServer({ name: 's', version: '1' })
      server.registerTool('count', { inputSchema: { base: z.number() } }, async ({ base }, ctx) => {
        for (let step = 1; step <= 3; step++) {
          ctx.progress(base + step)
          await Promise.resolve()
        }
        return 'ok'
      })
      await using caller = await ScriptedClient.connect(server, { revision })
      await caller.open()
      await Promise.all(
        [100, 200, 300].map((base) =>
          caller.request('tools/call', { name: 'count', arguments: { base }, _meta: { progressToken: `t${base}` } }),
        ),
      )
      for (const base of [100, 200, 300]) {
        const own = said(caller.transcript, 'server', 'notifications/progress').filter(
          ({ params }) => params?.progressToken === `t${base}`,
        )
        expect(own.map(({ params }) => params?.progress)).toEqual([base + 1, base + 2, base + 3])
      }
    },
  )
})

describe('progress at a server', () => {
  it.each(allRevisions.filter((revision) => revision >= '2025-06-18' && revision !== modern))(
    'passes on few of very many values that a client reports, in order, with the newest before the answer (%s) [PROG-005, PROG-010]',
    async (revision) => {
      const server = new McpServer({ name: 's', version: '1' })
      const values: number[] = []
      const late: number[] = []
      server.registerTool('ask', {}, async (_, ctx) => {
        const onProgress = ({ progress }: Progress) => values.push(progress)
        await ctx.elicit('Continue?', { ok: z.boolean() }, { onProgress })
        late.push(...values)
        return 'asked'
      })
      await using caller = await ScriptedClient.connect(server, { revision, capabilities: { elicitation: {} } })
      await caller.open()
      const call = caller.request('tools/call', { name: 'ask' })
      const question = await heard(caller.transcript, 'server', 'elicitation/create')
      const progressToken = question.params?._meta?.progressToken
      const tell = (progress: number) => caller.notify('notifications/progress', { progressToken, progress })
      for (const progress of [5, 3, 5, 6, 4, 7]) tell(progress)
      for (let progress = 8; progress <= 5_000; progress++) tell(progress)
      caller.say({ jsonrpc: '2.0', id: question.id!, result: { action: 'accept', content: { ok: true } } })
      await call
      tell(6_000)
      await caller.request('tools/list')
      expect(values.slice(0, 4)).toEqual([5, 6, 7, 8])
      expect(values).toEqual([...values].sort((a, b) => a - b))
      expect(values.length).toBeLessThan(2_500)
      expect(values.at(-1)).toBe(5_000)
      expect(late).toEqual(values)
    },
  )

  it('reports a progress listener that throws, and continues [PROG-010]', async () => {
    const problems: unknown[] = []
    const failure = new Error('no display')
    const server = new McpServer({ name: 's', version: '1' }, { onError: (error) => void problems.push(error) })
    server.registerTool('ask', {}, async (_, ctx) => {
      const onProgress = ({ progress }: Progress) => {
        if (progress === 1 || progress === 500) throw failure
      }
      const { action } = await ctx.elicit('Continue?', { ok: z.boolean() }, { onProgress })
      return action
    })
    await using caller = await ScriptedClient.connect(server, {
      revision: '2025-11-25',
      capabilities: { elicitation: {} },
    })
    await caller.open()
    const call = caller.request('tools/call', { name: 'ask' })
    const question = await heard(caller.transcript, 'server', 'elicitation/create')
    const progressToken = question.params?._meta?.progressToken
    for (let progress = 1; progress <= 500; progress++)
      caller.notify('notifications/progress', { progressToken, progress })
    caller.say({ jsonrpc: '2.0', id: question.id!, result: { action: 'decline' } })
    expect((await call).result).toMatchObject({ content: [{ text: 'decline' }] })
    expect(problems).toEqual([failure, failure])
  })
})

describe('progress at a client', () => {
  it.each(allRevisions)('sends unique integer progress tokens (%s) [PROG-001, PROG-002]', async (revision) => {
    const server = scripted(revision, { 'tools/call': () => undefined })
    const client = await scriptedClient(server, { revision })
    const calls = Array.from({ length: 50 }, () =>
      client.callTool('x', {}, { onProgress: () => {} }).catch(() => undefined),
    )
    await heard(server.transcript, 'client', 'tools/call', 50)
    const tokens = said(server.transcript, 'client', 'tools/call').map(({ params }) => params?._meta?.progressToken)
    for (const token of tokens) expect(Number.isInteger(token)).toBe(true)
    expect(new Set(tokens).size).toBe(50)
    await client.close()
    await Promise.all(calls)
  })

  it.each(allRevisions)(
    'delivers progress to its call and ignores unknown and finished tokens (%s) [PROG-003, PROG-007, PROG-010]',
    async (revision) => {
      const server = scripted(revision, { 'tools/call': () => undefined })
      const client = await scriptedClient(server, { revision })
      const seen: Record<string, number[]> = { a: [], b: [] }
      const calls = ['a', 'b'].map((name) =>
        client.callTool(name, {}, { onProgress: ({ progress }) => seen[name]!.push(progress) }),
      )
      await heard(server.transcript, 'client', 'tools/call', 2)
      const [a, b] = said(server.transcript, 'client', 'tools/call')
      const tell = (token: unknown, progress: number) =>
        server.say({ jsonrpc: '2.0', method: 'notifications/progress', params: { progressToken: token, progress } })
      tell(b?.params?._meta?.progressToken, 1)
      tell(a?.params?._meta?.progressToken, 2)
      tell('nobody', 3)
      tell(String(a?.params?._meta?.progressToken), 4)
      tell(b?.params?._meta?.progressToken, 5)
      server.say({ jsonrpc: '2.0', id: b!.id, ...shaped(revision, { content: [] }) })
      await calls[1]
      tell(b?.params?._meta?.progressToken, 6)
      server.say({ jsonrpc: '2.0', id: a!.id, ...shaped(revision, { content: [] }) })
      await calls[0]
      expect(seen).toEqual({ a: [2], b: [1, 5] })
      await client.close()
    },
  )

  it.each(allRevisions)('ignores malformed progress (%s) [PROG-003]', async (revision) => {
    const server = scripted(revision, { 'tools/call': () => undefined })
    const client = await scriptedClient(server, { revision })
    const events: unknown[] = []
    const call = client.callTool('x', {}, { onProgress: (event) => events.push(event) })
    const asked = await heard(server.transcript, 'client', 'tools/call')
    const progressToken = asked.params?._meta?.progressToken
    for (const params of [
      { progressToken, progress: 'half' },
      { progressToken },
      { progressToken, progress: null },
      { progressToken, progress: 1, total: 'ten' },
      { progressToken, progress: 1, message: 5 },
      { progressToken: null, progress: 1 },
      {},
    ]) {
      server.say({ jsonrpc: '2.0', method: 'notifications/progress', params })
    }
    server.say({ jsonrpc: '2.0', method: 'notifications/progress', params: { progressToken, progress: 1 } })
    server.say({ jsonrpc: '2.0', id: asked.id, ...shaped(revision, { content: [] }) })
    await call
    expect(events).toEqual([{ progress: 1 }])
    await client.close()
  })

  it.each(allRevisions)('drops progress that does not increase (%s) [PROG-005]', async (revision) => {
    const server = scripted(revision, { 'tools/call': () => undefined })
    const client = await scriptedClient(server, { revision })
    const events: number[] = []
    const call = client.callTool('x', {}, { onProgress: ({ progress }) => events.push(progress) })
    const asked = await heard(server.transcript, 'client', 'tools/call')
    const progressToken = asked.params?._meta?.progressToken
    for (const progress of [1, 1, 0.5, -3, 2, 2, 1.9, 3])
      server.say({ jsonrpc: '2.0', method: 'notifications/progress', params: { progressToken, progress } })
    server.say({ jsonrpc: '2.0', id: asked.id, ...shaped(revision, { content: [] }) })
    await call
    expect(events).toEqual([1, 2, 3])
    await client.close()
  })

  it.each(allRevisions)(
    'passes on few of very many notifications, with the newest before the result (%s) [PROG-010]',
    async (revision) => {
      const server = scripted(revision, { 'tools/call': () => undefined })
      const client = await scriptedClient(server, { revision })
      const problems: unknown[] = []
      client.on('error', ({ error }) => problems.push(error))
      const events: number[] = []
      const failure = new Error('the last one')
      const onProgress = ({ progress }: Progress) => {
        events.push(progress)
        if (progress === 5_000) throw failure
      }
      const call = client.callTool('x', {}, { onProgress })
      const asked = await heard(server.transcript, 'client', 'tools/call')
      const progressToken = asked.params?._meta?.progressToken
      for (let progress = 1; progress <= 5_000; progress++)
        server.say({ jsonrpc: '2.0', method: 'notifications/progress', params: { progressToken, progress } })
      server.say({ jsonrpc: '2.0', id: asked.id, ...shaped(revision, { content: [] }) })
      await call
      // On a slow machine some more may be passed on meanwhile.
      expect(events.length).toBeLessThan(2_500)
      expect(events.at(-1)).toBe(5_000)
      expect(problems).toEqual([failure])
      await client.close()
    },
  )

  it('reports a listener that throws and completes the call', async () => {
    const server = scripted(modern, { 'tools/call': () => undefined })
    // Uses a transport that rethrows errors of its handler, as a stream callback would.
    const { transport } = server
    const thrown: unknown[] = []
    const start = transport.start.bind(transport)
    transport.start = async () => {
      const handler = transport.onmessage!
      transport.onmessage = (message) => {
        try {
          handler(message)
        } catch (error) {
          thrown.push(error)
        }
      }
      await start()
    }
    const client = await scriptedClient(server)
    const problems: unknown[] = []
    client.on('error', ({ error }) => problems.push(error))
    const failure = new Error('bad listener')
    const call = client.callTool(
      'x',
      {},
      {
        onProgress: () => {
          throw failure
        },
      },
    )
    const asked = await heard(server.transcript, 'client', 'tools/call')
    const progressToken = asked.params?._meta?.progressToken
    server.say({ jsonrpc: '2.0', method: 'notifications/progress', params: { progressToken, progress: 1 } })
    server.say({ jsonrpc: '2.0', id: asked.id, ...shaped(modern, { content: [{ type: 'text', text: 'ok' }] }) })
    expect((await call).text).toBe('ok')
    expect(thrown).toEqual([])
    expect(problems).toEqual([failure])
    await client.close()
  })

  everyWire(
    'sends no progress on 2026-07-28 [PROG-012]',
    async (wire) => {
      const { server } = testServer()
      await using pair = await wire.connect(server)
      await pair.client.callTool('echo', { text: 'x' }, { onProgress: () => {} })
      await (await pair.client.listen({ toolsListChanged: true })).close()
      await pair.client.ping()
      expect(methodsOf(pair.transcript, 'client')).not.toContain('notifications/progress')
    },
    { revisions: [modern] },
  )
})

describe('progress from a client', () => {
  it.each(handshakeRevisions)(
    'delivers client progress to the server under its token (%s) [PROG-001, PROG-002, PROG-003]',
    async (revision) => {
      const [ours, theirs] = InMemoryTransport.createLinkedPair()
      const link = await testServer().server.connect(theirs)
      const caller = await ScriptedClient.connect(ours, { revision, capabilities: { sampling: {} } })
      await caller.open()
      const events: Progress[][] = [[], []]
      const calls = events.map((list) =>
        link.request(
          'sampling/createMessage',
          { messages: [], maxTokens: 1 },
          { onProgress: (event) => list.push(event) },
        ),
      )
      await heard(caller.transcript, 'server', 'sampling/createMessage', 2)
      const asked = said(caller.transcript, 'server', 'sampling/createMessage')
      const tokens = asked.map(({ params }) => params?._meta?.progressToken)
      expect(new Set(tokens).size).toBe(2)
      for (const token of tokens) expect(Number.isInteger(token)).toBe(true)
      caller.notify('notifications/progress', { progressToken: tokens[1], progress: 1, total: 2 })
      caller.notify('notifications/progress', { progressToken: tokens[0], progress: 5 })
      for (const { id } of asked) caller.say({ jsonrpc: '2.0', id, result: {} })
      await Promise.all(calls)
      expect(events).toEqual([[{ progress: 5 }], [{ progress: 1, total: 2 }]])
      await caller.close()
    },
  )
})

describe('progress tokens beside other _meta', () => {
  it('keeps the caller’s _meta beside the progress token', async () => {
    const server = scripted(modern, { 'tools/call': () => shaped(modern, { content: [] }) })
    const client = new Client({ name: 'c', version: '1' })
    await client.connect(server.transport)
    await client.callTool({ name: 'x', arguments: {}, _meta: { 'com.example/a': 1 } }, { onProgress: () => {} })
    const meta = said(server.transcript, 'client', 'tools/call')[0]?.params?._meta
    expect(meta).toMatchObject({
      'com.example/a': 1,
      progressToken: expect.any(Number),
      [metaKeys.protocolVersion]: modern,
    })
    await client.close()
  })
})

describe('progress from a client', () => {
  everyWire(
    'a handler reports progress to a server that asked for it, and not on 2026-07-28 [PROG-003, PROG-005, PROG-012]',
    async (wire) => {
      const server = new McpServer({ name: 's', version: '1' })
      server.registerTool('ask', {}, async (_, ctx) => {
        await ctx.sample({ messages: [{ role: 'user', content: { type: 'text', text: 'Hello' } }], maxTokens: 10 })
        return 'asked'
      })
      const sample: ClientHandlers['sample'] = async (_, { progress }) => {
        progress?.(1, { total: 2, message: 'Asking the model' })
        progress?.(1)
        progress?.(2, { total: 2 })
        return { role: 'assistant', model: 'm', content: { type: 'text', text: 'Hi' } }
      }
      await using pair = await wire.connect(server, { handlers: { sample } })
      expect((await pair.client.callTool('ask')).text).toBe('asked')
      const sent = said(pair.transcript, 'client', 'notifications/progress').map(({ params }) => params?.progress)
      expect(sent).toEqual(wire.revision.id === modern ? [] : [1, 2])
      const token = said(pair.transcript, 'server', 'sampling/createMessage')[0]?.params?._meta?.progressToken
      for (const { params } of said(pair.transcript, 'client', 'notifications/progress'))
        expect(params?.progressToken).toBe(token)
    },
  )
})
