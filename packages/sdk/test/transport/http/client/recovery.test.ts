import { type Client, connect } from 'tenon/client'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { changed, event, modern, once, type Received, type Scripted, sessions } from './support.ts'

afterEach(() => {
  vi.useRealTimers()
  vi.restoreAllMocks()
})

/** Makes every delay with full jitter zero. */
function withoutPauses() {
  vi.spyOn(Math, 'random').mockReturnValue(0)
}

/** Fakes timers and dates; sockets keep working in real time. */
function withFakeTime() {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'Date'] })
}

async function letPass(ms: number): Promise<void> {
  for (let passed = 0; passed < ms; passed += 500) {
    await vi.advanceTimersByTimeAsync(500)
    // Responses arrive over sockets, in real time.
    for (let turns = 0; turns < 5; turns++) await new Promise((resolve) => setImmediate(resolve))
  }
}

async function letPassUntil(isSo: () => boolean): Promise<void> {
  for (let rounds = 0; !isSo(); rounds++) {
    if (rounds > 2_000) throw new Error(`Timed out waiting for ${isSo}`)
    await letPass(500)
  }
}

function count(client: Client, name: 'updatesMissed' | 'toolsChanged' | 'sessionRenewed') {
  const counter = { times: 0 }
  client.on(name, () => {
    counter.times++
  })
  return counter
}

const acknowledged = (id: number | undefined) => ({
  jsonrpc: '2.0',
  method: 'notifications/subscriptions/acknowledged',
  params: { _meta: { 'io.modelcontextprotocol/subscriptionId': id }, notifications: { toolsListChanged: true } },
})

const changedFor = (id: number | undefined) => ({
  ...changed,
  params: { _meta: { 'io.modelcontextprotocol/subscriptionId': id } },
})

/** Answers `subscriptions/listen` with a stream. */
function onListen(act: (received: Received, turn: number) => void) {
  let turn = 0
  return (received: Received) => {
    if (received.message.method !== 'subscriptions/listen') return false
    received.stream(event(acknowledged(received.message.id)))
    act(received, ++turn)
    return true
  }
}

describe('a subscription on 2026-07-28', () => {
  it('is reopened however often its stream ends, and updatesMissed is emitted each time [SUB-013]', async () => {
    withoutPauses()
    const answer = onListen(({ response, message }, turn) => {
      if (turn <= 25) response.end()
      else response.write(event(changedFor(message.id)))
    })
    await using server = await modern(answer)
    await using client = await connect(server.url)
    const missed = count(client, 'updatesMissed')
    const heard = once((listener) => client.on('toolsChanged', listener))
    await client.listen({ toolsListChanged: true })
    await heard
    await client.ping()
    expect(missed.times).toBe(25)
  })

  it('recovers after the server was unavailable for three minutes', async () => {
    withFakeTime()
    let server = await modern(onListen(() => {}))
    await using client = await connect(server.url)
    const missed = count(client, 'updatesMissed')
    const heard = count(client, 'toolsChanged')
    await client.listen({ toolsListChanged: true })
    const { port } = server
    await server.close()
    await letPass(180_000)
    server = await modern(
      onListen(({ response, message }) => response.write(event(changedFor(message.id)))),
      port,
    )
    await letPassUntil(() => heard.times > 0)
    expect(missed.times).toBe(1)
    await server.close()
  })
})

