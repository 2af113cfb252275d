import { type LoggingLevel, loggingLevels, metaKeys, revisionIds, type ServerCapabilities } from 'tenon'
import { type Client, connect } from 'tenon/client'
import { McpServer, Server } from 'tenon/server'
import { ScriptedClient } from 'tenon/testing'
import { afterEach, describe, expect, it, vi } from 'vitest'
import * as z from 'zod'
import { everyWire } from '../../kit/every-wire.ts'
import { said } from '../../kit/transcript.ts'
import { ask, handshakes, notes, pretend, requests, script, settle } from './support.ts'

const info = { name: 'logging', version: '1' }
const message = 'notifications/message'
const everyLevel = ['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency'] as const

function createServer(options: ConstructorParameters<typeof McpServer>[1] = {}) {
  const server = new McpServer(info, options)
  server.registerTool('shout', {}, (_args, ctx) => {
    for (const level of everyLevel) ctx.log[level](`at ${level}`, 'shouter')
    return 'done'
  })
  server.registerTool('flood', { inputSchema: { count: z.number() } }, ({ count }, ctx) => {
    for (let index = 0; index < count; index++) ctx.log.error(index)
    return 'done'
  })
  return server
}

/** Records the log level of each call. */
function levelKeeper(levels: unknown[], capabilities: ServerCapabilities = { logging: {} }) {
  const server = new Server(info, { capabilities: { tools: {}, ...capabilities } })
  server.setRequestHandler('tools/call', (params) => {
    levels.push(params._meta?.[metaKeys.logLevel])
    return { content: [] }
  })
  return server
}

afterEach(() => vi.restoreAllMocks())

describe('log levels', () => {
  it('are the eight levels of syslog, in increasing severity [LOG-002]', () => {
    expect(loggingLevels).toEqual(everyLevel)
  })

  everyWire('filter out messages below the requested level [LOG-002, LOG-003, LOG-004, LOG-009]', async (wire) => {
    await using pair = await wire.connect(createServer())
    const heard: string[] = []
    pair.client.on('log', ({ level }) => heard.push(level))
    for (const [index, level] of everyLevel.entries()) {
      heard.length = 0
      await pair.client.setLoggingLevel(level)
      await pair.client.callTool('shout')
      expect(heard).toEqual(everyLevel.slice(index))
    }
    const sets = requests(pair.transcript, 'logging/setLevel')
    expect(sets).toHaveLength(wire.revision.id === '2026-07-28' ? 0 : 8)
  })

  const listeners: Record<string, (client: Client, hear: (level: string) => void) => void> = {
    'the log event': (client, hear) => client.on('log', ({ level }) => hear(level)),
    'a notification handler': (client, hear) => client.setNotificationHandler(message, ({ level }) => hear(`${level}`)),
  }
  for (const [name, listen] of Object.entries(listeners)) {
    everyWire(`default to info for a client that listens with ${name} and sets no level [LOG-009]`, async (wire) => {
      await using pair = await wire.connect(createServer())
      const heard: string[] = []
      listen(pair.client, (level) => heard.push(level))
      await pair.client.callTool('shout')
      expect(heard).toEqual(everyLevel.slice(1))
    })
  }

  it('are not requested by a client that does not listen, or no longer does [LOG-008]', async () => {
    const levels: unknown[] = []
    await using client = await connect(levelKeeper(levels))
    await client.callTool('look')
    const stop = client.on('log', () => {})
    await client.callTool('look')
    stop()
    await client.callTool('look')
    expect(levels).toEqual([undefined, 'info', undefined])
  })

  it('passed as a client option take precedence over the default for listeners', async () => {
    const levels: unknown[] = []
    await using client = await connect(levelKeeper(levels), { logLevel: 'alert' })
    client.on('log', () => {})
    await client.callTool('look')
    await client.setLoggingLevel('debug')
    await client.callTool('look')
    expect(levels).toEqual(['alert', 'debug'])
  })

  it('are not requested from a server that does not offer logging', async () => {
    const levels: unknown[] = []
    await using client = await connect(levelKeeper(levels, {}))
    client.on('log', () => {})
    await client.callTool('look')
    expect(levels).toEqual([undefined])
  })

  it('are ignored by a server that does not offer logging, whatever the request asks for [LOG-001]', async () => {
    for (const logging of [true, false]) {
      const server = new McpServer(info, { logging })
      server.registerTool('log', {}, (_args, ctx) => {
        ctx.log.error('broken')
        return 'done'
      })
      await using client = await ScriptedClient.connect(server, { revision: '2026-07-28' })
      const _meta = { [metaKeys.logLevel]: 'debug' }
      await client.request('tools/call', { name: 'log', _meta })
      const sent = said(client.transcript, 'server').filter(({ method }) => method === 'notifications/message')
      expect(sent).toHaveLength(logging ? 1 : 0)
    }
  })

  it.each(handshakes)('are set by logging/setLevel, which has an empty result, on %s [LOG-003]', async (revision) => {
    await using client = await script(createServer(), revision)
    for (const level of everyLevel) expect((await ask(client, 'logging/setLevel', { level })).result).toEqual({})
  })

  it.each(handshakes)('that do not exist are rejected on %s [LOG-002, LOG-007]', async (revision) => {
    await using client = await script(createServer(), revision)
    await ask(client, 'logging/setLevel', { level: 'alert' })
    for (const level of ['verbose', 'INFO', '', 3, null, undefined]) {
      expect((await ask(client, 'logging/setLevel', { level })).error?.code).toBe(-32602)
    }
    await ask(client, 'tools/call', { name: 'shout' })
    expect(notes(client.transcript, message).map(({ params }) => params.level)).toEqual(['alert', 'emergency'])
  })

  it.each(handshakes)(
    'that cannot be configured are an internal error without details on %s [LOG-022]',
    async (revision) => {
      const server = createServer()
      server.server.setRequestHandler('logging/setLevel', () => {
        throw new Error('/etc/log.conf is not writable')
      })
      await using client = await script(server, revision)
      const { error } = await ask(client, 'logging/setLevel', { level: 'info' })
      expect([error?.code, error?.message]).toEqual([-32603, 'Internal error'])
    },
  )

  it.each(revisionIds)(
    'that do not exist are rejected by the client, which stays usable, on %s [LOG-002]',
    async (revision) => {
      await using client = await connect(createServer(), { revision })
      const refused = client.setLoggingLevel('verbose' as LoggingLevel)
      await expect(refused).rejects.toMatchObject({ code: 'invalid-argument' })
      expect((await client.callTool('shout')).text).toBe('done')
    },
  )

  it.each(handshakes)('are set per client on %s [LOG-004]', async (revision) => {
    const server = createServer()
    await using one = await script(server, revision)
    await using two = await script(server, revision)
    await ask(one, 'logging/setLevel', { level: 'emergency' })
    await ask(two, 'logging/setLevel', { level: 'alert' })
    await ask(one, 'tools/call', { name: 'shout' })
    await ask(two, 'tools/call', { name: 'shout' })
    expect(notes(one.transcript, message)).toHaveLength(1)
    expect(notes(two.transcript, message)).toHaveLength(2)
  })

  it.each(handshakes)('default to info before the client sets one, on %s [LOG-005]', async (revision) => {
    await using client = await script(createServer(), revision)
    await ask(client, 'tools/call', { name: 'shout' })
    expect(notes(client.transcript, message).map(({ params }) => params.level)).toEqual(everyLevel.slice(1))
  })
})

