import { type RevisionId, revisionIds } from 'tenon'
import { describe, expect, it } from 'vitest'
import * as z from 'zod'
import { connect } from '../../src/connect/connect.ts'
import { createGateway } from '../../src/host/gateway/gateway.ts'
import type { GatewayOptions } from '../../src/host/gateway/options.ts'
import { createHost } from '../../src/host/host.ts'
import type { HostOptions } from '../../src/host/options.ts'
import { serveHttp } from '../../src/serve/http.ts'
import { completable } from '../../src/server/features/completion.ts'
import { ResourceTemplate } from '../../src/server/features/resource-entry.ts'
import { McpServer } from '../../src/server/mcp-server.ts'
import { eventually } from '../kit/eventually.ts'
import { allowAll, echo, serverWith } from './support.ts'

const upstreamRevisions: readonly RevisionId[] = ['2024-11-05', '2025-11-25', '2026-07-28']

/** A host that allows everything, served over HTTP. */
async function serve(servers: HostOptions['servers'], options: GatewayOptions & { host?: Partial<HostOptions> } = {}) {
  const host = await createHost({ servers, policy: allowAll, ...options.host })
  const http = await serveHttp(createGateway(host, options), { port: 0 })
  return {
    host,
    url: http.url,
    [Symbol.asyncDispose]: async () => {
      await http.close()
      await host.close()
    },
  }
}

/** A server whose tool asks the user, and counts how often it went past the question. */
function asking(revision: RevisionId) {
  const server = new McpServer({ name: 'asking', version: '1.0.0' }, { revisions: [revision] })
  const counts = { begun: 0, bought: 0 }
  const size = { type: 'object' as const, properties: { size: { type: 'string' } }, required: ['size'] }
  server.registerTool('buy', {}, async (_, ctx) => {
    counts.begun++
    const answer = await ctx.elicit('Which size?', size)
    if (answer.action !== 'accept') return answer.action
    counts.bought++
    return `bought ${JSON.stringify(answer.content)}`
  })
  return { server, counts }
}

describe.each([...revisionIds])('a gateway for callers of %s', (revision) => {
  it.each([...upstreamRevisions])('lists and calls tools of a server of %s', async (upstream) => {
    const server = new McpServer({ name: 'x', version: '1' }, { revisions: [upstream] })
    const inputSchema = { type: 'object' as const, properties: { a: { type: 'number' }, b: { type: 'number' } } }
    server.registerTool('add', { description: 'Adds', inputSchema }, ({ a, b }) => String(Number(a) + Number(b)))
    server.registerTool('fail', {}, () => {
      throw new Error('It broke')
    })
    await using gateway = await serve({ math: { server } })
    await using client = await connect(gateway.url, { revision })
    const tools = await client.listTools().all()
    expect(tools.map(({ name, description }) => [name, description])).toEqual([
      ['math_add', 'Adds'],
      ['math_fail', undefined],
    ])
    expect(tools[0]).not.toHaveProperty('server')
    expect((await client.callTool('math_add', { a: 1, b: 2 })).text).toBe('3')
    expect(await client.callTool('math_fail')).toMatchObject({ isError: true })
    await expect(client.callTool('math_none')).rejects.toMatchObject({ code: 'peer' })
  })
})

const askingCallers: readonly RevisionId[] = ['2025-06-18', '2025-11-25', '2026-07-28']

describe.each([...askingCallers])('a question through a gateway to a caller of %s', (revision) => {
  it.each(['2025-06-18', '2025-11-25', '2026-07-28'] as const)(
    'reaches the caller, and the tool of a server of %s goes on once [HOST-007]',
    async (upstream) => {
      const { server, counts } = asking(upstream)
      await using gateway = await serve({ shop: { server } })
      const questions: string[] = []
      const elicit = ({ message }: { message: string }) => {
        questions.push(message)
        return { action: 'accept' as const, content: { size: 'M' } }
      }
      await using client = await connect(gateway.url, { revision, handlers: { elicit } })
      expect((await client.callTool('shop_buy')).text).toBe('bought {"size":"M"}')
      expect(questions).toEqual(['shop: Which size?'])
      expect(counts.bought).toBe(1)
      if (upstream !== '2026-07-28') expect(counts.begun).toBe(1)
    },
  )

  it('reaches only the caller whose call caused it [HOST-007]', async () => {
    const { server } = asking('2025-11-25')
    await using gateway = await serve({ shop: { server } })
    const callers = await Promise.all(
      ['S', 'M', 'L'].map((size) => {
        const elicit = () => ({ action: 'accept' as const, content: { size } })
        return connect(gateway.url, { revision, handlers: { elicit } })
      }),
    )
    const bought = await Promise.all(
      callers.flatMap((client) => [client.callTool('shop_buy'), client.callTool('shop_buy')]),
    )
    expect(bought.map(({ text }) => text)).toEqual(
      ['S', 'S', 'M', 'M', 'L', 'L'].map((size) => `bought {"size":"${size}"}`),
    )
    await Promise.all(callers.map((client) => client.close()))
  })

  it('is not asked if the caller cannot be asked', async () => {
    const { server, counts } = asking('2025-11-25')
    await using gateway = await serve({ shop: { server } })
    await using client = await connect(gateway.url, { revision })
    expect(await client.callTool('shop_buy').catch((error) => error)).toMatchObject({})
    expect(counts.bought).toBe(0)
  })
})