describe('the GET stream', () => {
  it('is opened after notifications/initialized was delivered with retries [LIFE-005]', async () => {
    withoutPauses()
    let greetings = 0
    await using server = await sessions(
      ({ message, response }) => {
        if (message.method !== 'notifications/initialized' || ++greetings > 3) return false
        response.destroy()
        return true
      },
      { stream: true },
    )
    await using client = await connect(server.url)
    client.on('error', () => {})
    const { response } = await server.until('GET')
    expect(greetings).toBe(4)
    const heard = once((listener) => client.on('toolsChanged', listener))
    response.write(event(changed))
    await heard
  })

  it('is opened without Last-Event-ID when the server refuses to resume it, and updatesMissed is emitted', async () => {
    withoutPauses()
    const gets: (string | undefined)[] = []
    await using server = await sessions((received) => {
      if (received.method !== 'GET') return false
      const place = received.headers['last-event-id'] as string | undefined
      gets.push(place)
      if (place !== undefined) return received.error(-32000, 'No such event', 400) ?? true
      received.stream(event(changed, `event-${gets.length}`))
      if (gets.length === 1) received.response.end()
      return true
    })
    const client = await connect(server.url)
    const missed = count(client, 'updatesMissed')
    const twice = new Promise<void>((resolve) => {
      client.on('toolsChanged', () => void (missed.times === 1 && resolve()))
    })
    await twice
    expect(gets).toEqual([undefined, 'event-1', undefined])
    await client.close()
  })

  it('is opened without Last-Event-ID when the server resumes it repeatedly without sending anything', async () => {
    withoutPauses()
    const gets: (string | undefined)[] = []
    await using server = await sessions((received) => {
      if (received.method !== 'GET') return false
      const place = received.headers['last-event-id'] as string | undefined
      gets.push(place)
      if (gets.length === 1) received.stream(event(changed, 'one'))
      else received.stream()
      if (gets.length === 1 || place !== undefined) received.response.end()
      else received.response.write(event(changed, 'two'))
      return true
    })
    await using client = await connect(server.url)
    const heard = count(client, 'toolsChanged')
    await once((listener) => client.on('updatesMissed', listener))
    while (heard.times < 2) await new Promise((resolve) => setImmediate(resolve))
    expect(gets.at(-1)).toBeUndefined()
    expect(gets.length).toBeLessThan(12)
  })

  it('does not report missed updates when it is resumed', async () => {
    withoutPauses()
    let gets = 0
    await using server = await sessions((received) => {
      if (received.method !== 'GET') return false
      received.stream(event(changed, `event-${++gets}`))
      if (gets < 4) received.response.end()
      return true
    })
    await using client = await connect(server.url)
    const missed = count(client, 'updatesMissed')
    const heard = count(client, 'toolsChanged')
    await server.until('GET', 4)
    while (heard.times < 4) await new Promise((resolve) => setImmediate(resolve))
    expect(missed.times).toBe(0)
  })

  it.each([
    ['still has the session', 'session-1', 0],
    ['has lost the session', 'another', 1],
  ])('recovers after three minutes without the server, which %s', async (_, known, renewals) => {
    withFakeTime()
    let server: Scripted = await sessions(undefined, { stream: true })
    await using client = await connect(server.url)
    const missed = count(client, 'updatesMissed')
    const heard = count(client, 'toolsChanged')
    const renewed = count(client, 'sessionRenewed')
    client.on('error', () => {})
    await server.until('GET')
    const { port } = server
    await server.close()
    await letPass(180_000)
    const answer = (received: Received) => {
      const session = received.headers['mcp-session-id']
      const isForgotten = known === 'another' && renewed.times === 0 && received.message.method !== 'initialize'
      if (session !== undefined && isForgotten && session === 'session-1' && server.of('initialize').length === 0) {
        return received.error(-32001, 'Session not found', 404) ?? true
      }
      if (received.method !== 'GET') return false
      received.stream(event(changed))
      return true
    }
    server = await sessions(answer, {}, port)
    await letPassUntil(() => heard.times > 0)
    expect(missed.times).toBeGreaterThan(0)
    expect(renewed.times).toBe(renewals)
    await server.close()
  })
})

describe('a server that hangs or a connection that is lost silently', () => {
  it.each([
    ['GET', '2025-11-25'],
    ['subscriptions/listen', '2026-07-28'],
  ] as const)(
    'is detected by missing keep-alive comments on the stream of %s, which is reopened',
    async (kind, revision) => {
      withFakeTime()
      await using server =
        revision === '2025-11-25' ? await sessions(undefined, { stream: true }) : await modern(onListen(() => {}))
      await using client = await connect(server.url, { revision })
      if (revision === '2026-07-28') await client.listen({ toolsListChanged: true })
      const missed = count(client, 'updatesMissed')
      const { response } = await server.until(kind)
      for (let comments = 0; comments < 5; comments++) {
        response.write(':\n\n')
        await letPass(15_000)
      }
      expect(server.of(kind)).toHaveLength(1)
      await letPassUntil(() => server.of(kind).length === 2 && missed.times === 1)
    },
  )

  it('is detected when the response headers of the stream never arrive', async () => {
    withFakeTime()
    await using server = await sessions(({ method }) => method === 'GET' && server.of('GET').length === 1)
    await using client = await connect(server.url)
    await server.until('GET')
    await letPassUntil(() => server.of('GET').length === 2)
    await client.ping()
  })

  it('is not assumed when the stream never had keep-alive comments', async () => {
    withFakeTime()
    await using server = await sessions(undefined, { stream: true })
    await using client = await connect(server.url)
    const { response } = await server.until('GET')
    for (const id of ['one', 'two', 'three', 'four']) {
      response.write(event(changed, id))
      await letPass(1_000)
    }
    await letPass(600_000)
    expect(server.of('GET')).toHaveLength(1)
    await client.ping()
  })
})

describe('a session that the server reports lost with 400', () => {
  it.each([['Bad Request: No valid session ID provided'], ['Bad Request: Server not initialized']])(
    'is renewed: %s',
    async (message) => {
      let isLost = true
      await using server = await sessions((received) => {
        if (received.message.method !== 'resources/read' || !isLost) return false
        isLost = false
        received.error(-32000, message, 400)
        return true
      })
      await using client = await connect(server.url)
      const renewed = once((listener) => client.on('sessionRenewed', listener))
      const missed = count(client, 'updatesMissed')
      await client.readResource('note://a')
      expect(await renewed).toMatchObject({ sessionId: 'session-2', previous: 'session-1' })
      expect(missed.times).toBe(1)
    },
  )

  it('is not renewed for any other 400', async () => {
    await using server = await sessions((received) => {
      if (received.message.method !== 'resources/read') return false
      received.error(-32602, 'Unknown resource', 400)
      return true
    })
    await using client = await connect(server.url)
    await expect(client.readResource('note://a')).rejects.toMatchObject({ code: 'peer', rpcCode: -32602 })
    expect(server.of('initialize')).toHaveLength(1)
  })
})