describe('log messages', () => {
  everyWire('carry a level, data of any type and an optional logger [LOG-006]', async (wire) => {
    const server = new McpServer(info)
    const values = ['text', 7, true, null, [1, [2]], { deep: { list: [null] } }]
    server.registerTool('log', {}, (_args, ctx) => {
      for (const value of values) ctx.log.warning(value)
      ctx.log.error('named', 'db')
      return 'done'
    })
    await using pair = await wire.connect(server, { logLevel: 'debug' })
    await pair.client.callTool('log')
    const sent = notes(pair.transcript, message).map(({ params }) => params)
    expect(sent).toEqual([
      ...values.map((data) => ({ level: 'warning', data })),
      { level: 'error', data: 'named', logger: 'db' },
    ])
  })

  everyWire('always have data, even when a handler logs undefined [LOG-006]', async (wire) => {
    const server = new McpServer(info)
    server.registerTool('log', {}, (_args, ctx) => {
      ctx.log.error(undefined)
      return 'done'
    })
    await using pair = await wire.connect(server, { logLevel: 'debug' })
    await pair.client.callTool('log')
    for (const { params } of notes(pair.transcript, message)) expect(params).toHaveProperty('data')
  })

  it.each(revisionIds)('that cannot be serialized do not break the request on %s', async (revision) => {
    const onError = vi.fn()
    const server = new McpServer(info, { onError })
    const loop: Record<string, unknown> = {}
    loop.loop = loop
    server.registerTool('log', {}, (_args, ctx) => {
      ctx.log.error(loop)
      ctx.log.error(7n)
      ctx.log.error('after')
      return 'done'
    })
    await using client = await connect(server, { revision, logLevel: 'debug' })
    const heard: unknown[] = []
    client.on('log', ({ data }) => heard.push(data))
    expect((await client.callTool('log')).text).toBe('done')
    expect(heard).toEqual(['after'])
    expect(onError).toHaveBeenCalledTimes(2)
  })

  everyWire('are sent before the response of their request and never after it [LOG-009]', async (wire) => {
    const server = new McpServer(info)
    let late: (() => void) | undefined
    server.registerTool('log', {}, (_args, ctx) => {
      ctx.log.error('early')
      late = () => ctx.log.error('late')
      return 'done'
    })
    await using pair = await wire.connect(server, { logLevel: 'debug' })
    await pair.client.callTool('log')
    late!()
    await pair.client.ping()
    expect(notes(pair.transcript, message).map(({ params }) => params.data)).toEqual(['early'])
    const said = pair.transcript.from('server')
    const logged = said.findIndex((each) => 'method' in each && each.method === message)
    expect(JSON.stringify(said[logged + 1])).toContain('done')
  })

  everyWire(
    'are delivered to the application, which can show, filter and store them, with their severity [LOG-014]',
    async (wire) => {
      await using pair = await wire.connect(createServer(), { logLevel: 'alert' })
      const kept: unknown[] = []
      const stop = pair.client.on('log', (entry) => kept.push(entry))
      if (wire.revision.id !== '2026-07-28') await pair.client.setLoggingLevel('alert')
      await pair.client.callTool('shout')
      expect(kept).toMatchObject([
        { level: 'alert', data: 'at alert', logger: 'shouter' },
        { level: 'emergency', data: 'at emergency', logger: 'shouter' },
      ])
      stop()
      await pair.client.callTool('shout')
      expect(kept).toHaveLength(2)
    },
  )

  it.each(revisionIds)('that are malformed are dropped with a warning on %s [LOG-002]', async (revision) => {
    const server = pretend(revision, { logging: {} }, {})
    await using client = await connect(server.transport, { revision })
    const heard: unknown[] = []
    const warnings: string[] = []
    client.on('log', (entry) => heard.push(entry))
    client.on('warning', (warning) => warnings.push(warning.message))
    for (const params of [{ level: 'verbose', data: 1 }, { level: 'info' }, { data: 1 }, {}]) {
      server.say({ jsonrpc: '2.0', method: message, params })
    }
    server.say({ jsonrpc: '2.0', method: message, params: { level: 'info', data: 'fine' } })
    await client.ping()
    expect(heard).toEqual([{ level: 'info', data: 'fine' }])
    expect(warnings).toHaveLength(4)
  })

  everyWire('arrive with the data and the logger name that the handler passed [LOG-017, LOG-018]', async (wire) => {
    const server = new McpServer({ name: 'logs', version: '1.0.0' })
    const data = { order: 7, items: ['a', null, { deep: true }], note: 'ünï' }
    server.registerTool('log', {}, (_, ctx) => {
      ctx.log.warning(data, 'shop.orders')
      ctx.log.info('plain', 'shop.orders')
      return 'done'
    })
    await using pair = await wire.connect(server, { logLevel: 'debug' })
    await pair.client.callTool('log')
    expect(notes(pair.transcript, message).map(({ params }) => params)).toMatchObject([
      { level: 'warning', logger: 'shop.orders', data },
      { level: 'info', logger: 'shop.orders', data: 'plain' },
    ])
  })

  everyWire('of one request are rate limited [LOG-013]', async (wire) => {
    vi.spyOn(console, 'warn').mockImplementation(() => {})
    await using pair = await wire.connect(createServer(), { logLevel: 'debug' })
    await pair.client.callTool('flood', { count: 5_000 })
    const sent = notes(pair.transcript, message)
    expect(sent.length).toBeGreaterThanOrEqual(100)
    expect(sent.length).toBeLessThan(500)
    expect(sent.slice(0, 100).map(({ params }) => params.data)).toEqual(
      Array.from({ length: 100 }, (_, index) => index),
    )
  })

  it.each(handshakes)('outside of a request are rate limited on %s [LOG-013]', async (revision) => {
    vi.spyOn(console, 'warn').mockImplementation(() => {})
    const server = createServer()
    await using client = await script(server, revision)
    await ask(client, 'ping')
    for (let index = 0; index < 5_000; index++) server.sendLoggingMessage({ level: 'error', data: index })
    await ask(client, 'ping')
    const sent = notes(client.transcript, message)
    expect(sent.length).toBeGreaterThan(0)
    expect(sent.length).toBeLessThan(1_000)
  })

  it.each(handshakes)(
    'outside of a request are sent to every session whose level includes them, on %s [LOG-004, LOG-006]',
    async (revision) => {
      const server = createServer()
      await using one = await script(server, revision)
      await using two = await script(server, revision)
      await ask(two, 'logging/setLevel', { level: 'critical' })
      await ask(one, 'ping')
      server.sendLoggingMessage({ level: 'error', logger: 'clock', data: 'late' })
      await ask(one, 'ping')
      await ask(two, 'ping')
      expect(notes(one.transcript, message).map(({ params }) => params)).toEqual([
        { level: 'error', logger: 'clock', data: 'late' },
      ])
      expect(notes(two.transcript, message)).toEqual([])
    },
  )
})

