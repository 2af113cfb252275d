import { McpServer, type ServeHttpOptions, type ServingHttp, serveHttp } from 'tenon/server'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { createInspector } from '../src/inspector/inspector.ts'
import type { InspectorEvent } from '../src/inspector/protocol.ts'
import { open, send } from './inspector-support.ts'

function serve(options: ServeHttpOptions): Promise<ServingHttp> {
  const server = new McpServer({ name: 'mounted', version: '1.0.0' })
  server.registerTool('hello', {}, () => 'Hello')
  return serveHttp(server, { port: 0, exit: false, ...options })
}

/** Reads events until one is wanted. */
async function readUntil(http: ServingHttp, isWanted: (event: InspectorEvent) => boolean): Promise<InspectorEvent[]> {
  const { origin, hash } = new URL(http.inspectorUrl ?? '')
  const headers = { authorization: `Bearer ${hash.slice('#secret='.length)}` }
  const stream = await open(`${origin}/api/events`, 'GET', { headers })
  const events: InspectorEvent[] = []
  let rest = ''
  for await (const text of stream.setEncoding('utf8')) {
    const lines = (rest + text).split('\n')
    rest = lines.pop() ?? ''
    events.push(...lines.filter((line) => line !== '').map((line) => JSON.parse(line)))
    if (events.some(isWanted)) break
  }
  return events
}

afterEach(() => {
  vi.restoreAllMocks()
})

describe('serveHttp with an inspector', () => {
  it('serves the page beside the endpoint, and connects to it when the page is opened', async () => {
    await using http = await serve({ inspector: createInspector() })
    expect(http.inspectorUrl).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/#secret=[\w-]{43}$/)
    const events = await readUntil(http, ({ kind }) => kind === 'list')
    expect(events[0]).toMatchObject({ kind: 'server-added', address: http.url, transport: 'http' })
    const list = events.find(({ kind }) => kind === 'list')
    expect(list).toMatchObject({ list: 'tools', items: [{ name: 'hello' }] })
  })

  it('keeps the paths of the server, and refuses the API without the secret', async () => {
    await using http = await serve({ inspector: createInspector(), healthPath: '/health' })
    const { origin } = new URL(http.url)
    expect((await send(`${origin}/health`)).text).toBe('ready')
    expect((await send(`${origin}/api/configured`)).status).toBe(401)
    expect((await send(`${origin}/api/configured`, 'GET', { headers: { host: 'evil.example' } })).status).toBe(403)
    expect((await send(`${origin}/elsewhere`)).text).toContain('the MCP endpoint is /mcp')
    expect((await send(http.url, 'POST')).headers['content-security-policy']).toBeUndefined()
  })

  it('loads the inspector of @tenon/cli, and prints its URL on stderr', async () => {
    const print = vi.spyOn(console, 'error').mockImplementation(() => {})
    await using http = await serve({ inspector: true })
    expect(print).toHaveBeenCalledExactlyOnceWith(`[tenon] Inspector: ${http.inspectorUrl}`)
    expect((await send(`${new URL(http.url).origin}/api/configured`)).status).toBe(401)
  })

  it('is off by default', async () => {
    await using http = await serve({})
    expect(http.inspectorUrl).toBeUndefined()
    expect((await send(`${new URL(http.url).origin}/`)).status).toBe(404)
  })

  it.each(['0.0.0.0', '::', '192.168.0.1', '127.0.0.1.evil.example', 'example.com'])(
    'refuses to serve it on %s',
    async (host) => {
      await expect(serve({ inspector: true, host })).rejects.toThrow(/to this machine only/)
    },
  )

  it('refuses to hide the endpoint behind the page', async () => {
    await expect(serve({ inspector: true, path: '/' })).rejects.toThrow(/Choose another path/)
  })

  it('ends the streams of open pages on shutdown', async () => {
    const http = await serve({ inspector: createInspector() })
    const reading = readUntil(http, () => false)
    await http.close()
    await reading.catch(() => {})
  })
})
