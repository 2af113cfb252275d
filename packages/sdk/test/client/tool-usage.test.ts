import { connect, isResourceNotFound, McpError, PeerError, type ToolCallRecord } from 'tenon/client'
import { McpServer } from 'tenon/server'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { errorOf } from '../kit/error-of.ts'
import { everyWire } from '../kit/every-wire.ts'
import { allRevisions } from '../kit/revisions.ts'
import { scripted, scriptedClient, shaped } from '../kit/scripted-server.ts'

describe('the result of a tool', () => {
  it.each(allRevisions)('removes malformed content before a model sees it (%s) [TOOL-045]', async (revision) => {
    const good = [
      { type: 'text', text: 'fine' },
      { type: 'image', data: 'AAAA', mimeType: 'image/png' },
      { type: 'resource', resource: { uri: 'note://a', text: 'x' } },
      { type: 'com.example/future', any: 1 },
    ]
    const bad = [
      null,
      'text',
      {},
      { type: 7 },
      { type: 'text' },
      { type: 'text', text: { toString: 'x' } },
      { type: 'image', data: 1, mimeType: 'image/png' },
      { type: 'audio', data: 'AAAA' },
      { type: 'resource_link', name: 'x' },
      { type: 'resource', resource: null },
    ]
    const content = bad.flatMap((block, at) => (good[at] ? [block, good[at]] : [block]))
    const server = scripted(revision, { 'tools/call': () => shaped(revision, { content }) })
    const client = await scriptedClient(server, { revision })
    const warnings: string[] = []
    client.on('warning', ({ message }) => warnings.push(message))
    const result = await client.callTool('any')
    expect(result.content).toEqual(good)
    expect(result.text).toBe('fine')
    expect(warnings).toHaveLength(bad.length)
    expect(warnings.at(-1)).toBe(
      'The tool "any" returned invalid content, which is ignored: a resource block has no resource with a uri',
    )
    await client.close()
  })

  it.each(allRevisions)('times out a call unless the timeout is disabled (%s) [TOOL-045]', async (revision) => {
    vi.useFakeTimers()
    const server = scripted(revision, { 'tools/call': () => undefined })
    const client = await scriptedClient(server, { revision })
    const failed = errorOf(client.callTool('never'))
    await vi.advanceTimersByTimeAsync(60_000)
    expect(await failed).toMatchObject({ code: 'timeout', timeoutMs: 60_000 })
    await client.close()
  })
  afterEach(() => vi.useRealTimers())
})

describe('the use of tools', () => {
  function createServer() {
    const server = new McpServer({ name: 's', version: '1' })
    server.registerTool('fine', {}, () => 'secret result')
    server.registerTool('broken', {}, () => {
      throw new Error('no')
    })
    return server
  }

  everyWire('can log the name, duration and outcome of a tool call [TOOL-045]', async (wire) => {
    await using pair = await wire.connect(createServer())
    const log: ToolCallRecord[] = []
    pair.client.on('toolCall', (record) => log.push(record))
    await pair.client.callTool('fine', { password: 'hunter2' })
    await pair.client.callTool('broken')
    const stop = new AbortController()
    stop.abort('enough')
    await errorOf(pair.client.callTool('fine', {}, { signal: stop.signal }))
    expect(log).toEqual([
      { name: 'fine', durationMs: expect.any(Number), outcome: 'success' },
      { name: 'broken', durationMs: expect.any(Number), outcome: 'error' },
      { name: 'fine', durationMs: expect.any(Number), outcome: 'failed', error: expect.any(McpError) },
    ])
    expect(JSON.stringify(log)).not.toMatch(/hunter2|secret/)
  })

  it('logs a call as failed when its output does not match the schema [TOOL-045]', async () => {
    const server = scripted('2026-07-28', {
      'tools/list': () => ({
        result: {
          resultType: 'complete',
          tools: [{ name: 't', inputSchema: { type: 'object' }, outputSchema: { type: 'object', required: ['a'] } }],
        },
      }),
      'tools/call': () => ({ result: { resultType: 'complete', content: [], structuredContent: {} } }),
    })
    const client = await scriptedClient(server)
    await client.listTools()
    const log: ToolCallRecord[] = []
    client.on('toolCall', (record) => log.push(record))
    await errorOf(client.callTool('t'))
    expect(log).toMatchObject([{ name: 't', outcome: 'failed', error: { code: 'invalid-output' } }])
    await client.close()
  })
})

describe('a resource that does not exist', () => {
  everyWire('reports a missing resource recognizably on every revision [RES-026]', async (wire) => {
    const server = new McpServer({ name: 's', version: '1' })
    server.registerResource('a', 'note://a', {}, () => 'x')
    await using pair = await wire.connect(server)
    const error = await errorOf(pair.client.readResource('note://missing'))
    expect(isResourceNotFound(error)).toBe(true)
  })

  it.each([
    [-32002, undefined, true],
    [-32002, { uri: 'note://x' }, true],
    [-32602, { uri: 'note://x' }, true],
    [-32602, undefined, false],
    [-32602, { uri: 7 }, false],
    [-32603, { uri: 'note://x' }, false],
  ])('recognizes a missing resource by code %s with %j on 2026-07-28: %s [RES-026]', async (code, data, expected) => {
    const refuse = () => ({ error: { code, message: 'no', ...(data && { data }) } })
    const client = await scriptedClient(scripted('2026-07-28', { 'resources/read': refuse }))
    const error = await errorOf(client.readResource('note://x'))
    expect(error).toBeInstanceOf(PeerError)
    expect(isResourceNotFound(error)).toBe(expected)
    await client.close()
  })

  it('does not confuse a missing resource with local errors', async () => {
    await using client = await connect(new McpServer({ name: 's', version: '1' }))
    expect(isResourceNotFound(await errorOf(client.readResource('note://x')))).toBe(false)
    expect(isResourceNotFound(undefined)).toBe(false)
  })
})
