import { ErrorCode, ProtocolError } from 'tenon'
import { processStateKey, Server } from 'tenon/server'
import { ScriptedClient } from 'tenon/testing'
import { describe, expect, test } from 'vitest'

const info = { name: 'demo', version: '1.0.0' }
const initialize = {
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'script', version: '1' } },
}

describe.each(['2025-11-25', '2026-07-28'] as const)('a fallback request handler, for %s', (revision) => {
  test('serves methods without a handler', async () => {
    const server = new Server(info)
    server.setFallbackRequestHandler(({ method }, ctx) => ({ method, caller: ctx.caller.revision }))
    await using client = await ScriptedClient.connect(server, { revision })
    await client.open()
    expect((await client.request('shop/hours')).result).toMatchObject({ method: 'shop/hours', caller: revision })
    server.setFallbackRequestHandler(undefined)
    expect((await client.request('shop/hours')).error?.code).toBe(ErrorCode.MethodNotFound)
  })

  test('gets invalid params only if checksParams says so', async () => {
    const server = new Server(info)
    server.setFallbackRequestHandler(({ params }) => ({ got: params?.name }), {
      checksParams: (method) => method !== 'tools/call',
    })
    await using client = await ScriptedClient.connect(server, { revision })
    await client.open()
    expect((await client.request('tools/call', { name: 1 })).result).toMatchObject({ got: 1 })
    expect((await client.request('prompts/get', { name: 1 })).error?.code).toBe(ErrorCode.InvalidParams)
  })
})

describe('a handler of initialize', () => {
  test('makes the response, and its revision is the one of the session', async () => {
    const server = new Server(info)
    server.setRequestHandler('initialize', () => ({
      protocolVersion: '2025-06-18',
      capabilities: { tools: {} },
      serverInfo: { name: 'renamed', version: '2' },
    }))
    await using client = await ScriptedClient.connect(server, { revision: '2025-11-25' })
    expect((await client.open())?.result).toMatchObject({
      protocolVersion: '2025-06-18',
      serverInfo: { name: 'renamed' },
    })
    const [link] = server.links
    expect(server.callerOf(link!)).toMatchObject({ revision: '2025-06-18', clientInfo: { name: 'script' } })
  })
})

test('a handler of ping makes the response', async () => {
  const server = new Server(info)
  server.setRequestHandler('ping', () => ({ pong: true }) as never)
  await using client = await ScriptedClient.connect(server, { revision: '2025-11-25' })
  await client.open()
  expect((await client.request('ping')).result).toEqual({ pong: true })
})

test('a handler with replace serves a method that the library serves otherwise', async () => {
  const server = new Server(info)
  server.setRequestHandler('resources/subscribe', () => ({ mine: true }) as never, { replace: true })
  await using client = await ScriptedClient.connect(server, { revision: '2025-11-25' })
  await client.open()
  expect((await client.request('resources/subscribe', { uri: 'a://b' })).result).toEqual({ mine: true })
  server.removeRequestHandler('resources/subscribe')
  expect((await client.request('resources/subscribe', { uri: 'a://b' })).error?.code).toBe(ErrorCode.MethodNotFound)
})

describe('lifecycle', () => {
  const serverWith = (lifecycle: 'strict' | 'lenient') => {
    const server = new Server(info, { lifecycle })
    server.setFallbackRequestHandler(() => ({ answered: true }))
    return server
  }

  test('lenient answers requests before initialize, and initialize again', async () => {
    await using client = await ScriptedClient.connect(serverWith('lenient'))
    expect((await client.send({ jsonrpc: '2.0', id: 7, method: 'tools/list' })).result).toEqual({ answered: true })
    expect((await client.send(initialize)).error).toBeUndefined()
    expect((await client.send({ ...initialize, id: 2 })).error).toBeUndefined()
  })

  test('strict refuses both', async () => {
    await using client = await ScriptedClient.connect(serverWith('strict'))
    expect((await client.send({ jsonrpc: '2.0', id: 7, method: 'tools/list' })).error).toBeDefined()
    expect((await client.send(initialize)).error).toBeUndefined()
    expect((await client.send({ ...initialize, id: 2 })).error?.message).toBe('Already initialized')
  })
})

test('the server learns when a client is initialized, its facts and its end', async () => {
  const seen: unknown[] = []
  const server: Server = new Server(info, {
    onInitialized: (link) => seen.push(server.callerOf(link)?.clientInfo?.name),
    onClosed: () => seen.push('closed'),
  })
  const client = await ScriptedClient.connect(server, { revision: '2025-11-25', capabilities: { roots: {} } })
  await client.open()
  await client.request('ping')
  expect(server.callerOf(server.links[0]!)?.capabilities).toEqual({ roots: {} })
  await client.close()
  expect(seen).toEqual(['script', 'closed'])
  expect(server.links).toEqual([])
})