describe('a call through a gateway', () => {
  it('is cancelled at the server when the caller cancels it', async () => {
    const states: string[] = []
    const server = new McpServer({ name: 'x', version: '1' })
    server.registerTool('wait', {}, (_, { signal }) => {
      states.push('running')
      return new Promise((_resolve, reject) => {
        signal.addEventListener('abort', () => {
          states.push('cancelled')
          reject(new Error('cancelled'))
        })
      })
    })
    await using gateway = await serve({ s: { server } })
    await using client = await connect(gateway.url)
    const stop = new AbortController()
    const call = client.callTool('s_wait', {}, { signal: stop.signal })
    await eventually(() => states.includes('running'))
    stop.abort()
    await expect(call).rejects.toMatchObject({ code: 'cancelled' })
    await eventually(() => states.includes('cancelled'))
  })

  it.each(['2025-11-25', '2026-07-28'] as const)('passes on progress to a caller of %s', async (revision) => {
    const server = new McpServer({ name: 'x', version: '1' })
    server.registerTool('work', {}, async (_, ctx) => {
      for (const step of [1, 2, 3]) ctx.progress(step, { total: 3 })
      return 'done'
    })
    await using gateway = await serve({ s: { server } })
    await using client = await connect(gateway.url, { revision })
    const seen: number[] = []
    // The second call finds the connection open, so that progress comes at once.
    for (let call = 0; call < 2; call++) {
      await client.callTool('s_work', {}, { onProgress: ({ progress }) => seen.push(progress) })
    }
    expect(seen).toEqual([1, 2, 3, 1, 2, 3])
  })

  it('names the server that is not available, as a result that a model can read', async () => {
    await using gateway = await serve({ bad: { command: 'no-such-program-of-tenon' }, ok: { server: echo() } })
    await using client = await connect(gateway.url)
    expect((await client.listTools().all()).map(({ name }) => name)).toEqual(['ok_echo'])
  })

  it('is denied by the policy of the host', async () => {
    const policy = [{ tool: 'echo', decide: 'deny' }, { decide: 'allow' }] as const
    await using gateway = await serve({ s: { server: echo() } }, { host: { policy } })
    await using client = await connect(gateway.url)
    expect(await client.callTool('s_echo', { text: 'x' })).toMatchObject({ isError: true })
  })

  it('asks the caller where the policy says so', async () => {
    const policy = [{ kind: 'tool', decide: 'ask' }, { decide: 'allow' }] as const
    await using gateway = await serve({ s: { server: echo() } }, { host: { policy } })
    const messages: string[] = []
    const elicit = ({ message }: { message: string }) => {
      messages.push(message)
      return { action: 'accept' as const, content: { decision: 'once' } }
    }
    await using client = await connect(gateway.url, { handlers: { elicit } })
    expect((await client.callTool('s_echo', { text: 'a text' })).text).toBe('a text')
    expect(messages[0]).toContain('s_echo')
    expect(messages[0]).toContain('a text')
  })
})

