import { type ConnectOptions, connect } from 'tenon/client'
import { describe, expect, it } from 'vitest'
import { answer, event, initialized, modern, plainly, type Received, script, sessions } from './support.ts'

const rims: [string, ConnectOptions][] = [
  ['node:http', {}],
  ['fetch', { fetch: (url, init) => fetch(url, init) }],
]
const secret = { authorization: 'Bearer secret', 'x-key': 'secret' }

describe.each(rims)('with %s, a redirect', (_, rim) => {
  it('GHSA-9g45-5xwm-f3wc: to another origin is refused and nothing is sent there [SESS-004]', async () => {
    await using thief = await script((received) => received.status(200))
    await using server = await sessions((received) => {
      if (received.message.method !== 'tools/list') return false
      received.status(307, '', { Location: `${thief.url}?x=1` })
      return true
    })
    await using client = await connect(server.url, { ...rim, headers: secret })
    const error = await Promise.resolve(client.listTools()).catch((each) => each)
    expect(error).toMatchObject({ code: 'http', status: 307 })
    expect(error.message).toContain(`another origin, ${thief.origin}`)
    expect(error.message).not.toMatch(/secret|session-1/)
    expect(thief.received).toEqual([])
  })

  it.each([307, 308])('within the origin is followed as a POST with the same body (%s)', async (status) => {
    await using server = await modern((received) => {
      if (received.path !== '/mcp') return false
      received.status(status, '', { Location: '/moved/here' })
      return true
    })
    await using client = await connect(server.url, { ...rim, headers: secret })
    expect((await client.callTool('act')).text).toBe('done')
    const [first, second] = server.received
    expect(second).toMatchObject({ method: 'POST', path: '/moved/here', text: first!.text })
    expect(second!.headers).toMatchObject({ ...secret, 'mcp-method': 'server/discover' })
    // 308 is permanent, so the redirect is followed only once.
    expect(server.received.filter(({ path }) => path === '/mcp')).toHaveLength(status === 308 ? 1 : 2)
  })

  it.each([301, 302, 303])('that would turn a POST into a GET is not followed (%s)', async (status) => {
    await using server = await modern((received) => {
      if (received.message.method !== 'tools/call') return false
      received.status(status, '', { Location: '/elsewhere' })
      return true
    })
    await using client = await connect(server.url, rim)
    await expect(client.callTool('act')).rejects.toThrow(/into a GET/)
    expect(server.received.some(({ path }) => path === '/elsewhere')).toBe(false)
  })

  it('in a loop is followed at most five times', async () => {
    await using server = await modern((received) => {
      if (received.message.method !== 'tools/call') return false
      received.status(307, '', { Location: `/round/${server.received.length}` })
      return true
    })
    await using client = await connect(server.url, rim)
    await expect(client.callTool('act')).rejects.toThrow(/more than 5 times/)
    expect(server.of('tools/call')).toHaveLength(6)
  })

  it.each(['file:///etc/passwd', 'http://[', 'http://user:pass@'])('to %s is refused', async (location) => {
    await using server = await modern((received) => {
      if (received.message.method !== 'tools/call') return false
      const target = location.endsWith('@') ? `${location}${server.origin.slice(7)}/x` : location
      received.status(307, '', { Location: target })
      return true
    })
    await using client = await connect(server.url, rim)
    await expect(client.callTool('act')).rejects.toMatchObject({ code: 'http', status: 307 })
    expect(server.of('tools/call')).toHaveLength(1)
  })
})