describe('the logging capability', () => {
  everyWire('is declared by a server that may log [LOG-001]', async (wire) => {
    await using pair = await wire.connect(createServer())
    expect(pair.client.getServerCapabilities()?.logging).toEqual({})
  })

  everyWire('is not declared when logging is disabled, and then nothing is logged [LOG-001]', async (wire) => {
    const server = createServer({ logging: false })
    await using pair = await wire.connect(server, { logLevel: 'debug' })
    expect(pair.client.getServerCapabilities()).not.toHaveProperty('logging')
    await pair.client.callTool('shout')
    server.sendLoggingMessage({ level: 'error', data: 'outside' })
    await pair.client.ping()
    expect(notes(pair.transcript, message)).toEqual([])
  })

  it.each(revisionIds)(
    'is required by the low-level server: without it nothing is logged on %s [LOG-001]',
    async (revision) => {
      const server = new Server(info)
      server.setRequestHandler('example/log', (_params, ctx) => {
        ctx.log.error('inside')
        return {}
      })
      await using client = await script(server, revision)
      await ask(client, 'example/log', { _meta: { [metaKeys.logLevel]: 'debug' } })
      server.sendLoggingMessage({ level: 'error', data: 'outside' })
      await ask(client, 'example/log')
      expect(notes(client.transcript, message)).toEqual([])
    },
  )

  it.each(handshakes)('is required for logging/setLevel on %s [LOG-001]', async (revision) => {
    await using client = await script(createServer({ logging: false }), revision)
    expect((await ask(client, 'logging/setLevel', { level: 'info' })).error?.code).toBe(-32601)
  })

  it.each(revisionIds)('is checked by the client before it sends logging/setLevel, on %s', async (revision) => {
    const server = pretend(revision, {}, {})
    await using client = await connect(server.transport, { revision })
    await expect(client.setLoggingLevel('info')).rejects.toMatchObject({ code: 'capability-missing' })
  })
})