describe('prompts, resources and completion through a gateway', () => {
  function library(text: string, revisions?: RevisionId[]): McpServer {
    const server = new McpServer({ name: 'library', version: '1.0.0' }, { revisions })
    const language = completable(z.string(), (value) => ['typescript', 'rust'].filter((name) => name.startsWith(value)))
    server.registerPrompt('review', { argsSchema: { language } }, ({ language }) => `Review this ${language}: ${text}`)
    server.registerResource('readme', 'doc:///readme', {}, () => text)
    server.registerResource(
      'page',
      new ResourceTemplate(`${text}:///{page}`, { list: undefined }),
      {},
      (uri) => `${uri}`,
    )
    return server
  }

  it.each(['2025-11-25', '2026-07-28'] as const)('reach the right server (%s)', async (revision) => {
    await using gateway = await serve({ a: { server: library('one', ['2025-11-25']) }, b: { server: library('two') } })
    await using client = await connect(gateway.url, { revision })
    expect((await client.listPrompts().all()).map(({ name }) => name)).toEqual(['a_review', 'b_review'])
    expect(JSON.stringify(await client.getPrompt('b_review', { language: 'rust' }))).toContain('Review this rust: two')
    const resources = await client.listResources().all()
    expect(resources.map(({ uri }) => uri)).toEqual([
      'tenon-gateway:a/doc%3A%2F%2F%2Freadme',
      'tenon-gateway:b/doc%3A%2F%2F%2Freadme',
    ])
    const { contents } = await client.readResource(resources[1]?.uri ?? '')
    expect(contents).toMatchObject([{ text: 'two' }])
    expect((await client.readResource('two:///start')).contents).toMatchObject([{ text: 'two:///start' }])
    expect((await client.listResourceTemplates().all()).map(({ uriTemplate }) => uriTemplate)).toEqual([
      'one:///{page}',
      'two:///{page}',
    ])
    const ref = { type: 'ref/prompt' as const, name: 'a_review' }
    expect((await client.complete({ ref, argument: { name: 'language', value: 't' } })).values).toEqual(['typescript'])
    await expect(client.readResource('none:///x')).rejects.toMatchObject({ code: 'peer' })
    await expect(client.getPrompt('c_review')).rejects.toMatchObject({ code: 'peer' })
  })
})

describe('the connections behind a gateway', () => {
  function counting() {
    const server = new McpServer({ name: 'x', version: '1' }, { revisions: ['2025-11-25'] })
    server.registerTool('ask', {}, async (_, ctx) =>
      ctx.can('elicit') ? (await ctx.elicit('Sure?')).action : 'nobody to ask',
    )
    let connections = 0
    const connect: McpServer['connect'] = (transport) => {
      connections++
      return server.connect(transport)
    }
    return { target: { connect }, count: () => connections }
  }

  const elicit = () => ({ action: 'accept' as const, content: {} })

  it('belong to one caller each', async () => {
    const { target, count } = counting()
    await using gateway = await serve({ s: { server: target } })
    for (let caller = 0; caller < 3; caller++) {
      await using client = await connect(gateway.url, { revision: '2025-11-25', handlers: { elicit } })
      expect((await client.callTool('s_ask')).text).toBe('accept')
    }
    // One for the catalog of the host, and one for each caller.
    expect(count()).toBe(4)
  })

  it('are shared if the configuration says so, and then questions reach no caller', async () => {
    const { target, count } = counting()
    await using gateway = await serve({ s: { server: target, shared: true } })
    for (let caller = 0; caller < 3; caller++) {
      await using client = await connect(gateway.url, { revision: '2025-11-25', handlers: { elicit } })
      expect((await client.callTool('s_ask')).text).toBe('nobody to ask')
    }
    expect(count()).toBe(1)
  })
})

describe('access to a gateway', () => {
  it('follows the scopes of the token of the caller [TOOL-050]', async () => {
    const access = [{ server: 'public' }, { scope: 'admin' }]
    const servers = { public: { server: echo() }, secret: { server: echo() } }
    const host = await createHost({ servers, policy: allowAll })
    const gateway = createGateway(host, { access })
    const anyone = await connect(gateway, { auth: { subject: 'anyone', scopes: [] } })
    const admin = await connect(gateway, { auth: { subject: 'root', scopes: ['admin'] } })
    const namesOf = async (client: typeof anyone) => (await client.listTools().all()).map(({ name }) => name)
    expect(await namesOf(anyone)).toEqual(['public_echo'])
    expect(await namesOf(admin)).toEqual(['public_echo', 'secret_echo'])
    await expect(anyone.callTool('secret_echo', { text: 'x' })).rejects.toMatchObject({ code: 'peer' })
    expect((await admin.callTool('secret_echo', { text: 'x' })).text).toBe('x')
    await anyone.close()
    await admin.close()
    await host.close()
  })
})

