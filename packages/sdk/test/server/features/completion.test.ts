import { type } from 'arktype'
import { revisionIds } from 'tenon'
import { connect } from 'tenon/client'
import { completable, McpServer, ResourceTemplate } from 'tenon/server'
import { describe, expect, it, vi } from 'vitest'
import * as z from 'zod'
import { everyWire } from '../../kit/every-wire.ts'
import { ask, pretend, requests, script, since } from './support.ts'

const info = { name: 'completion', version: '1' }
const languages = ['javascript', 'java', 'python', 'typescript']
const frameworks: Record<string, string[]> = { python: ['django', 'flask'], typescript: ['angular', 'astro'] }

function createServer(onError?: (error: unknown) => void) {
  const server = new McpServer(info, { ...(onError && { onError }) })
  server.registerPrompt(
    'review',
    {
      argsSchema: {
        code: z.string(),
        language: completable(z.string(), (typed) => languages.filter((name) => name.startsWith(typed))),
        framework: completable(z.string().optional(), async (typed, { arguments: settled = {} }) =>
          (frameworks[settled.language ?? ''] ?? ['none']).filter((name) => name.startsWith(typed)),
        ),
      },
    },
    () => 'x',
  )
  server.registerResource(
    'repo',
    new ResourceTemplate('repo://{owner}/{name}', {
      complete: {
        owner: (typed) => ['ada', 'alan'].filter((name) => name.startsWith(typed)),
        name: (_typed, { arguments: settled }) => [`of ${settled?.owner}`],
      },
    }),
    {},
    () => 'x',
  )
  server.registerResource('plain', 'repo://plain', {}, () => 'x')
  return server
}

const promptRef = { type: 'ref/prompt' as const, name: 'review' }
const templateRef = { type: 'ref/resource' as const, uri: 'repo://{owner}/{name}' }