describe('logging on 2026-07-28', () => {
  const revision = '2026-07-28'

  it('sends nothing for a request without a log level, whatever other requests ask for [LOG-008]', async () => {
    await using client = await script(createServer(), revision)
    const asking = ask(client, 'tools/call', { name: 'shout', _meta: { [metaKeys.logLevel]: 'emergency' } })
    await Promise.all([asking, ask(client, 'tools/call', { name: 'shout' })])
    await ask(client, 'tools/call', { name: 'shout' })
    expect(notes(client.transcript, message)).toHaveLength(1)
  })

  it('lets a handler detect that the request has no log level [LOG-008]', async () => {
    const server = new McpServer(info)
    server.registerTool('can', {}, (_args, ctx) => String(ctx.can('log')))
    await using client = await script(server, revision)
    const can = async (meta: object) =>
      (await ask(client, 'tools/call', { name: 'can', _meta: meta })).result.content[0].text
    expect(await can({})).toBe('false')
    expect(await can({ [metaKeys.logLevel]: 'info' })).toBe('true')
  })

  it('rejects a level that does not exist [LOG-011]', async () => {
    await using client = await script(createServer(), revision)
    for (const level of ['verbose', 'INFO', '', 3, null]) {
      const { error } = await ask(client, 'tools/call', { name: 'shout', _meta: { [metaKeys.logLevel]: level } })
      expect(error?.code).toBe(-32602)
    }
    expect(notes(client.transcript, message)).toEqual([])
  })

  it('does not have logging/setLevel [LOG-012]', async () => {
    await using client = await script(createServer(), revision)
    expect((await ask(client, 'logging/setLevel', { level: 'info' })).error?.code).toBe(-32601)
  })

  it('never sends log messages on a listen stream [LOG-010]', async () => {
    const server = createServer()
    await using client = await script(server, revision)
    const acknowledged = client.nextNotification('notifications/subscriptions/acknowledged')
    client.say({
      jsonrpc: '2.0',
      id: 'listen',
      method: 'subscriptions/listen',
      params: client.params({ notifications: { toolsListChanged: true }, _meta: { [metaKeys.logLevel]: 'debug' } }),
    })
    await acknowledged
    server.sendLoggingMessage({ level: 'emergency', data: 'outside' })
    await ask(client, 'tools/call', { name: 'shout' })
    await settle(10)
    await ask(client, 'tools/list')
    expect(notes(client.transcript, message)).toEqual([])
  })
})
