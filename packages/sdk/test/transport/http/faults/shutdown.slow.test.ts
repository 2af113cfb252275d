import { createMcpHandler } from 'tenon/server'
import { describe, expect, it, onTestFinished } from 'vitest'
import { NodeProcess } from '../../../kit/child-process.ts'
import { eventually } from '../../../kit/eventually.ts'
import { RawConnection, stopsListening, toBytes } from '../../../kit/raw-http.ts'
import { httpRevisions, modern } from '../../../kit/revisions.ts'
import { createServer, expectRefusal, fixture, listen, RawClient, serve } from './support.ts'

describe('a server that shuts down', () => {
  function createWorker() {
    const server = createServer()
    let release = () => {}
    const held = new Promise<void>((resolve) => {
      release = resolve
    })
    server.registerTool('work', {}, async () => {
      await held
      return 'worked'
    })
    server.registerTool('work-and-tell', {}, async (_args, ctx) => {
      ctx.notify('notifications/message', { level: 'info', data: 'begun' })
      await held
      return 'worked'
    })
    return { server, release: () => release() }
  }

  const listenTo = (client: RawClient) =>
    client.request('listen', 'subscriptions/listen', { notifications: { toolsListChanged: true } })

  /** Starts a call that is answered with JSON or as a stream. */
  async function begin(client: RawClient, tool: string) {
    const connection = await RawConnection.open(client.port)
    onTestFinished(() => connection.destroy())
    const body = client.call('call', tool)
    const headers = client.headers('tools/call', tool, { 'Content-Length': String(body.length) })
    return connection.write(toBytes('POST', '/mcp', headers, body))
  }

  it.each([...httpRevisions])('answers pending calls, ends its streams and stops listening (%s)', async (revision) => {
    const { server, release } = createWorker()
    const http = await serve(server, { graceMs: 10_000 })
    const client = await RawClient.open(http.port, revision)
    const plain = await begin(client, 'work')
    const idle = await RawConnection.open(http.port)
    const told = await client.stream(client.call('told', 'work-and-tell'))
    await told.message()
    const open = revision === modern ? await client.stream(listenTo(client)) : await client.listen()
    const closing = http.close()
    await stopsListening(http.port)
    release()
    const answer = await plain.response()
    expect(answer.json.result?.content?.[0]?.text).toBe('worked')
    expect((await told.message(({ id }) => id === 'told')).result?.content?.[0]?.text).toBe('worked')
    expect(await told.rest()).toEqual([])
    const last = await open.rest()
    if (revision === modern) expect(last.at(-1)).toMatchObject({ id: 'listen', result: { resultType: 'complete' } })
    else expect(last).toEqual([])
    await closing
    await idle.closed()
    expect(http.metrics).toMatchObject({ sessions: { open: 0 }, streams: 0, calls: 0 })
  })

  it.each([...httpRevisions])('answers new requests with 503 while it shuts down (%s)', async (revision) => {
    const { server, release } = createWorker()
    const handler = createMcpHandler(server)
    const port = await listen((request, response) => handler.node(request, response))
    const client = await RawClient.open(port, revision)
    const under = await begin(client, 'work')
    await eventually(() => handler.metrics.calls === 1 || revision !== modern)
    await client.stillServes()
    const closing = handler.close(10_000)
    for (const response of [
      await client.post(client.call(1, 'echo')),
      await client.post(client.initialize()),
      await client.get(),
      await client.delete(),
    ]) {
      expectRefusal(response, 503, -32000)
      expect(response.headers.get('retry-after')).toBeDefined()
      expect(response.headers.get('connection')).toBe('close')
    }
    release()
    expect((await under.response()).json.result?.content?.[0]?.text).toBe('worked')
    await closing
    expectRefusal(await client.post(client.call(1, 'echo')), 503, -32000)
    expect(handler.metrics).toMatchObject({ sessions: { open: 0 }, streams: 0, calls: 0 })
  })

  it.each([...httpRevisions])('waits no longer than graceMs (%s)', async (revision) => {
    const { server } = createWorker()
    const http = await serve(server, { graceMs: 50 })
    const client = await RawClient.open(http.port, revision)
    const plain = await begin(client, 'work')
    const told = await client.stream(client.call('told', 'work-and-tell'))
    await told.message()
    const stuck = await RawConnection.open(http.port)
    stuck.write('POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\n')
    await http.close()
    await Promise.all([plain.closed(), told.connection.closed(), stuck.closed()])
    expect(http.metrics).toMatchObject({ sessions: { open: 0 }, streams: 0, calls: 0 })
  })

  it.each([...httpRevisions])(
    'does not start a call whose body is completed after the shutdown (%s)',
    async (revision) => {
      const { server } = createWorker()
      const handler = createMcpHandler(server)
      const port = await listen((request, response) => handler.node(request, response))
      const client = await RawClient.open(port, revision)
      const bodies = revision === modern ? [client.call(1, 'echo')] : [client.call(1, 'echo'), client.initialize()]
      const late = []
      for (const body of bodies) {
        const connection = await RawConnection.open(port)
        onTestFinished(() => connection.destroy())
        const headers = client.headers('tools/call', 'echo', { 'Content-Length': String(body.length) })
        if (body.includes('initialize')) headers['Mcp-Session-Id'] = undefined
        connection.write(toBytes('POST', '/mcp', headers, body.slice(0, 20)))
        late.push({ connection, rest: body.slice(20) })
      }
      await client.stillServes()
      await handler.close()
      for (const { connection, rest } of late) expectRefusal(await connection.write(rest).response(), 503, -32000)
      expect(handler.metrics.sessions.open).toBe(0)
    },
  )

  it.each(['SIGTERM', 'SIGINT'] as const)('a process answers pending calls and exits with 0 on %s', async (signal) => {
    await using child = new NodeProcess([fixture('server.js')])
    const port = Number((await child.until(() => /port (\d+)/.exec(child.stdout)))[1])
    const client = new RawClient(port, modern)
    const session = await RawClient.open(port, '2025-11-25')
    const plain = await begin(client, 'work')
    const told = await session.stream(session.call('told', 'work-and-tell'))
    await told.message()
    const heard = await client.stream(listenTo(client))
    await heard.message()
    await child.until(() => child.stdout.includes('work begins'))
    child.child.kill(signal)
    expect((await plain.response()).json.result?.content?.[0]?.text).toBe('worked')
    expect((await told.message(({ id }) => id === 'told')).result?.content?.[0]?.text).toBe('worked')
    expect((await heard.rest()).at(-1)).toMatchObject({ id: 'listen', result: {} })
    expect(await child.exited).toEqual({ code: 0, signal: null })
    expect((child.stdout + child.stderr).replace(/port \d+\n|work begins\n/g, '')).toBe('')
  })

  it('a process exits with 0 on SIGTERM even if a call never ends', async () => {
    await using child = new NodeProcess([fixture('server.js'), '100'])
    const [, port] = await child.until(() => /port (\d+)/.exec(child.stdout))
    const client = new RawClient(Number(port), modern)
    await begin(client, 'never')
    await child.until(() => child.stdout.includes('never begins'))
    child.child.kill('SIGTERM')
    expect(await child.exited).toEqual({ code: 0, signal: null })
  })
})
