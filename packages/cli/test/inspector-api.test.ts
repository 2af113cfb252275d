import { McpServer, serveHttp } from 'tenon/server'
import { describe, expect, it } from 'vitest'
import type { InspectorEvent } from '../src/inspector/protocol.ts'
import { callOf, InspectorPage } from './inspector-support.ts'
import { fixture } from './support.ts'

describe('connecting in the inspector', () => {
  it('logs the state, the lists, the messages and the stderr of a command', async () => {
    await using page = await InspectorPage.open()
    const server = await page.connectFixture()
    const lists = ['tools', 'resources', 'resourceTemplates', 'prompts']
    for (const list of lists) await page.until('list', (event) => event.list === list)
    await page.until('stderr', ({ text }) => text.includes('The server started'))
    expect(page.events.map(({ seq }) => seq)).toEqual(page.events.map((_event, index) => index + 1))
    expect(page.events.slice(0, 2)).toMatchObject([
      { kind: 'server-added', server, transport: 'stdio', revision: null },
      { kind: 'server-state', state: 'connecting' },
    ])
    expect(await page.until('server-state', ({ state }) => state === 'ready')).toMatchObject({
      revision: '2026-07-28',
      info: { name: 'inspected', version: '1.0.0' },
      instructions: 'Be careful.',
    })
    const tools = page.all('list').find(({ list }) => list === 'tools')
    expect(tools).toMatchObject({ offset: 0, total: tools?.items.length })
    expect(page.all('message')[0]).toMatchObject({ direction: 'sent', message: { method: 'server/discover' } })
  })

  it.each(['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25', '2026-07-28'] as const)(
    'uses revision %s if it is chosen by hand',
    async (revision) => {
      await using page = await InspectorPage.open()
      const server = await page.connectFixture({ revision })
      expect(page.all('server-added')[0]?.revision).toBe(revision)
      expect(await page.until('server-state', ({ state }) => state === 'ready')).toMatchObject({ revision })
      const call = { method: 'tools/call', params: { name: 'add', arguments: { a: 1, b: 2 } } }
      expect(await page.run(server, call)).toMatchObject({ result: { content: [{ type: 'text', text: '3' }] } })
    },
  )

  it('shows HTTP exchanges with their headers, and redacts secrets', async () => {
    await using http = await serveHttp(new McpServer({ name: 'web', version: '1.0.0' }), { port: 0, exit: false })
    await using page = await InspectorPage.open()
    const headers = { Authorization: 'Bearer top-secret', 'X-Api-Key': 'also-secret', 'X-Tenant': 'acme' }
    await page.connect({ target: `${http.url}?token=hidden`, headers, revision: '2025-11-25' })
    const answered = await page.until('http', ({ status }) => status === 200)
    expect(answered).toMatchObject({ method: 'POST', durationMs: expect.any(Number) })
    expect(answered.requestHeaders).toMatchObject({ authorization: 'Bearer [redacted]', 'x-tenant': 'acme' })
    expect(answered.responseHeaders).toMatchObject({ 'content-type': expect.any(String) })
    expect(JSON.stringify(page.all('http'))).not.toMatch(/top-secret|also-secret|token=hidden/)
    const carried = page.all('message').find(({ http: id }) => id === answered.http)
    expect(carried).toMatchObject({ direction: 'sent', message: { method: 'initialize' } })
    expect(await page.until('server-state', ({ state }) => state === 'ready')).toMatchObject({
      sessionId: expect.any(String),
    })
  })

  it('connects over HTTP+SSE if that is chosen', async () => {
    const options = { port: 0, exit: false, sse: true } as const
    await using http = await serveHttp(new McpServer({ name: 'web', version: '1.0.0' }), options)
    await using page = await InspectorPage.open()
    await page.connect({ target: http.url.replace('/mcp', '/sse'), transport: 'sse' })
    expect(page.all('server-added')[0]).toMatchObject({ transport: 'sse' })
    expect(page.all('http')[0]).toMatchObject({ method: 'GET' })
  })

  it('has several servers at once, and disconnects, connects again and removes them', async () => {
    await using page = await InspectorPage.open()
    const one = await page.connectFixture()
    const two = await page.connect({ target: `-- ${process.execPath} '${fixture('notes.js')}'` })
    expect((await page.api('POST', `servers/${one}/disconnect`)).json).toEqual({})
    await page.until('server-state', ({ server, state }) => server === one && state === 'closed')
    expect(await page.run(one, { method: 'ping' })).toMatchObject({ error: { code: 'not-connected' } })
    expect(await page.run(two, { method: 'ping' })).toMatchObject({ result: {} })
    expect((await page.api('POST', `servers/${one}/connect`)).json).toEqual({})
    const isReady = ({ server, state }: { server: string; state: string }) => server === one && state === 'ready'
    await page.until(
      'server-state',
      (event) => isReady(event) && event.seq > page.all('server-state').find(isReady)!.seq,
    )
    expect(await page.run(one, { method: 'ping' })).toMatchObject({ result: {} })
    expect((await page.api('DELETE', `servers/${two}`)).json).toEqual({})
    await page.until('server-removed', ({ server }) => server === two)
    expect((await page.api('POST', `servers/${two}/connect`)).status).toBe(404)
  })

  it.each([
    { name: 'a program that does not exist', target: 'no-such-program-anywhere', code: 'spawn-failed' },
    { name: 'a program that is not a server', target: `${process.execPath} -e 0`, code: 'closed' },
    { name: 'a port where nothing listens', target: 'http://127.0.0.1:9/mcp', code: 'http' },
  ])('reports $name as failed', async ({ target, code }) => {
    await using page = await InspectorPage.open()
    await page.connect({ target }, 'failed')
    expect(page.all('server-state').at(-1)).toMatchObject({ state: 'failed', error: { code } })
  })

  it('logs that a server process ended', async () => {
    await using page = await InspectorPage.open()
    const program = "process.stdin.once('data', () => process.exit(3))"
    await page.connect({ target: `${process.execPath} -e "${program}"` }, 'failed')
    expect(page.all('server-state').at(-1)?.error?.message).toContain('exit code 3')
  })

  it.each([
    { body: {}, message: '"target" is missing.' },
    { body: [], message: 'The body must be a JSON object.' },
    { body: { target: 5 }, message: '"target" must be a text.' },
    { body: { target: 'node', revision: '1999-01-01' }, message: '"revision" must be one of' },
    { body: { target: 'node', transport: 'pigeon' }, message: '"transport" must be' },
    { body: { target: 'http://127.0.0.1:9', headers: { 'a b': 'c' } }, message: '"headers" must be' },
    { body: { target: 'http://127.0.0.1:9', headers: { a: 'b\nc' } }, message: '"headers" must be' },
    { body: { target: '' }, message: 'No server was given.' },
    { body: { target: 'node "unclosed' }, message: 'is not closed' },
    { body: { target: 'x', source: './missing.json' }, message: 'missing.json' },
  ])('refuses the connect request $body', async ({ body, message }) => {
    await using page = await InspectorPage.open()
    const { status, json } = await page.api('POST', 'servers', body)
    expect({ status, message: json.error.message }).toEqual({ status: 400, message: expect.stringContaining(message) })
    expect(page.events).toEqual([])
  })

  it.each([
    ['GET', 'unknown'],
    ['PUT', 'servers'],
    ['POST', 'servers/x/connect'],
    ['POST', 'servers/x/operations'],
    ['POST', 'operations/x/cancel'],
    ['GET', 'events/99'],
    ['GET', 'events/-1'],
    ['GET', 'events/constructor'],
    ['GET', 'constructor'],
    ['POST', 'servers/x/connect/y'],
  ])('answers 404 to %s %s', async (method, path) => {
    await using page = await InspectorPage.open()
    const body = path.endsWith('operations') ? { method: 'ping' } : undefined
    expect(await page.api(method, path, body)).toMatchObject({ status: 404, json: { error: { code: 'not-found' } } })
  })

  it('answers 404 to an answer of a question that is not open', async () => {
    await using page = await InspectorPage.open()
    expect(await page.api('POST', 'questions/x/answer', { action: 'accept' })).toMatchObject({ status: 404 })
  })
})

