import { revisionIds } from 'tenon'
import { connect } from 'tenon/client'
import { completable, createMcpHandler, type McpHandler, McpServer, Server, type ServerLimits } from 'tenon/server'
import { tasks } from 'tenon/tasks'
import { ScriptedClient } from 'tenon/testing'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import * as z from 'zod'
import { everyWire } from '../../kit/every-wire.ts'
import { ask, script } from './support.ts'

const info = { name: 'limited', version: '1' }
const ref = { type: 'ref/prompt' as const, name: 'review' }
const completion = { ref, argument: { name: 'language', value: 'p' } }

function createServer(limits?: ServerLimits) {
  const server = new McpServer(info, { tasks: tasks(), limits })
  server.registerTool('echo', { execution: { taskSupport: 'optional' } }, () => 'echo')
  const language = completable(z.string(), () => ['python'])
  server.registerPrompt('review', { argsSchema: { language } }, () => 'x')
  return server
}

const twoCalls: ServerLimits = { toolCalls: { perSecond: 1, burst: 2 }, completions: { perSecond: 1, burst: 2 } }

beforeEach(() => {
  vi.spyOn(console, 'warn').mockImplementation(() => {})
})

afterEach(() => {
  vi.restoreAllMocks()
  vi.useRealTimers()
})

describe('the rate limit of tool calls', () => {
  everyWire('answers with an error result that says when to retry [TOOL-051]', async (wire) => {
    const server = createServer({ toolCalls: { perSecond: 0.001, burst: 2 } })
    await using pair = await wire.connect(server)
    // Over HTTP an anonymous caller is identified by its address, and an address gets ten times the limit.
    const allowed = wire.transport === 'http' ? 20 : 2
    for (let call = 0; call < allowed; call++) expect((await pair.client.callTool('echo')).text).toBe('echo')
    const limited = await pair.client.callTool('echo')
    expect(limited).toMatchObject({ isError: true })
    expect(limited.text).toMatch(/^Rate limit exceeded: try again in \d+ ms\.$/)
  })

  it('allows calls again after the announced delay [TOOL-051]', async () => {
    vi.useFakeTimers({ toFake: ['Date'], now: 1_000_000 })
    const client = await script(createServer(twoCalls), '2025-11-25')
    const call = async () => (await ask(client, 'tools/call', { name: 'echo' })).result
    await call()
    await call()
    const [{ text }] = (await call()).content
    const waitMs = Number(/(\d+) ms/.exec(text)?.[1])
    expect(waitMs).toBe(1_000)
    vi.setSystemTime(1_000_000 + waitMs)
    expect((await call()).isError).toBeUndefined()
    expect((await call()).isError).toBe(true)
    await client.close()
  })

  it('answers a task-augmented call with an error', async () => {
    const client = await script(createServer(twoCalls), '2025-11-25')
    for (let call = 0; call < 2; call++) await ask(client, 'tools/call', { name: 'echo' })
    const { error } = await ask(client, 'tools/call', { name: 'echo', task: {} })
    expect(error).toMatchObject({ code: -32_000, data: { error: 'rate_limited', retryAfterMs: expect.any(Number) } })
    await client.close()
  })

  it('counts the calls of a principal across all of its connections, separately from other principals', async () => {
    const server = createServer(twoCalls)
    const callAs = async (subject: string) => {
      await using client = await connect(server, { auth: { subject } })
      return (await client.callTool('echo')).isError ?? false
    }
    expect([await callAs('ann'), await callAs('ann'), await callAs('ann')]).toEqual([false, false, true])
    expect(await callAs('bob')).toBe(false)
  })

  it('counts each anonymous connection separately', async () => {
    const server = createServer(twoCalls)
    for (let connection = 0; connection < 3; connection++) {
      await using client = await connect(server)
      for (let call = 0; call < 2; call++) expect((await client.callTool('echo')).isError).toBeUndefined()
    }
  })

  it('counts anonymous HTTP requests without a session together, with ten times the limit', async () => {
    const handler = createMcpHandler(createServer(twoCalls))
    vi.useFakeTimers({ toFake: ['Date'] })
    for (let call = 0; call < 20; call++) expect(await isLimited(handler)).toBe(false)
    expect(await isLimited(handler)).toBe(true)
    await handler.close(0)
  })

  it('counts anonymous HTTP requests from one IPv6 /64 together', async () => {
    const handler = createMcpHandler(createServer(twoCalls), { clientAddress: ({ headers }) => headers['x-real-ip'] })
    vi.useFakeTimers({ toFake: ['Date'] })
    for (let call = 0; call < 20; call++) expect(await isLimited(handler, `2001:db8:1:2::${call}`)).toBe(false)
    expect(await isLimited(handler, '2001:db8:1:2:3:4:5:6')).toBe(true)
    expect(await isLimited(handler, '2001:db8:1:3::1')).toBe(false)
    await handler.close(0)
  })

  it('applies to the handlers of a low-level server', async () => {
    const server = new Server(info, { capabilities: { tools: {} }, limits: { toolCalls: { perSecond: 1, burst: 1 } } })
    server.setRequestHandler('tools/call', () => ({ content: [] }))
    const client = await ScriptedClient.connect(server)
    expect((await ask(client, 'tools/call', { name: 'x' })).result).not.toHaveProperty('isError')
    expect((await ask(client, 'tools/call', { name: 'x' })).result).toMatchObject({ isError: true })
    await client.close()
  })

  it('counts a call of a mounted tool once', async () => {
    const outer = new McpServer(info, { limits: twoCalls })
    outer.mount(createServer({ toolCalls: { perSecond: 1, burst: 1 } }), { prefix: 'in' })
    await using client = await connect(outer)
    for (let call = 0; call < 2; call++) expect((await client.callTool('in_echo')).text).toBe('echo')
    expect((await client.callTool('in_echo')).isError).toBe(true)
  })

  it('allows a burst of 10,000 calls by default and is disabled with false', async () => {
    vi.useFakeTimers({ toFake: ['Date'] })
    for (const [limits, last] of [
      [{}, true],
      [{ toolCalls: false }, undefined],
    ] as const) {
      const client = await script(createServer(limits), '2025-11-25')
      for (let call = 0; call < 10_000; call++) client.say(request(`x${call}`))
      expect((await client.send(request('last'))).result?.isError).toBe(last)
      const failed = client.transcript
        .from('server')
        .filter((message) => 'result' in message && message.result?.isError)
      expect(failed).toHaveLength(last ? 1 : 0)
      await client.close()
    }
  })

  it('rejects an invalid rate when the server is created', () => {
    const text = { perSecond: '5' as never }
    for (const toolCalls of [{ perSecond: 0 }, { perSecond: 5, burst: 0 }, { perSecond: Number.NaN }, text]) {
      expect(() => new McpServer(info, { limits: { toolCalls } })).toThrow(
        /limits\.toolCalls: perSecond must be greater than 0/,
      )
    }
  })
})

