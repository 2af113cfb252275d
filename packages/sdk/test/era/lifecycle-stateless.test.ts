import { metaKeys } from 'tenon'
import { connect, StdioClientTransport } from 'tenon/client'
import { McpServer } from 'tenon/server'
import { ScriptedClient } from 'tenon/testing'
import { describe, expect, it } from 'vitest'
import * as z from 'zod'
import { gate } from '../kit/gate.ts'
import { modern } from '../kit/revisions.ts'
import { type Said, said } from '../kit/transcript.ts'
import { testServer } from './support.ts'

const clientInfo = { name: 'script', version: '1' }

describe('a server of 2026-07-28', () => {
  it('reads caller and capabilities from each request, in any order [LIFE-022, LIFE-023, META-014, META-015]', async () => {
    const { server } = testServer()
    await using caller = await ScriptedClient.connect(server)
    const ask = async (name: string, capabilities: object) => {
      const meta = { [metaKeys.clientInfo]: { name, version: '1' }, [metaKeys.clientCapabilities]: capabilities }
      const answer = (await caller.request('tools/call', { name: 'who', _meta: meta })) as Said
      return JSON.parse((answer.result!.content as [{ text: string }])[0].text)
    }
    const asked = Array.from({ length: 30 }, (_, index) => ({
      name: `conversation ${index}`,
      capabilities: [{ sampling: {} }, {}, { elicitation: { form: {} } }][index % 3]!,
    }))
    const answers = await Promise.all(asked.map(({ name, capabilities }) => ask(name, capabilities)))
    answers.forEach((answer, index) => {
      const { name, capabilities } = asked[index]!
      expect(answer).toEqual({ revision: modern, client: { name, version: '1' }, capabilities })
    })
  })

  it('does not fill in missing values from earlier requests: version, capabilities, log level, client [LIFE-022, META-014]', async () => {
    const { server } = testServer()
    server.registerTool('chatty', {}, (_, ctx) => {
      ctx.log.error('psst')
      return 'ok'
    })
    await using caller = await ScriptedClient.connect(server, { capabilities: { sampling: {} } })
    await caller.request('tools/call', { name: 'chatty', _meta: { [metaKeys.logLevel]: 'debug' } })
    expect(said(caller.transcript, 'server', 'notifications/message')).toHaveLength(1)
    await caller.request('tools/call', { name: 'chatty' })
    expect(said(caller.transcript, 'server', 'notifications/message')).toHaveLength(1)
    const meta = caller.params()._meta as Record<string, unknown>
    for (const key of [metaKeys.protocolVersion, metaKeys.clientCapabilities]) {
      const { [key]: _, ...rest } = meta
      const params = { name: 'who', _meta: rest }
      const answer = (await caller.send({ jsonrpc: '2.0', id: key, method: 'tools/call', params })) as Said
      expect(answer.error?.code, key).toBe(-32602)
    }
    const { [metaKeys.clientInfo]: _, ...anonymous } = meta
    const params = { name: 'who', _meta: anonymous }
    const answer = (await caller.send({ jsonrpc: '2.0', id: 'anon', method: 'tools/call', params })) as Said
    expect(JSON.parse((answer.result!.content as [{ text: string }])[0].text)).not.toHaveProperty('client')
  })

  it('answers slow requests independently of each other [LIFE-023]', async () => {
    const server = new McpServer({ name: 's', version: '1' })
    const gates = new Map(['a', 'b', 'c'].map((key) => [key, gate()]))
    server.registerTool('turn', { inputSchema: { key: z.string() } }, async ({ key }) => {
      await gates.get(key)!.opened
      return key
    })
    await using caller = await ScriptedClient.connect(server)
    const order: string[] = []
    const calls = ['a', 'b', 'c'].map(async (key) => {
      const answer = (await caller.request('tools/call', { name: 'turn', arguments: { key } })) as Said
      order.push((answer.result!.content as [{ text: string }])[0].text)
    })
    gates.get('c')!.open()
    await calls[2]
    gates.get('a')!.open()
    await calls[0]
    gates.get('b')!.open()
    await calls[1]
    expect(order).toEqual(['c', 'a', 'b'])
  })

  it('continues a list on another connection or another process with the same keys [LIFE-024, LIFE-026]', async () => {
    const make = () => {
      const server = new McpServer(
        { name: 's', version: '1' },
        { pageSize: 2, stateKeys: ['a secret of at least 32 characters!!'] },
      )
      for (const name of ['a', 'b', 'c', 'd', 'e']) server.registerTool(name, {}, () => name)
      return server
    }
    const names = (page: Said) => (page.result!.tools as { name: string }[]).map(({ name }) => name)
    const server = make()
    await using one = await ScriptedClient.connect(server)
    await using two = await ScriptedClient.connect(server)
    await using three = await ScriptedClient.connect(make())
    const first = (await one.request('tools/list')) as Said
    // The position is only in the cursor: a request without it starts over, on any connection.
    expect(names((await one.request('tools/list')) as Said)).toEqual(['a', 'b'])
    const second = (await two.request('tools/list', { cursor: first.result!.nextCursor })) as Said
    const third = (await three.request('tools/list', { cursor: second.result!.nextCursor })) as Said
    expect([names(first), names(second), names(third)]).toEqual([['a', 'b'], ['c', 'd'], ['e']])
    expect(names((await two.request('tools/list')) as Said)).toEqual(['a', 'b'])
  })

  it.each([
    ['ping', {}],
    ['logging/setLevel', { level: 'info' }],
    ['resources/subscribe', { uri: 'note://a' }],
    ['resources/unsubscribe', { uri: 'note://a' }],
    ['tasks/list', {}],
    ['tasks/result', { taskId: 'x' }],
    ['sampling/createMessage', { messages: [], maxTokens: 1 }],
    ['roots/list', {}],
    ['elicitation/create', { message: 'x', requestedSchema: { type: 'object', properties: {} } }],
  ])(
    'answers %s with an unknown method error, with and without handshake support [LIFE-027, PING-007]',
    async (method, params) => {
      for (const revisions of [undefined, [modern]]) {
        const { server } = testServer(revisions ? { revisions } : {})
        server.registerResource('note', 'note://a', {}, () => 'a')
        await using caller = await ScriptedClient.connect(server)
        expect(((await caller.request(method, params)) as Said).error?.code).toBe(-32601)
      }
    },
  )

  it('treats initialize as an unknown method without handshake support [LIFE-027]', async () => {
    await using caller = await ScriptedClient.connect(testServer({ revisions: [modern] }).server)
    const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo }
    const answer = (await caller.send({ jsonrpc: '2.0', id: 1, method: 'initialize', params })) as Said
    expect(answer.error?.code).toBe(-32601)
  })
})

