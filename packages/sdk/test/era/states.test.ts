import { Client, ClosedError, StdioClientTransport, type Transport } from 'tenon/client'
import { ScriptedServer } from 'tenon/testing'
import { describe, expect, it } from 'vitest'
import { errorOf } from '../kit/error-of.ts'
import { gate } from '../kit/gate.ts'
import { RestartableTransport } from '../kit/restartable-transport.ts'
import { allRevisions, modern } from '../kit/revisions.ts'
import { discovery, scripted, scriptedClient } from '../kit/scripted-server.ts'
import { movableTimers } from '../kit/time.ts'
import { heard, methodsOf } from '../kit/transcript.ts'
import { inMemory, testServer, watchStates } from './support.ts'

const info = { name: 'c', version: '1' }

describe('client states', () => {
  it.each(allRevisions)('changes from idle to connecting, ready and closed, with a reason (%s)', async (revision) => {
    const client = new Client(info, { revision })
    const { changes } = watchStates(client)
    expect(client.state).toBe('idle')
    await client.connect(scripted(revision).transport)
    expect(client.state).toBe('ready')
    await client.close()
    expect(client.state).toBe('closed')
    expect(changes).toEqual([
      { state: 'connecting', previous: 'idle' },
      { state: 'ready', previous: 'connecting' },
      { state: 'closed', previous: 'ready', reason: expect.stringContaining('close()') },
    ])
    await client.close()
    expect(changes).toHaveLength(3)
  })

  it('ends closed with the error when the connection fails', async () => {
    const client = new Client(info, { revision: modern })
    const { changes } = watchStates(client)
    const error = await errorOf(client.connect(scripted('2025-11-25').transport))
    expect(changes).toEqual([
      { state: 'connecting', previous: 'idle' },
      { state: 'closed', previous: 'connecting', reason: expect.any(String), error },
    ])
  })

  it('ends closed when the transport cannot start', async () => {
    const client = new Client(info)
    const { changes } = watchStates(client)
    const failure = new Error('no such port')
    const transport: Transport = {
      start: () => Promise.reject(failure),
      send: () => {},
      close: async () => {},
    }
    expect(await errorOf(client.connect(transport))).toBe(failure)
    expect(changes.at(-1)).toMatchObject({ state: 'closed', error: failure })
    expect(client.state).toBe('closed')
  })

  it('ends closed when a program cannot be started', async () => {
    const client = new Client(info)
    const { changes } = watchStates(client)
    const error = await errorOf(client.connect(new StdioClientTransport({ command: 'no-such-program-here' })))
    expect(error.code).toBe('spawn-failed')
    expect(error.message).toContain('no-such-program-here')
    expect(changes.at(-1)).toMatchObject({ state: 'closed', error })
  })

  it.each(allRevisions)(
    'closes with a reason when the server disconnects, and rejects pending calls (%s)',
    async (revision) => {
      const server = scripted(revision, { 'tools/call': () => undefined })
      const client = new Client(info, { revision })
      const { reached } = watchStates(client)
      await client.connect(server.transport)
      const call = errorOf<ClosedError>(client.callTool('x'))
      await heard(server.transcript, 'client', 'tools/call')
      await server.close()
      expect(await reached('closed')).toMatchObject({ previous: 'ready', reason: 'The server closed the connection' })
      expect(await call).toBeInstanceOf(ClosedError)
      const later = await errorOf(client.callTool('x'))
      expect(later.code).toBe('not-connected')
      expect(later.message).toContain('closed')
      expect(() => client.server).toThrow()
      expect(client.getServerCapabilities()).toBeUndefined()
    },
  )

  it('rejects calls on a client that is not connected', async () => {
    const client = new Client(info)
    expect((await errorOf(client.callTool('x'))).message).toContain('connect()')
    expect((await errorOf(client.request('tools/list'))).code).toBe('not-connected')
    expect((await errorOf(client.listen({ toolsListChanged: true }))).code).toBe('not-connected')
  })

  it('refuses a second connect without side effects', async () => {
    const client = await scriptedClient(scripted(modern))
    const error = await errorOf(client.connect(scripted(modern).transport))
    expect(error.code).toBe('invalid-argument')
    expect(client.state).toBe('ready')
    await client.close()
  })

  it('notifies every listener, also after one throws, until it unsubscribes', async () => {
    const client = new Client(info)
    const heardStates: string[] = []
    const { error } = console
    console.error = () => {}
    client.on('state', () => {
      throw new Error('bad listener')
    })
    const stop = client.on('state', ({ state }) => heardStates.push(state))
    await client.connect(scripted(modern).transport)
    stop()
    await client.close()
    console.error = error
    expect(heardStates).toEqual(['connecting', 'ready'])
  })
})