describe('completion', () => {
  everyWire('is declared on revisions that have the capability [COMP-001]', async (wire) => {
    await using pair = await wire.connect(createServer())
    const { completions } = pair.client.getServerCapabilities()!
    expect(completions).toEqual(wire.revision.id === '2024-11-05' ? undefined : {})
  })

  everyWire(
    'is not declared, and the method does not exist, when nothing can be completed [COMP-001, COMP-006]',
    async (wire) => {
      const server = new McpServer(info)
      server.registerPrompt('review', { argsSchema: { code: z.string() } }, () => 'x')
      await using pair = await wire.connect(server)
      expect(pair.client.getServerCapabilities()).not.toHaveProperty('completions')
      const params = { ref: promptRef, argument: { name: 'code', value: '' } }
      await expect(pair.client.request('completion/complete', params)).rejects.toMatchObject({ rpcCode: -32601 })
    },
  )

  everyWire('suggests values for prompts and templates [COMP-002, COMP-004, SDK-014]', async (wire) => {
    await using pair = await wire.connect(createServer())
    const { client, transcript } = pair
    expect(await client.complete({ ref: promptRef, argument: { name: 'language', value: 'java' } })).toEqual({
      values: ['javascript', 'java'],
      total: 2,
      hasMore: false,
    })
    expect((await client.complete({ ref: templateRef, argument: { name: 'owner', value: 'al' } })).values).toEqual([
      'alan',
    ])
    const [first, second] = requests(transcript, 'completion/complete')
    expect(first?.params).toMatchObject({ ref: promptRef, argument: { name: 'language', value: 'java' } })
    expect(second?.params).toMatchObject({ ref: templateRef, argument: { name: 'owner', value: 'al' } })
  })

  everyWire('keeps the order of the values that the handler returned', async (wire) => {
    const server = new McpServer(info)
    const ranked = ['zebra', 'apple', 'mango']
    server.registerPrompt('p', { argsSchema: { x: completable(z.string(), () => ranked) } }, () => 'x')
    await using pair = await wire.connect(server)
    const completed = await pair.client.complete({
      ref: { type: 'ref/prompt', name: 'p' },
      argument: { name: 'x', value: '' },
    })
    expect(completed.values).toEqual(ranked)
  })

  everyWire('passes the arguments that are already filled in, since 2025-06-18 [COMP-003, SDK-014]', async (wire) => {
    await using pair = await wire.connect(createServer())
    const { client, transcript } = pair
    const knows = wire.revision.id >= '2025-06-18'
    const context = { arguments: { language: 'python' } }
    const framework = await client.complete({ ref: promptRef, argument: { name: 'framework', value: '' }, context })
    expect(framework.values).toEqual(knows ? ['django', 'flask'] : ['none'])
    const [request] = requests(transcript, 'completion/complete')
    if (knows) expect(request?.params.context).toEqual(context)
    else expect(request?.params).not.toHaveProperty('context')
    const owned = { arguments: { owner: 'ada' } }
    const name = await client.complete({ ref: templateRef, argument: { name: 'name', value: '' }, context: owned })
    expect(name.values).toEqual([knows ? 'of ada' : 'of undefined'])
  })

  everyWire('sends at most 100 values and the total count [COMP-004, COMP-005]', async (wire) => {
    const server = new McpServer(info)
    const many = Array.from({ length: 250 }, (_, index) => `v${index}`)
    const sizes: Record<string, () => string[] | { values: string[]; total?: number; hasMore?: boolean }> = {
      many: () => many,
      hundred: () => many.slice(0, 100),
      told: () => ({ values: many.slice(0, 10), total: 1_000 }),
      more: () => ({ values: many, hasMore: true }),
      none: () => [],
    }
    const argsSchema = Object.fromEntries(
      Object.entries(sizes).map(([name, complete]) => [name, completable(z.string(), complete)]),
    )
    server.registerPrompt('sized', { argsSchema }, () => 'x')
    await using pair = await wire.connect(server)
    const complete = (name: string) =>
      pair.client.complete({ ref: { type: 'ref/prompt', name: 'sized' }, argument: { name, value: '' } })
    expect(await complete('many')).toEqual({ values: many.slice(0, 100), total: 250, hasMore: true })
    expect(await complete('hundred')).toEqual({ values: many.slice(0, 100), total: 100, hasMore: false })
    expect(await complete('told')).toEqual({ values: many.slice(0, 10), total: 1_000, hasMore: true })
    expect(await complete('more')).toEqual({ values: many.slice(0, 100), hasMore: true })
    expect(await complete('none')).toEqual({ values: [], total: 0, hasMore: false })
  })

  everyWire('returns no values for an argument without a completer', async (wire) => {
    await using pair = await wire.connect(createServer())
    const { client } = pair
    expect((await client.complete({ ref: promptRef, argument: { name: 'code', value: 'x' } })).values).toEqual([])
    const plain = { type: 'ref/resource' as const, uri: 'repo://plain' }
    expect((await client.complete({ ref: plain, argument: { name: 'x', value: '' } })).values).toEqual([])
  })

  it.each(revisionIds)(
    'rejects unknown references and malformed requests on %s [COMP-006, COMP-009]',
    async (revision) => {
      await using client = await script(createServer(), revision)
      const argument = { name: 'language', value: '' }
      const bad = [
        { ref: { type: 'ref/prompt', name: 'unknown' }, argument },
        { ref: promptRef, argument: { name: 'unknown', value: '' } },
        { ref: { type: 'ref/resource', uri: 'unknown://{x}' }, argument },
        { ref: templateRef, argument: { name: 'unknown', value: '' } },
        { ref: promptRef },
        { ref: promptRef, argument: { name: 'language' } },
        { ref: promptRef, argument: { value: '' } },
        { argument },
        { ref: { type: 'ref/other', name: 'review' }, argument },
        { ref: promptRef, argument, context: { arguments: { language: 7 } } },
      ]
      for (const params of bad) expect((await ask(client, 'completion/complete', params)).error?.code).toBe(-32602)
    },
  )

  everyWire('hides internal errors and reports them to onError [COMP-006]', async (wire) => {
    const onError = vi.fn()
    const server = createServer(onError)
    const thrown = new Error('password=hunter2')
    const argsSchema = {
      fails: completable(z.string(), () => Promise.reject(thrown)),
      odd: completable(z.string(), () => [1, 2] as never),
    }
    server.registerPrompt('bad', { argsSchema }, () => 'x')
    await using pair = await wire.connect(server)
    for (const name of ['fails', 'odd']) {
      const call = pair.client.complete({ ref: { type: 'ref/prompt', name: 'bad' }, argument: { name, value: '' } })
      await expect(call).rejects.toMatchObject({ rpcCode: -32603, message: 'Internal error' })
    }
    expect(onError.mock.calls[0]![0]).toBe(thrown)
    expect(pair.transcript.toString()).not.toContain('hunter2')
  })

  it('can be configured by argument name for schemas that cannot carry a completer', async () => {
    const server = new McpServer(info)
    const argsSchema = { type: 'object', properties: { day: { type: 'string' }, hour: { type: 'string' } } }
    server.registerPrompt('plan', { argsSchema, complete: { day: (typed) => [`${typed}day`] } }, () => 'x')
    await using client = await script(server, '2026-07-28')
    const complete = (name: string) =>
      ask(client, 'completion/complete', {
        ref: { type: 'ref/prompt', name: 'plan' },
        argument: { name, value: 'Mon' },
      })
    expect((await complete('day')).result.completion.values).toEqual(['Monday'])
    expect((await complete('hour')).result.completion.values).toEqual([])
    expect((await complete('toString')).error?.code).toBe(-32602)
  })

  it.each([
    ['a field of z.object', z.object({ x: completable(z.string(), () => ['found']) })],
    ['an arktype in a raw shape', { x: completable(type('string'), () => ['found']) }],
  ])('is found on %s', async (_what, argsSchema) => {
    const server = new McpServer(info)
    server.registerPrompt('p', { argsSchema }, () => 'x')
    await using client = await script(server, '2026-07-28')
    const answer = await ask(client, 'completion/complete', {
      ref: { type: 'ref/prompt', name: 'p' },
      argument: { name: 'x', value: '' },
    })
    expect(answer.error).toBeUndefined()
    expect(answer.result.completion.values).toEqual(['found'])
  })
})