describe('the catalog of a gateway', () => {
  it('offers search instead of more than 100 tools', async () => {
    const names = Array.from({ length: 120 }, (_, index) => `tool_${index}`)
    await using gateway = await serve({ many: { server: serverWith(...names, 'create_branch') } })
    await using client = await connect(gateway.url)
    expect((await client.listTools().all()).map(({ name }) => name)).toEqual(['search_tools', 'call_tool'])
    const found = await client.callTool('search_tools', { query: 'create branch' })
    expect(found.text).toContain('many_create_branch')
    expect((await client.callTool('call_tool', { name: 'many_create_branch' })).text).toBe('create_branch ran')
  })

  it('has pages', async () => {
    const names = Array.from({ length: 1_200 }, (_, index) => `tool_${index}`)
    await using gateway = await serve({ many: { server: serverWith(...names) } }, { toolSearch: false })
    await using client = await connect(gateway.url)
    expect((await client.listTools()).tools).toHaveLength(500)
    expect(await client.listTools().all()).toHaveLength(1_200)
    await expect(client.listTools({ cursor: 'forged' })).rejects.toMatchObject({ code: 'peer' })
  })

  it('is announced as changed when a server changes and the operator approves', async () => {
    const server = serverWith('one')
    await using gateway = await serve({ s: { server } })
    await using client = await connect(gateway.url)
    await client.listTools()
    await client.listen({ toolsListChanged: true })
    const changed = new Promise((resolve) => client.on('toolsChanged', () => resolve(undefined)))
    server.registerTool('two', {}, () => 'two ran')
    await changed
    expect((await client.listTools().all()).map(({ name }) => name)).toEqual(['s_one', 's_two'])
  })
})

describe('anonymous callers of a gateway', () => {
  it('can have more calls to a server of 2026-07-28 open than maxCallers, because they share its connection', async () => {
    const server = new McpServer({ name: 'x', version: '1' }, { revisions: ['2026-07-28'] })
    const waiting: (() => void)[] = []
    server.registerTool('wait', {}, async () => {
      await new Promise<void>((resolve) => waiting.push(resolve))
      return 'done'
    })
    await using gateway = await serve({ s: { server } }, { maxCallers: 2 })
    await using client = await connect(gateway.url)
    await client.listTools()
    const calls = Array.from({ length: 20 }, () => client.callTool('s_wait'))
    await eventually(() => waiting.length === 20)
    for (const end of waiting) end()
    for (const { text } of await Promise.all(calls)) expect(text).toBe('done')
  })
})

describe('progress after a question', () => {
  it.each(['2025-11-25', '2026-07-28'] as const)(
    'reaches a caller of 2026-07-28 on the request that it repeated (server of %s)',
    async (upstream) => {
      const server = new McpServer({ name: 'x', version: '1' }, { revisions: [upstream] })
      server.registerTool('ask', {}, async (_, ctx) => {
        await ctx.elicit('Go on?')
        ctx.progress(1, { message: 'after the question' })
        return 'done'
      })
      await using gateway = await serve({ s: { server } })
      const elicit = () => ({ action: 'accept' as const, content: {} })
      await using client = await connect(gateway.url, { revision: '2026-07-28', handlers: { elicit } })
      const seen: (string | undefined)[] = []
      await client.callTool('s_ask', {}, { onProgress: ({ message }) => seen.push(message) })
      expect(seen).toContain('after the question')
    },
  )
})

describe('several questions of one call', () => {
  it.each(['2025-11-25', '2026-07-28'] as const)(
    'reach a caller of 2026-07-28 in one round trip (server of %s)',
    async (upstream) => {
      const server = new McpServer({ name: 'x', version: '1' }, { revisions: [upstream] })
      const size = { type: 'object' as const, properties: { size: { type: 'string' } } }
      server.registerTool('ask', {}, async (_, ctx) => {
        const both = await Promise.all([
          ctx.elicit('First?', size, { key: 'a' }),
          ctx.elicit('Second?', size, { key: 'b' }),
        ])
        return both.map(({ action }) => action).join()
      })
      await using gateway = await serve({ s: { server } })
      let requests = 0
      const counting: typeof fetch = (input, init) => {
        if (String(init?.body).includes('tools/call')) requests++
        return fetch(input, init)
      }
      const elicit = () => ({ action: 'accept' as const, content: { size: 'M' } })
      await using client = await connect(gateway.url, { revision: '2026-07-28', handlers: { elicit }, fetch: counting })
      expect((await client.callTool('s_ask')).text).toBe('accept,accept')
      expect(requests).toBe(2)
    },
  )
})