describe('closing while connecting', () => {
  it('rejects connect() and stays closed', async () => {
    const server = new ScriptedServer({ '*': () => undefined })
    const client = new Client(info)
    const { changes } = watchStates(client)
    const connecting = errorOf(client.connect(server.transport))
    await heard(server.transcript, 'client', 'server/discover')
    await client.close()
    expect((await connecting).code).toBe('closed')
    expect(changes.map(({ state }) => state)).toEqual(['connecting', 'closed'])
    expect(client.state).toBe('closed')
  })

  it('does not restart the server process', async () => {
    const servers: ScriptedServer[] = []
    const transport = new RestartableTransport((start) => {
      // The first start never answers; a second one would succeed.
      const server = start === 1 ? new ScriptedServer({ '*': () => undefined }) : scripted('2025-11-25')
      servers.push(server)
      return server.transport
    })
    const client = new Client(info)
    const { changes } = watchStates(client)
    const connecting = client.connect(transport).then(
      () => 'connected',
      (error: { code: string }) => error.code,
    )
    await new Promise((resolve) => setTimeout(resolve, 5))
    await heard(servers[0]!.transcript, 'client', 'server/discover')
    await client.close()
    expect(await connecting).toBe('closed')
    expect(transport.starts).toBe(1)
    expect(changes.map(({ state }) => state)).toEqual(['connecting', 'closed'])
    expect(client.state).toBe('closed')
  })
})

describe('restartable servers', () => {
  /** Creates a transport that starts a new server each time; `kill` ends the latest. */
  function restartable(make = () => testServer().server) {
    const inner: Transport[] = []
    const transport = new RestartableTransport(async () => {
      const made = await inMemory(make())
      inner.push(made)
      return made
    })
    return { transport, kill: () => inner.at(-1)!.close() }
  }

  it.each(allRevisions)('restarts a server that ended by itself: reconnecting, then ready (%s)', async (revision) => {
    const { transport, kill } = restartable()
    const client = new Client(info, { revision })
    const { changes, reached } = watchStates(client)
    await client.connect(transport)
    await kill()
    await reached('ready', 2)
    expect(changes.map(({ state, previous }) => [previous, state])).toEqual([
      ['idle', 'connecting'],
      ['connecting', 'ready'],
      ['ready', 'reconnecting'],
      ['reconnecting', 'ready'],
    ])
    expect(changes[2]?.reason).toBe('The server closed the connection')
    expect((await client.callTool('echo', { text: 'back' })).text).toBe('back')
    expect(client.revision).toBe(revision)
    await client.close()
  })

  it('delivers calls made during a restart', async () => {
    const { transport, kill } = restartable()
    const client = new Client(info)
    const { reached } = watchStates(client)
    await client.connect(transport)
    await kill()
    await reached('reconnecting')
    const call = client.callTool('echo', { text: 'patient' })
    const list = client.listTools()
    const any = client.request('tools/list')
    expect(client.state).toBe('reconnecting')
    expect((await call).text).toBe('patient')
    expect((await list).tools).toHaveLength(3)
    expect((await any).tools).toHaveLength(3)
    await client.close()
  })

  it.each(allRevisions)('delivers a ping and a log level requested during a restart (%s)', async (revision) => {
    const { transport, kill } = restartable()
    const client = new Client(info, { revision })
    const { reached } = watchStates(client)
    await client.connect(transport)
    await kill()
    await reached('reconnecting')
    await Promise.all([client.ping(), client.setLoggingLevel('error')])
    expect(client.state).toBe('ready')
    await client.close()
  })

  it('rejects calls that were in flight when the server ended', async () => {
    const { server, started } = testServer()
    const { transport, kill } = restartable(() => server)
    const client = new Client(info)
    await client.connect(transport)
    const call = errorOf(client.callTool('wait'))
    await started
    await kill()
    expect((await call).code).toBe('closed')
    await client.close()
  })

  it('does not restart when restarts are disabled', async () => {
    const { transport, kill } = restartable()
    const client = new Client(info, { restarts: 0 })
    const { reached } = watchStates(client)
    await client.connect(transport)
    await kill()
    expect(await reached('closed')).toMatchObject({ previous: 'ready', reason: 'The server closed the connection' })
    expect(transport.starts).toBe(1)
  })

  it('gives up after the maximum number of restarts and reports it', async () => {
    const { transport, kill } = restartable()
    const client = new Client(info, { restarts: 2 })
    const { reached } = watchStates(client)
    await client.connect(transport)
    await kill()
    await reached('ready', 2)
    await kill()
    await reached('ready', 3)
    await kill()
    const end = await reached('closed')
    expect(end.reason).toEqual(expect.any(String))
    expect(transport.starts).toBe(3)
    expect((await errorOf(client.callTool('echo', { text: 'x' }))).code).toBe('not-connected')
  })

  it('ends closed with the error when a restart fails, and rejects waiting calls', async () => {
    const failure = new Error('gone')
    let first: Transport | undefined
    const transport = new RestartableTransport(async (start) => {
      if (start > 1) throw failure
      first = await inMemory(testServer().server)
      return first
    })
    const client = new Client(info, { restarts: 2 })
    const { reached } = watchStates(client)
    await client.connect(transport)
    await first!.close()
    await reached('reconnecting')
    const call = errorOf(client.callTool('echo', { text: 'x' }))
    expect(await reached('closed')).toMatchObject({ previous: 'reconnecting', error: failure })
    expect(await call).toBe(failure)
  })

  it('stops waiting for a restart when closed', async () => {
    using time = movableTimers()
    const { transport, kill } = restartable()
    const client = new Client(info)
    const { changes, reached } = watchStates(client)
    await client.connect(transport)
    await kill()
    await reached('reconnecting')
    await client.close()
    // Longer than the first delay before a restart.
    await time.advance(400)
    expect(transport.starts).toBe(1)
    expect(changes.at(-1)?.state).toBe('closed')
    expect(client.state).toBe('closed')
  })

  it('does not leave a server running when closed during the handshake of a restart', async () => {
    const second = gate()
    let closes = 0
    const silent = new ScriptedServer({ '*': () => undefined })
    let first: Transport | undefined
    const transport = new RestartableTransport(async (start) => {
      if (start === 1) {
        first = await inMemory(testServer().server)
        return first
      }
      const made = start === 2 ? silent.transport : scripted('2025-11-25').transport
      const { close } = made
      made.close = () => {
        closes++
        return close.call(made)
      }
      second.open()
      return made
    })
    const client = new Client(info)
    const { changes } = watchStates(client)
    await client.connect(transport)
    await first!.close()
    await second.opened
    await heard(silent.transcript, 'client', 'server/discover')
    await client.close()
    await new Promise((resolve) => setTimeout(resolve, 20))
    expect(transport.starts).toBe(2)
    expect(closes).toBe(1)
    expect(changes.at(-1)?.state).toBe('closed')
    expect(client.state).toBe('closed')
  })

  it('restarts a server that died of the probe and uses the handshake', async () => {
    const servers: ScriptedServer[] = []
    const transport = new RestartableTransport((start) => {
      const server: ScriptedServer = scripted('2025-06-18', {
        'server/discover': () => {
          void server.close()
          return undefined
        },
      })
      servers.push(server)
      expect(start).toBeLessThan(3)
      return server.transport
    })
    const client = new Client(info)
    const { changes } = watchStates(client)
    await client.connect(transport)
    expect(client.revision).toBe('2025-06-18')
    expect(servers.map(({ transcript }) => methodsOf(transcript, 'client'))).toEqual([
      ['server/discover'],
      ['initialize', 'notifications/initialized'],
    ])
    expect(changes.map(({ state }) => state)).toEqual(['connecting', 'ready'])
    await client.close()
  })

  it('forgets facts and caches of the old server after a restart', async () => {
    let lists = 0
    let first: ScriptedServer | undefined
    const transport = new RestartableTransport((start) => {
      const name = `server ${start}`
      const server = scripted(modern, {
        'server/discover': () => ({ result: { ...discovery([modern]), instructions: name } }),
        'tools/list': () => {
          lists++
          const tools = [{ name, inputSchema: { type: 'object' } }]
          return { result: { resultType: 'complete', tools, ttlMs: 60_000, cacheScope: 'private' } }
        },
      })
      first ??= server
      return server.transport
    })
    const client = new Client(info)
    const { reached } = watchStates(client)
    await client.connect(transport)
    await client.listTools()
    expect((await client.listTools()).tools[0]?.name).toBe('server 1')
    expect(lists).toBe(1)
    await first!.close()
    await reached('ready', 2)
    expect(client.getInstructions()).toBe('server 2')
    expect((await client.listTools()).tools[0]?.name).toBe('server 2')
    await client.close()
  })
})