describe('reading the log of the inspector', () => {
  it('sends a second page everything from the beginning, or after an event', async () => {
    await using page = await InspectorPage.open()
    const server = await page.connectFixture()
    await page.run(server, { method: 'ping' })
    const last = page.events.at(-1)!.seq
    const seen: number[] = []
    const stream = await page.stream(0, ({ seq }) => seen.push(seq))
    const later: number[] = []
    const other = await page.stream(last - 2, ({ seq }) => later.push(seq))
    await page.run(server, { method: 'ping' })
    await expect.poll(() => [seen.at(-1), later.at(-1)]).toEqual([page.events.at(-1)!.seq, page.events.at(-1)!.seq])
    expect(seen[0]).toBe(1)
    expect(later[0]).toBe(last - 1)
    stream.destroy()
    other.destroy()
  })

  it('refuses an invalid position', async () => {
    await using page = await InspectorPage.open()
    for (const after of ['-1', 'x', '1.5']) expect((await page.api('GET', `events?after=${after}`)).status).toBe(400)
  })

  it('returns the log as a transcript with complete messages', async () => {
    await using page = await InspectorPage.open()
    const server = await page.connect({ target: `${process.execPath} ${fixture('flood.js')}` })
    await page.run(server, callOf('huge'))
    const { headers, json } = await page.api('GET', 'transcript')
    expect(headers['content-disposition']).toContain('attachment')
    expect(json).toMatchObject({ format: 'tenon-inspector', version: 1 })
    const events: InspectorEvent[] = json.events
    expect(events.map(({ seq }) => seq)).toEqual(events.map((_event, index) => index + 1))
    expect(events.slice(0, 2)).toEqual(page.events.slice(0, 2))
    expect(events.filter((event) => event.kind === 'message' && event.isShortened)).toEqual([])
    expect(page.all('message').filter(({ isShortened }) => isShortened)).toHaveLength(1)
  })

  it('returns an empty transcript before anything happened', async () => {
    await using page = await InspectorPage.open()
    expect((await page.api('GET', 'transcript')).json).toEqual({ format: 'tenon-inspector', version: 1, events: [] })
  })

  it('ends a connection that is being opened', async () => {
    await using page = await InspectorPage.open()
    const target = `${process.execPath} -e "process.stdin.resume()"`
    const server = await page.connect({ target }, 'connecting')
    await page.api('POST', `servers/${server}/disconnect`)
    await page.until('server-state', ({ state }) => state === 'closed')
    expect(page.all('server-state').map(({ state }) => state)).toEqual(['connecting', 'closed'])
  })
})