describe('a client of a hostile server', () => {
  it('accepts no compressed responses', async () => {
    await using server = await modern()
    await using client = await connect(server.url)
    await client.callTool('act')
    expect(server.received.every(({ headers }) => headers['accept-encoding'] === 'identity')).toBe(true)
  })

  /** Calls a tool of a server that sends `message` 20,000 times before the result and never completes its responses. */
  async function flood(message: object, options: ConnectOptions = {}) {
    const server = await sessions((received) => {
      const { message: asked, response } = received
      if (asked.method === undefined && received.method === 'POST') {
        response.writeHead(202).flushHeaders()
        return true
      }
      if (asked.method !== 'tools/call') return false
      received.stream(event(message).repeat(20_000), event(answer(asked.id)))
      return true
    })
    const client = await connect(server.url, options)
    const errors: unknown[] = []
    client.on('error', ({ error }) => errors.push(error))
    const outcome = await Promise.resolve(client.callTool('act')).catch((error) => error)
    const answers = server.received.filter((each) => each.method === 'POST' && each.message.method === undefined)
    await server.close()
    await client.close()
    return { outcome, answers, errors }
  }

  it.each(rims)('does not answer invalid messages and closes a stream that sends too many (%s)', async (_, rim) => {
    const { outcome, answers, errors } = await flood({}, rim)
    expect(outcome.message).toContain('more than 100 messages are not valid')
    expect(answers).toEqual([])
    expect(errors.length).toBeLessThan(110)
  })

  it('does not answer invalid messages on its GET stream and reopens the stream', async () => {
    await using server = await sessions((received) => {
      if (received.method !== 'GET') return false
      if (server.of('GET').length === 1) received.stream(event({}).repeat(20_000))
      else received.stream()
      return true
    })
    await using _client = await connect(server.url, {
      reconnect: { initialDelayMs: 20, maxDelayMs: 100, maxRetries: 5 },
    })
    await server.until('GET', 2)
    expect(server.methods()).not.toContain(undefined)
  })

  it('closes a stream of malformed requests', async () => {
    const { outcome, answers } = await flood({ jsonrpc: '2.0', id: 1, method: 5 })
    expect(outcome.message).toContain('more than 100 messages are not valid')
    expect(answers.length).toBeLessThanOrEqual(100)
  })

  it.each(rims)('closes a stream of requests whose responses the server does not accept (%s)', async (_, rim) => {
    const { outcome, answers } = await flood({ jsonrpc: '2.0', id: 1, method: 'ping' }, rim)
    expect(outcome.message).toContain('has not accepted 256 responses to earlier ones')
    expect(answers.length).toBeLessThanOrEqual(256)
  })

  it('closes a stream that stays open after the response', async () => {
    await using server = await modern((received) => {
      if (received.message.method !== 'tools/call') return false
      received.stream(
        `data: ${JSON.stringify({ jsonrpc: '2.0', id: received.message.id, result: { content: [] } })}\n\n`,
      )
      return true
    })
    await using client = await connect(server.url)
    await client.callTool('act')
    const { response } = server.of('tools/call')[0]!
    await new Promise((resolve) => response.on('close', resolve))
  })

  it('does not wait for a server that never answers the DELETE of the session', async () => {
    await using server = await sessions((received) => received.method === 'DELETE')
    const client = await connect(server.url)
    await client.listTools()
    await client.close()
    expect(server.of('DELETE')).toHaveLength(1)
  })

  it('does not reveal secrets from the query of a URL', async () => {
    await using server = await script((received) => received.status(500))
    const error = await connect(`${server.url}?token=secret`, { revision: '2026-07-28' }).catch((each) => each)
    expect(`${error.message}${error.stack}`).not.toMatch(/secret/)
  })
})

describe('fifty clients of a server that is killed and restarted', () => {
  it.each(['2025-11-25', '2026-07-28'] as const)('recover automatically (%s)', async (revision) => {
    const start = (port = 0) => {
      const known = new Set<unknown>()
      const act = (received: Received) => {
        const { method, message, headers } = received
        if (message.method === 'initialize') {
          const id = `s${Math.random()}`
          known.add(id)
          received.result(initialized(), { 'Mcp-Session-Id': id })
          return true
        }
        if (revision === '2026-07-28' || method === 'DELETE') return false
        if (!known.has(headers['mcp-session-id'])) received.status(404)
        else if (method === 'GET') received.stream()
        else plainly(received)
        return true
      }
      return revision === '2026-07-28' ? modern(act, port) : sessions(act, {}, port)
    }
    let server = await start()
    const reconnect = { initialDelayMs: 20, maxDelayMs: 100, maxRetries: 200 }
    const clients = await Promise.all(Array.from({ length: 50 }, () => connect(server.url, { revision, reconnect })))
    for (let round = 0; round < 2; round++) {
      const { port } = server
      await server.close()
      const lists = Promise.all(clients.map((client) => client.listTools()))
      server = await start(port)
      expect((await lists).every(({ tools }) => tools.length === 1)).toBe(true)
      const calls = await Promise.all(clients.map((client) => client.callTool('act')))
      expect(calls.every(({ text }) => text === 'done')).toBe(true)
      expect(clients.every(({ state }) => state === 'ready')).toBe(true)
    }
    await Promise.all(clients.map((client) => client.close()))
    await server.close()
  })
})