describe('a server process that dies', () => {
  const script = `
    let text = ''
    process.stdin.setEncoding('utf8').on('end', () => process.exit(0)).on('data', (chunk) => {
      text += chunk
      for (let end; (end = text.indexOf('\\n')) >= 0; text = text.slice(end + 1)) {
        const { id, method } = JSON.parse(text.slice(0, end))
        if (method === 'tools/call') { process.stderr.write('out of memory'); process.exitCode = 3; process.stdin.destroy(); continue }
        if (id === undefined) continue
        const result = { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: { name: 'p', version: '1' } }
        const body = method === 'initialize' ? { result } : method === 'ping' ? { result: {} } : { error: { code: -32601, message: '?' } }
        process.stdout.write(JSON.stringify({ jsonrpc: '2.0', id, ...body }) + '\\n')
      }
    })`

  it('reports exit code and stderr, and restarts the process', async () => {
    const transport = new StdioClientTransport({ command: process.execPath, args: ['-e', script] })
    const client = new Client(info)
    const { reached } = watchStates(client)
    await client.connect(transport)
    const before = transport.pid
    const error = await errorOf<ClosedError>(client.callTool('die'))
    expect(error.code).toBe('closed')
    expect(error.detail).toMatchObject({ exitCode: 3, stderr: 'out of memory' })
    expect(error.message).toContain('out of memory')
    expect((await reached('reconnecting')).reason).toContain('3')
    await reached('ready', 2)
    await client.ping()
    expect(transport.pid).not.toBe(before)
    await client.close()
  })
})
