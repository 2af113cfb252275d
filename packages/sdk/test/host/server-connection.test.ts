import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import type { Client } from '../../src/client/client.ts'
import type { ClientOptions } from '../../src/client/options.ts'
import { connect } from '../../src/connect/connect.ts'
import { DeniedError, McpError, PeerError, UrlElicitationRequiredError } from '../../src/errors.ts'
import { ServerConnection, type ServerConnectionOptions } from '../../src/host/server-connection.ts'
import { createUpdateBudget } from '../../src/host/update-queue.ts'
import { McpServer } from '../../src/server/mcp-server.ts'
import { deferred } from '../../src/util/deferred.ts'
import { random } from '../../src/util/random.ts'
import { serverWith } from './support.ts'

beforeEach(() => {
  vi.useFakeTimers()
})

afterEach(() => {
  vi.useRealTimers()
})

type Given = Partial<ServerConnectionOptions> & { readonly mcp?: McpServer }

/** A connection to a server in this process, with everything that it reports. */
function connectionTo({ mcp = serverWith('read'), ...given }: Given = {}) {
  const states: string[] = []
  const errors: unknown[] = []
  const counts = { opened: 0, changed: 0 }
  const clients: Client[] = []
  const open = async (client: ClientOptions, signal: AbortSignal) => {
    counts.opened++
    const opened = await connect(mcp, { ...client, signal })
    clients.push(opened)
    return opened
  }
  const connection = new ServerConnection({
    server: { id: 'files', trust: 'untrusted', address: 'in this process' },
    config: { server: mcp },
    client: {},
    maxDefinitionBytes: 100_000,
    open,
    approveDefinitions: async () => {},
    onState: (state) => void states.push(state),
    onDefinitions: () => void counts.changed++,
    onError: (error) => void errors.push(error),
    updateBudget: createUpdateBudget(),
    cleanLog: (value) => value,
    onFlood: () => {},
    ...given,
  })
  return { connection, states, errors, counts, clients, mcp }
}

const names = async (client: Client) => client.server.info?.name
const failing = (error: unknown) => ({ open: () => Promise.reject(error) })
const messageOf = (promise: Promise<unknown>) => promise.then(String, (error: Error) => error.message)