describe('a client and its server process', () => {
  it('uses one process for all requests until it is closed [LIFE-025]', async () => {
    const script = `
      const meta = { 'io.modelcontextprotocol/serverInfo': { name: 'p', version: '1' } }
      let text = ''
      process.stdin.setEncoding('utf8').on('end', () => process.exit(0)).on('data', (chunk) => {
        text += chunk
        for (let end; (end = text.indexOf('\\n')) >= 0; text = text.slice(end + 1)) {
          const { id, method } = JSON.parse(text.slice(0, end))
          if (id === undefined) continue
          const result = method === 'server/discover'
            ? { supportedVersions: ['2026-07-28'], capabilities: { tools: {} }, ttlMs: 0, cacheScope: 'private' }
            : { content: [{ type: 'text', text: String(process.pid) }] }
          const answer = { jsonrpc: '2.0', id, result: { resultType: 'complete', _meta: meta, ...result } }
          process.stdout.write(JSON.stringify(answer) + '\\n')
        }
      })`
    const transport = new StdioClientTransport({ command: process.execPath, args: ['-e', script] })
    let starts = 0
    const { start } = transport
    transport.start = () => {
      starts++
      return start.call(transport)
    }
    const client = await connect(transport)
    const pids = new Set<string>()
    // Several conversations, sequential and concurrent, with a cancelled one in between.
    for (let conversation = 0; conversation < 3; conversation++) {
      const stop = new AbortController()
      const given = client.callTool('pid', {}, { signal: stop.signal }).catch(() => undefined)
      stop.abort()
      await given
      const calls = await Promise.all([client.callTool('pid'), client.callTool('pid')])
      for (const call of calls) pids.add(call.text)
    }
    expect([...pids]).toEqual([String(transport.pid)])
    expect(starts).toBe(1)
    await client.close()
    expect(transport.pid).toBeUndefined()
  })
})