describe('a client', () => {
  it.each(since('2025-03-26'))('does not ask a server that declared no completions, on %s', async (revision) => {
    const server = pretend(revision, { prompts: {} }, {})
    await using client = await connect(server.transport, { revision })
    const call = client.complete({ ref: promptRef, argument: { name: 'x', value: '' } })
    await expect(call).rejects.toMatchObject({ code: 'capability-missing' })
  })

  it('asks a server of 2024-11-05, a revision without the completions capability', async () => {
    const server = pretend(
      '2024-11-05',
      { prompts: {} },
      { 'completion/complete': () => ({ result: { completion: { values: ['a'] } } }) },
    )
    await using client = await connect(server.transport, { revision: '2024-11-05' })
    expect((await client.complete({ ref: promptRef, argument: { name: 'x', value: '' } })).values).toEqual(['a'])
  })

  it.each(revisionIds)('never sends a malformed request on %s [COMP-002]', async (revision) => {
    const server = pretend(
      revision,
      { completions: {} },
      { 'completion/complete': () => ({ result: { completion: { values: [] } } }) },
    )
    await using client = await connect(server.transport, { revision })
    const bad = [
      {},
      { ref: promptRef },
      { ref: { type: 'ref/prompt' }, argument: { name: 'x', value: '' } },
      { ref: promptRef, argument: { name: 'x', value: 1 } },
    ]
    for (const params of bad)
      await expect(client.complete(params as never)).rejects.toMatchObject({ code: 'invalid-argument' })
    expect(requests(server.transcript, 'completion/complete')).toEqual([])
  })

  it.each(revisionIds)('rejects a completion result without values on %s', async (revision) => {
    const server = pretend(
      revision,
      { completions: {} },
      { 'completion/complete': () => ({ result: { completion: {} } }) },
    )
    await using client = await connect(server.transport, { revision })
    const call = client.complete({ ref: promptRef, argument: { name: 'x', value: '' } })
    await expect(call).rejects.toMatchObject({ code: 'invalid-response' })
  })
})