describe('the connection to a server', () => {
  it('opens with the first call, once for several, and closes when it is idle', async () => {
    const mcp = serverWith('read')
    const idle = connectionTo({ mcp, config: { server: mcp, idleMs: 5_000 } })
    expect(idle.connection.state).toBe('idle')
    expect(idle.counts.opened).toBe(0)
    expect(await Promise.all([idle.connection.use(names), idle.connection.use(names)])).toHaveLength(2)
    expect(idle.counts.opened).toBe(1)
    await vi.advanceTimersByTimeAsync(4_900)
    expect(idle.connection.state).toBe('ready')
    // A call begins the time again.
    await idle.connection.use(names)
    await vi.advanceTimersByTimeAsync(4_900)
    expect(idle.connection.state).toBe('ready')
    await vi.advanceTimersByTimeAsync(200)
    expect(idle.states).toEqual(['connecting', 'ready', 'idle'])
    expect(idle.connection.client).toBeUndefined()
    expect(idle.connection.definitions?.tools).toHaveLength(1)
    await idle.connection.use(names)
    expect(idle.counts.opened).toBe(2)
    await idle.connection.close()
  })

  it('stays open during a call, without an idle time, and closes after five minutes by default', async () => {
    const { connection } = connectionTo()
    const done = deferred<void>()
    const call = connection.use(() => done.promise)
    await vi.advanceTimersByTimeAsync(600_000)
    expect(connection.state).toBe('ready')
    done.resolve()
    await call
    await vi.advanceTimersByTimeAsync(299_000)
    expect(connection.state).toBe('ready')
    await vi.advanceTimersByTimeAsync(2_000)
    expect(connection.state).toBe('idle')
    const server = serverWith('read')
    const lasting = connectionTo({ mcp: server, config: { server, idleMs: Number.POSITIVE_INFINITY } })
    await lasting.connection.use(names)
    await vi.advanceTimersByTimeAsync(10_000_000)
    expect(lasting.connection.state).toBe('ready')
    await lasting.connection.close()
  })

  it('is not opened for a server that is disabled, or after the host was closed', async () => {
    const server = serverWith('read')
    const { connection, counts, states } = connectionTo({ config: { server, disabled: true } })
    expect(await messageOf(connection.use(names))).toBe('Server "files" is disabled in the configuration')
    await connection.disconnect()
    expect([connection.state, states]).toEqual(['disabled', []])
    connection.adopt({ tools: [], prompts: [], resourceTemplates: [], resources: [], instructions: undefined })
    expect(connection.definitions).toBeUndefined()
    const closed = connectionTo()
    await closed.connection.close()
    expect(await messageOf(closed.connection.use(names))).toBe('Server "files": The host is closed')
    expect(counts.opened + closed.counts.opened).toBe(0)
  })

  it('is closed if the host closes while it opens, and that is not a failure of the server', async () => {
    const opening = deferred<void>()
    let opened: Client | undefined
    const { connection, states } = connectionTo({
      open: async (client) => {
        await opening.promise
        opened = await connect(serverWith('read'), client)
        return opened
      },
    })
    const call = messageOf(connection.use(names))
    const closing = connection.close()
    opening.resolve()
    await closing
    expect(await call).toBe('Server "files": The host is closed')
    expect(opened?.state).toBe('closed')
    expect(states).toEqual(['connecting', 'idle'])
  })

  it('leaves a server alone after a failure, twice as long each time', async () => {
    let opened = 0
    const { connection, states } = connectionTo({
      open: () => {
        opened++
        return Promise.reject(new McpError('timeout', 'no answer'))
      },
    })
    const expected = 'Server "files": no answer'
    expect(await messageOf(connection.use(names))).toBe(expected)
    expect(await messageOf(connection.use(names))).toBe(expected)
    expect(opened).toBe(1)
    expect(connection.error).toBeInstanceOf(McpError)
    // The delay is a part of its maximum, which doubles: here nearly all of it.
    const part = vi.spyOn(random, 'fraction').mockReturnValue(0.999)
    onTestFinished(() => part.mockRestore())
    await vi.advanceTimersByTimeAsync(1_000)
    await connection.use(names).catch(() => {})
    expect(opened).toBe(2)
    for (const [ms, expected] of [
      [1_900, 2],
      [200, 3],
      [3_900, 3],
      [200, 4],
    ] as const) {
      await vi.advanceTimersByTimeAsync(ms)
      await connection.use(names).catch(() => {})
      expect(opened).toBe(expected)
    }
    expect(states.slice(0, 4)).toEqual(['connecting', 'failed', 'connecting', 'failed'])
    const before = opened
    await connection.retry().catch(() => {})
    expect(opened).toBe(before + 1)
    // The time begins from the start after the connection was closed on purpose.
    await connection.disconnect()
    expect(connection.state).toBe('idle')
    await connection.use(names).catch(() => {})
    expect(opened).toBe(before + 2)
  })

  it('is tried again at once if only a login was missing', async () => {
    const login = new UrlElicitationRequiredError([{ message: 'Log in', url: 'https://login.example/' }])
    let opened = 0
    const { connection } = connectionTo({
      open: () => {
        opened++
        return Promise.reject(new Error('failed', { cause: new Error('because', { cause: login }) }))
      },
    })
    await expect(connection.use(names)).rejects.toBe(login)
    await expect(connection.use(names)).rejects.toBe(login)
    expect(opened).toBe(2)
    expect(connection.state).toBe('failed')
    let deep: Error = login
    for (let depth = 0; depth < 10; depth++) deep = new Error('wrapped', { cause: deep })
    await expect(connectionTo(failing(deep)).connection.use(names)).rejects.toBe(deep)
  })

  it('names the server in errors once, and leaves errors of the server and denials alone [HOST-036]', async () => {
    const { connection } = connectionTo()
    const thrown = async (error: unknown) => messageOf(connection.use(() => Promise.reject(error)))
    expect(await thrown(new McpError('timeout', 'late'))).toBe('Server "files": late')
    expect(await thrown(new McpError('timeout', 'Server "files": late'))).toBe('Server "files": late')
    expect(await thrown(new PeerError(-1, 'own words', undefined))).toBe('own words')
    expect(await thrown(new DeniedError('denied'))).toBe('denied')
    expect(await thrown(new Error('plain'))).toBe('plain')
    await connection.close()
  })

  it('cancels a call that waits for it', async () => {
    const { connection } = connectionTo({ open: () => new Promise(() => {}) })
    const stop = new AbortController()
    const call = connection.use(names, stop.signal)
    stop.abort('enough')
    await expect(call).rejects.toMatchObject({
      code: 'cancelled',
      cause: 'enough',
      message: 'Server "files": The call was cancelled while it waited for the connection',
    })
  })

  it('reports that it was lost, and opens again with a later call', async () => {
    const { connection, states, clients, counts } = connectionTo()
    await connection.use(names)
    await clients[0]?.close()
    expect(states).toEqual(['connecting', 'ready', 'failed'])
    expect(await messageOf(connection.use(names))).toBe('Server "files": the connection was lost')
    await vi.advanceTimersByTimeAsync(1_100)
    await connection.use(names)
    expect(counts.opened).toBe(2)
    // The end of an earlier connection says nothing about this one.
    await connection.disconnect()
    expect(states.at(-1)).toBe('idle')
  })

  it('fails if it was lost while the user thought about the definitions', async () => {
    const asked = deferred<void>()
    const thinking = deferred<void>()
    const { connection, clients } = connectionTo({
      approveDefinitions: () => {
        asked.resolve()
        return thinking.promise
      },
    })
    const call = messageOf(connection.use(names))
    await asked.promise
    await clients[0]?.close()
    thinking.resolve()
    expect(await call).toBe('Server "files": the connection was lost')
    expect(connection.state).toBe('failed')
  })
})