function request(id: string) {
  return { jsonrpc: '2.0', id, method: 'tools/call', params: { name: 'echo' } }
}

describe('the rate limit of completions', () => {
  for (const revision of revisionIds) {
    it(`answers with an error that says when to retry (${revision}) [COMP-010]`, async () => {
      const client = await script(createServer(twoCalls), revision)
      for (let call = 0; call < 2; call++) {
        expect((await ask(client, 'completion/complete', completion)).result.completion.values).toEqual(['python'])
      }
      const { error } = await ask(client, 'completion/complete', completion)
      expect(error).toMatchObject({ code: -32_000, data: { error: 'rate_limited', retryAfterMs: expect.any(Number) } })
      await client.close()
    })
  }
})

/** Calls a tool without a session and returns whether the limit rejected the call. */
async function isLimited(handler: McpHandler, address = ''): Promise<boolean> {
  const headers = {
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    'mcp-protocol-version': '2026-07-28',
    'mcp-method': 'tools/call',
    'mcp-name': 'echo',
    'x-real-ip': address,
  }
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientCapabilities': {},
  }
  const params = { name: 'echo', arguments: {}, _meta }
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params })
  const response = await handler.fetch(new Request('http://127.0.0.1/mcp', { method: 'POST', headers, body }))
  return ((await response.json()) as { result: { isError?: boolean } }).result.isError ?? false
}