test('a link sends requests and notifications outside of a request', async () => {
  const server = new Server(info)
  await using client = await ScriptedClient.connect(server, { revision: '2025-11-25' })
  await client.open()
  const [link] = server.links
  const arrived = client.next((message) => 'method' in message && message.method === 'roots/list')
  const answer = link!.request('roots/list')
  const { id } = (await arrived) as { id: number }
  client.say({ jsonrpc: '2.0', id, result: { roots: [] } })
  expect(await answer).toEqual({ roots: [] })
  const notified = client.nextNotification('shop/open')
  link!.notify('shop/open', { until: 5 })
  expect((await notified).params).toEqual({ until: 5 })
})

test('notification handlers get the link that a notification came from, and the fallback gets the others', async () => {
  const server = new Server(info)
  const seen: unknown[] = []
  server.setNotificationHandler('shop/one', (params, { link, request }) =>
    seen.push([params, link === server.links[0], request]),
  )
  server.setFallbackNotificationHandler(({ method }) => seen.push(method))
  await using client = await ScriptedClient.connect(server, { revision: '2025-11-25' })
  await client.open()
  client.notify('shop/one', { a: 1 })
  server.removeNotificationHandler('shop/two')
  client.notify('shop/two')
  await client.request('ping')
  expect(seen).toEqual(['notifications/initialized', [{ a: 1 }, true, undefined], 'shop/two'])
})

test('mapError converts what handlers throw', async () => {
  const server = new Server(info, { mapError: (error) => new ProtocolError(-32_050, (error as Error).message) })
  server.setRequestHandler('shop/fail', () => {
    throw new Error('sold out')
  })
  await using client = await ScriptedClient.connect(server)
  expect((await client.request('shop/fail')).error).toEqual({ code: -32_050, message: 'sold out' })
})

test('onUnmatched gets responses to requests that were never sent', async () => {
  const unmatched: unknown[] = []
  const server = new Server(info, { onUnmatched: ({ id }) => unmatched.push(id) })
  await using client = await ScriptedClient.connect(server, { revision: '2025-11-25' })
  await client.open()
  client.say({ jsonrpc: '2.0', id: 99, result: {} })
  await client.request('ping')
  expect(unmatched).toEqual([99])
})

test('cacheByMethod takes precedence over cache', async () => {
  const server = new Server(info, {
    cache: { ttlMs: 1_000 },
    cacheByMethod: { 'tools/list': { ttlMs: 5_000, cacheScope: 'public' } },
  })
  server.setRequestHandler('tools/list', () => ({ tools: [] }))
  server.setRequestHandler('prompts/list', () => ({ prompts: [] }))
  await using client = await ScriptedClient.connect(server)
  expect((await client.request('tools/list')).result).toMatchObject({ ttlMs: 5_000, cacheScope: 'public' })
  expect((await client.request('prompts/list')).result).toMatchObject({ ttlMs: 1_000, cacheScope: 'private' })
  expect(() => new Server(info, { cacheByMethod: { 'tools/list': { ttlMs: -1 } } })).toThrow('ttlMs')
})

test('registerCapabilities adds to the capabilities', () => {
  const server = new Server(info, { capabilities: { tools: { listChanged: true } } })
  server.registerCapabilities({ tools: {}, logging: {} })
  expect(server.getCapabilities()).toEqual({ tools: { listChanged: true }, logging: {} })
})

test('servers with processStateKey open the request state of each other', async () => {
  const create = () => {
    const server = new Server(info, { stateKey: processStateKey, capabilities: { tools: {} } })
    server.setRequestHandler('tools/call', async (_params, ctx) => {
      const { action } = await ctx.ask({
        method: 'elicitation/create',
        params: { mode: 'form', message: 'Sure?', requestedSchema: { type: 'object', properties: {} } },
      })
      return { content: [{ type: 'text', text: String(action) }] }
    })
    return server
  }
  const options = { capabilities: { elicitation: { form: {} } } }
  await using one = await ScriptedClient.connect(create(), options)
  const asked = (await one.request('tools/call', { name: 'x' })).result!
  const [key] = Object.keys(asked.inputRequests as object)
  await using two = await ScriptedClient.connect(create(), options)
  const inputResponses = { [key!]: { action: 'accept', content: {} } }
  const answered = await two.request('tools/call', { name: 'x', inputResponses, requestState: asked.requestState })
  expect(answered.result?.content).toEqual([{ type: 'text', text: 'accept' }])
})

test('handlers that a program set on a transport are called as well', async () => {
  const { InMemoryTransport } = await import('tenon/server')
  const [ours, theirs] = InMemoryTransport.createLinkedPair()
  const seen: string[] = []
  theirs.onmessage = () => seen.push('message')
  theirs.onclose = () => seen.push('close')
  const server = new Server(info)
  await server.connect(theirs)
  const client = await ScriptedClient.connect(ours, { revision: '2025-11-25' })
  await client.request('ping')
  await client.close()
  expect(seen).toEqual(['message', 'close'])
})