describe('the definitions of a server', () => {
  const denied = new DeniedError('the user said no')

  it('hold the server back until the user approves them [HOST-018]', async () => {
    let isAllowed = false
    const { connection, counts, states } = connectionTo({
      approveDefinitions: async () => {
        if (!isAllowed) throw denied
      },
    })
    const held = 'Server "files" is not used until its definitions are approved: the user said no'
    expect(await messageOf(connection.use(names))).toBe(held)
    expect(await messageOf(connection.use(names))).toBe(held)
    expect([connection.state, connection.error, connection.definitions]).toEqual(['held', denied, undefined])
    expect(connection.hasResources).toBe(false)
    expect(counts).toEqual({ opened: 1, changed: 0 })
    isAllowed = true
    await connection.retry()
    expect(states).toEqual(['connecting', 'held', 'idle', 'connecting', 'ready'])
    expect(connection.definitions?.tools.map(({ name }) => name)).toEqual(['read'])
    await connection.close()
  })

  it('are read again when the server says that they changed, and held if the user denies them [HOST-018]', async () => {
    let asked = 0
    let isAllowed = true
    const { connection, mcp, states, errors, counts } = connectionTo({
      approveDefinitions: async () => {
        asked++
        if (!isAllowed) throw denied
      },
    })
    await connection.use(names)
    const [tool] = connection.definitions!.tools
    mcp.registerTool('write', {}, () => 'written')
    await vi.advanceTimersByTimeAsync(50)
    expect(connection.definitions?.tools).toHaveLength(2)
    expect([asked, counts.changed]).toEqual([2, 2])
    expect(await connection.stillHas(tool!)).toBe(true)
    expect(await connection.stillHas({ ...tool!, description: 'another' })).toBe(false)
    expect(await connection.stillHas({ ...tool!, name: 'other' })).toBe(false)
    isAllowed = false
    mcp.registerTool('delete', {}, () => 'deleted')
    await vi.advanceTimersByTimeAsync(50)
    expect(connection.state).toBe('held')
    expect(await connection.stillHas(tool!)).toBe(false)
    expect(errors).toHaveLength(1)
    expect(counts.changed).toBe(3)
    // Asking again is up to the user.
    mcp.registerTool('more', {}, () => 'more')
    await vi.advanceTimersByTimeAsync(50)
    expect(asked).toBe(3)
    isAllowed = true
    await connection.retry()
    expect(states.slice(-4)).toEqual(['held', 'idle', 'connecting', 'ready'])
    expect(connection.definitions?.tools).toHaveLength(4)
    await connection.close()
  })

  it('are approved again without the user if the failure passes', async () => {
    let isBroken = false
    const { connection, states, errors } = connectionTo({
      approveDefinitions: async () => {
        if (isBroken) throw new Error('the store is broken')
      },
    })
    await connection.use(names)
    isBroken = true
    connection.check()
    const waiting = messageOf(connection.use(names))
    await vi.advanceTimersByTimeAsync(50)
    expect(await waiting).toContain('not used until its definitions are approved: the store is broken')
    isBroken = false
    connection.check()
    await vi.advanceTimersByTimeAsync(50)
    expect(states).toEqual(['connecting', 'ready', 'held', 'ready'])
    expect(errors).toHaveLength(1)
    await connection.close()
  })

  it('that the user approves are used, even if the connection was lost meanwhile', async () => {
    const asked = deferred<void>()
    const thinking = deferred<void>()
    let count = 0
    const { connection, clients, mcp, errors } = connectionTo({
      approveDefinitions: async () => {
        if (++count !== 2) return
        asked.resolve()
        await thinking.promise
      },
    })
    await connection.use(names)
    mcp.registerTool('write', {}, () => 'written')
    await vi.advanceTimersByTimeAsync(50)
    await asked.promise
    await clients[0]?.close()
    thinking.resolve()
    await vi.advanceTimersByTimeAsync(2_000)
    expect([connection.state, errors]).toEqual(['failed', []])
    expect(connection.definitions?.tools).toHaveLength(2)
    await connection.use(names)
    await connection.close()
  })

  it('are checked together if changes follow each other quickly, and late after ten [HOST-025]', async () => {
    let asked = 0
    const { connection } = connectionTo({ approveDefinitions: async () => void asked++ })
    await connection.use(names)
    for (let count = 0; count < 5; count++) connection.check()
    await vi.advanceTimersByTimeAsync(50)
    expect(asked).toBe(2)
    for (let count = 0; count < 9; count++) {
      connection.check()
      await vi.advanceTimersByTimeAsync(50)
    }
    expect(asked).toBe(11)
    connection.check()
    await vi.advanceTimersByTimeAsync(1_000)
    expect(asked).toBe(11)
    await vi.advanceTimersByTimeAsync(1_500)
    expect(asked).toBe(12)
    connection.check()
    await connection.close()
    await vi.advanceTimersByTimeAsync(5_000)
    expect(asked).toBe(12)
  })

  it('are adopted from another connection only while there are none', async () => {
    const { connection, counts } = connectionTo()
    const adopted = { tools: [], prompts: [], resourceTemplates: [], resources: [], instructions: 'first' }
    connection.adopt(adopted)
    connection.adopt({ ...adopted, instructions: 'second' })
    expect(connection.definitions?.instructions).toBe('first')
    expect(counts.changed).toBe(1)
  })

  it('are too large beyond the limit, and only the configured tools count', async () => {
    const small = connectionTo({ maxDefinitionBytes: 50 })
    expect(await messageOf(small.connection.use(names))).toContain('larger than 50 bytes (maxDefinitionBytes)')
    const server = serverWith('read', 'read_all', 'write')
    const { connection } = connectionTo({ mcp: server, config: { server, tools: ['read*'] } })
    await connection.use(names)
    expect(connection.definitions?.tools.map(({ name }) => name)).toEqual(['read', 'read_all'])
    await connection.close()
  })

  it('are waited for by lists once, and again after a retry [HOST-015]', async () => {
    const { connection } = connectionTo()
    expect(connection.patienceMs(1_000)).toBe(1_000)
    await vi.advanceTimersByTimeAsync(400)
    expect(Math.round(connection.patienceMs(1_000))).toBe(600)
    await vi.advanceTimersByTimeAsync(4_000)
    expect(connection.patienceMs(1_000)).toBe(0)
    await connection.retry()
    expect(connection.patienceMs(1_000)).toBe(1_000)
    await connection.close()
  })
})

describe('what a connection knows about its server', () => {
  it.each([
    ['2025-11-25', false],
    ['2026-07-28', true],
  ] as const)(
    'is whether each request stands alone (%s: %s), and whether it has resources',
    async (revision, alone) => {
      const mcp = new McpServer({ name: 'x', version: '1' }, { revisions: [revision] })
      const { connection } = connectionTo({ mcp })
      expect([connection.isStateless, connection.hasResources]).toEqual([false, false])
      await connection.use(names)
      expect([connection.isStateless, connection.hasResources, connection.hasTaskExtension]).toEqual([
        alone,
        false,
        false,
      ])
      await connection.close()
      mcp.registerResource('a', 'x://a', {}, () => 'a')
      const other = connectionTo({ mcp })
      await other.connection.use(names)
      expect(other.connection.hasResources).toBe(true)
      await other.connection.close()
    },
  )

  it('includes the log level, which is set for later connections and only ever lowered by calls', async () => {
    const mcp = new McpServer({ name: 'x', version: '1' }, { revisions: ['2025-11-25'] })
    const levels: unknown[] = []
    const { connection } = connectionTo({
      mcp,
      open: async (options) => {
        const client = await connect(mcp, options)
        const set = client.setLoggingLevel.bind(client)
        vi.spyOn(client, 'setLoggingLevel').mockImplementation((level, ...others) => {
          levels.push(level)
          return set(level, ...others)
        })
        return client
      },
    })
    connection.setLogLevel('warning')
    await connection.use(async (client) => {
      await vi.advanceTimersByTimeAsync(10)
      expect(levels).toEqual(['warning'])
      await connection.lowerLogLevel(client, 'error')
      await connection.lowerLogLevel(client, 'warning')
      expect(levels).toEqual(['warning'])
      await connection.lowerLogLevel(client, 'debug')
      expect(levels).toEqual(['warning', 'debug'])
      connection.setLogLevel('error')
      await vi.advanceTimersByTimeAsync(10)
      expect(levels).toEqual(['warning', 'debug', 'error'])
    })
    await connection.close()
    expect(levels).toHaveLength(3)
  })
})
