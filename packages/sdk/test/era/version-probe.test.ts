import { metaKeys } from 'tenon'
import { Client, connect, type Transport } from 'tenon/client'
import { InMemoryTransport, type ScriptedAnswer, ScriptedServer } from 'tenon/testing'
import { describe, expect, it } from 'vitest'
import { errorOf } from '../kit/error-of.ts'
import { RestartableTransport } from '../kit/restartable-transport.ts'
import { modern } from '../kit/revisions.ts'
import { discovery, initialized, scripted, scriptedClient } from '../kit/scripted-server.ts'
import { heard, methodsOf, said } from '../kit/transcript.ts'
import { testServer } from './support.ts'

describe('the version probe', () => {
  const slow = { probeTimeoutMs: 15, connectTimeoutMs: 3_000 }

  it('sends server/discover with the newest version first [VER-015]', async () => {
    const server = scripted(modern)
    const client = await scriptedClient(server)
    const [first] = said(server.transcript, 'client')
    expect(first).toMatchObject({
      method: 'server/discover',
      params: { _meta: { [metaKeys.protocolVersion]: modern } },
    })
    expect(methodsOf(server.transcript, 'client')).toEqual(['server/discover'])
    await client.close()
  })

  it('stays stateless and takes the common version when discovery succeeds [VER-016]', async () => {
    const server = scripted(modern, {
      'server/discover': () => ({ result: discovery(['2031-01-01', modern, '2025-11-25']) }),
      'tools/list': () => ({ result: { resultType: 'complete', tools: [] } }),
    })
    const client = await scriptedClient(server)
    await client.listTools()
    expect(client.revision).toBe(modern)
    expect(methodsOf(server.transcript, 'client')).toEqual(['server/discover', 'tools/list'])
    expect(said(server.transcript, 'client', 'tools/list')[0]?.params?._meta?.[metaKeys.protocolVersion]).toBe(modern)
    await client.close()
  })

  it('takes the newest version when discovery lists only handshake versions [VER-016, DISC-008]', async () => {
    const server = scripted('2025-06-18', {
      'server/discover': () => ({ result: discovery(['2031-01-01', '2025-06-18', '2024-11-05']) }),
    })
    const client = await scriptedClient(server)
    expect(client.revision).toBe('2025-06-18')
    expect(said(server.transcript, 'client', 'initialize')[0]?.params?.protocolVersion).toBe('2025-06-18')
    await client.close()
  })

  it('uses a listed common version after -32022 [VER-012, VER-017]', async () => {
    const server = scripted('2025-03-26', {
      'server/discover': () => ({
        error: {
          code: -32022,
          message: 'Unsupported',
          data: { supported: ['2031-01-01', '2025-03-26'], requested: modern },
        },
      }),
    })
    const client = await scriptedClient(server)
    expect(client.revision).toBe('2025-03-26')
    expect(said(server.transcript, 'client', 'initialize').map(({ params }) => params?.protocolVersion)).toEqual([
      '2025-03-26',
    ])
    await client.close()
  })

  it('retries once without a handshake when -32022 lists the requested version [VER-012, VER-017]', async () => {
    let asked = 0
    const server = scripted(modern, {
      'server/discover': () =>
        asked++ === 0
          ? { error: { code: -32022, message: 'Not yet', data: { supported: [modern], requested: modern } } }
          : { result: discovery([modern]) },
    })
    const client = await scriptedClient(server)
    expect(client.revision).toBe(modern)
    expect(methodsOf(server.transcript, 'client')).toEqual(['server/discover', 'server/discover'])
    await client.close()
  })

  it('fails instead of retrying -32022 forever [VER-012]', async () => {
    const server = scripted(modern, {
      'server/discover': () => ({
        error: { code: -32022, message: 'Never', data: { supported: [modern], requested: modern } },
      }),
    })
    const error = await errorOf(scriptedClient(server))
    expect(error).toBeInstanceOf(Error)
    expect(methodsOf(server.transcript, 'client').length).toBeLessThan(5)
    expect(methodsOf(server.transcript, 'client')).not.toContain('initialize')
  })

  it.each([
    ['strangers', ['2031-01-01', '2032-01-01']],
    ['nothing', []],
    ['no versions at all', [5, null, {}]],
  ])('fails without a handshake when -32022 lists %s [VER-012, VER-017]', async (_, supported) => {
    const server = scripted('2025-11-25', {
      'server/discover': () => ({ error: { code: -32022, message: 'No', data: { supported, requested: modern } } }),
    })
    const error = await errorOf(scriptedClient(server))
    expect(error.code).toBe('no-common-revision')
    expect(error.message).toContain(modern)
    expect(methodsOf(server.transcript, 'client')).toEqual(['server/discover'])
  })

  it.each([
    ['-32022 without data', { code: -32022, message: 'Unsupported protocol version' }],
    ['-32022 with data that is no list', { code: -32022, message: 'No', data: { supported: '2031-01-01' } }],
    ['-32021', { code: -32021, message: 'Missing', data: { requiredCapabilities: { sampling: {} } } }],
    ['-32020', { code: -32020, message: 'Header mismatch' }],
  ])('does not fall back to a handshake after %s, which only stateless servers send [VER-017]', async (_, error) => {
    const server = scripted('2025-11-25', { 'server/discover': () => ({ error }) })
    await errorOf(scriptedClient(server))
    expect(methodsOf(server.transcript, 'client')).toEqual(['server/discover'])
  })

  it.each([
    -32700, -32600, -32601, -32602, -32603, -32000, -32001, -32002, -32042, -32099, -1, 0, 1, 400, 404, 2_147_483_647,
  ])('falls back to initialize after error %i [VER-018, VER-019]', async (code) => {
    const server = scripted('2025-06-18', { 'server/discover': () => ({ error: { code, message: 'odd' } }) })
    const client = await scriptedClient(server)
    expect(client.revision).toBe('2025-06-18')
    expect(methodsOf(server.transcript, 'client')).toEqual([
      'server/discover',
      'initialize',
      'notifications/initialized',
    ])
    await client.close()
  })

  it.each([
    ['empty', {}],
    ['of another shape', { protocolVersion: '2025-06-18', capabilities: {} }],
    ['with versions that are no list', { supportedVersions: modern, capabilities: {} }],
  ])('falls back to initialize after a result that is %s [VER-018]', async (_, result) => {
    const server = scripted('2025-06-18', { 'server/discover': () => ({ result }) })
    const client = await scriptedClient(server)
    expect(client.revision).toBe('2025-06-18')
    await client.close()
  })

  it('falls back to initialize when the probe times out [VER-018]', async () => {
    const server = scripted('2024-11-05', { 'server/discover': () => undefined })
    const client = await scriptedClient(server, slow)
    expect(client.revision).toBe('2024-11-05')
    expect(methodsOf(server.transcript, 'client').slice(0, 2)).toEqual(['server/discover', 'initialize'])
    await client.close()
  })

  it('takes the stateless answer when it arrives during the handshake', async () => {
    let asked = 0
    const server = scripted(modern, {
      'server/discover': () => (asked++ === 0 ? undefined : { result: discovery([modern]) }),
      initialize: () => undefined,
    })
    const versions: string[] = []
    server.transport.setProtocolVersion = (version) => versions.push(version)
    const client = new Client({ name: 'c', version: '1' }, slow)
    const connecting = client.connect(server.transport)
    const greeting = await heard(server.transcript, 'client', 'initialize')
    const probe = said(server.transcript, 'client', 'server/discover')[0]!
    server.say({ jsonrpc: '2.0', id: probe.id, result: discovery([modern]) })
    await connecting
    expect(client.revision).toBe(modern)
    // The handshake is answered late and no longer counts.
    server.say({ jsonrpc: '2.0', id: greeting.id, result: initialized('2025-11-25') })
    await client.ping()
    expect(client.revision).toBe(modern)
    expect(versions.at(-1)).toBe(modern)
    expect(methodsOf(server.transcript, 'client')).not.toContain('notifications/initialized')
    await client.close()
  })

  it('keeps the session and drops a probe answer that arrives after the handshake', async () => {
    const server = scripted('2025-06-18', { 'server/discover': () => undefined })
    const client = await scriptedClient(server, slow)
    const probe = said(server.transcript, 'client', 'server/discover')[0]!
    server.say({ jsonrpc: '2.0', id: probe.id, result: discovery([modern]) })
    await client.ping()
    expect(client.revision).toBe('2025-06-18')
    expect(client.state).toBe('ready')
    expect(methodsOf(server.transcript, 'client').at(-1)).toBe('ping')
    await client.close()
  })

  it('waits for a late probe answer when the server refuses the handshake', async () => {
    const server = scripted(modern, {
      'server/discover': () => undefined,
      initialize: () => ({ error: { code: -32601, message: 'no initialize', data: { supported: [modern] } } }),
    })
    const client = new Client({ name: 'c', version: '1' }, slow)
    const connecting = client.connect(server.transport)
    await heard(server.transcript, 'client', 'initialize')
    const probe = said(server.transcript, 'client', 'server/discover')[0]!
    server.say({ jsonrpc: '2.0', id: probe.id, result: discovery([modern]) })
    await connecting
    expect(client.revision).toBe(modern)
    await client.close()
  })

  it('continues the handshake when the probe fails late [VER-018]', async () => {
    const server = scripted('2025-03-26', { 'server/discover': () => undefined, initialize: () => undefined })
    const client = new Client({ name: 'c', version: '1' }, slow)
    const connecting = client.connect(server.transport)
    const greeting = await heard(server.transcript, 'client', 'initialize')
    const probe = said(server.transcript, 'client', 'server/discover')[0]!
    server.say({ jsonrpc: '2.0', id: probe.id, error: { code: -32601, message: 'what?' } })
    server.say({ jsonrpc: '2.0', id: greeting.id, result: initialized('2025-03-26') })
    await connecting
    expect(client.revision).toBe('2025-03-26')
    expect(methodsOf(server.transcript, 'client').filter((method) => method === 'initialize')).toHaveLength(1)
    await client.close()
  })

  it('starts a server again without a probe if it exits while the probe and initialize wait [VER-018]', async () => {
    const servers: ScriptedServer[] = []
    const transport = new RestartableTransport((start) => {
      const server: ScriptedServer =
        start === 1
          ? new ScriptedServer({
              'server/discover': () => undefined,
              initialize: () => {
                void server.close()
                return undefined
              },
            })
          : scripted('2025-06-18')
      servers.push(server)
      return server.transport
    })
    const client = new Client({ name: 'c', version: '1' }, slow)
    await client.connect(transport)
    expect([client.revision, transport.starts]).toEqual(['2025-06-18', 2])
    expect(servers.map(({ transcript }) => methodsOf(transcript, 'client'))).toEqual([
      ['server/discover', 'initialize'],
      ['initialize', 'notifications/initialized'],
    ])
    await client.close()
  })

  it('times out at a server that answers nothing, without cancelling initialize', async () => {
    const server = new ScriptedServer({ '*': () => undefined })
    const client = new Client({ name: 'c', version: '1' }, { probeTimeoutMs: 10, connectTimeoutMs: 60 })
    const error = await errorOf(client.connect(server.transport))
    expect(error.code).toBe('timeout')
    expect(client.state).toBe('closed')
    const greeting = said(server.transcript, 'client', 'initialize')[0]!
    const cancelled = said(server.transcript, 'client', 'notifications/cancelled').map(
      ({ params }) => params?.requestId,
    )
    expect(cancelled).not.toContain(greeting.id)
  })

  it('fails at a handshake-only server when the client supports only 2026-07-28 [VER-020]', async () => {
    const server = scripted('2025-11-25')
    const error = await errorOf(scriptedClient(server, { revision: modern }))
    expect(error.code).toBe('no-common-revision')
    expect(error.message).toContain(modern)
    expect(methodsOf(server.transcript, 'client')).toEqual(['server/discover'])
  })

  it('times out at a silent server without a handshake when the client supports only 2026-07-28 [VER-020]', async () => {
    const server = scripted('2025-11-25', { 'server/discover': () => undefined })
    const error = await errorOf(scriptedClient(server, { revision: modern, probeTimeoutMs: 10, connectTimeoutMs: 50 }))
    expect(error.code).toBe('timeout')
    expect(methodsOf(server.transcript, 'client')).not.toContain('initialize')
  })

  it.each([true, false])('reports a reason when the server disconnects (answering first: %s)', async (isAnswering) => {
    const server: ScriptedServer = new ScriptedServer({
      'server/discover': () => {
        const answer: ScriptedAnswer = isAnswering ? { error: { code: -32601, message: 'bye' } } : undefined
        queueMicrotask(() => void server.close())
        return answer
      },
    })
    const client = new Client({ name: 'c', version: '1' }, slow)
    const error = await errorOf(client.connect(server.transport))
    expect(error.code).toBe('closed')
    expect(client.state).toBe('closed')
  })
})

describe('the cache of known eras', () => {
  let count = 0
  const keyed = (server: ScriptedServer, key: string): Transport => Object.assign(server.transport, { peerKey: key })
  const freshKey = () => `test peer ${count++}`
  const dial = async (transport: Transport) => {
    const client = new Client({ name: 'c', version: '1' }, { probeTimeoutMs: 15 })
    await client.connect(transport)
    return client
  }

  it('does not probe a handshake server on the second connection [VER-025]', async () => {
    const key = freshKey()
    const first = scripted('2025-06-18')
    await (await dial(keyed(first, key))).close()
    expect(methodsOf(first.transcript, 'client')[0]).toBe('server/discover')
    const second = scripted('2025-06-18')
    const client = await dial(keyed(second, key))
    expect(client.revision).toBe('2025-06-18')
    expect(methodsOf(second.transcript, 'client')).toEqual(['initialize', 'notifications/initialized'])
    await client.close()
  })

  it('remembers a server that did not answer the probe, and waits only once [VER-025]', async () => {
    const key = freshKey()
    const silent = () => scripted('2024-11-05', { 'server/discover': () => undefined })
    await (await dial(keyed(silent(), key))).close()
    const second = silent()
    await (await dial(keyed(second, key))).close()
    expect(methodsOf(second.transcript, 'client')).toEqual(['initialize', 'notifications/initialized'])
  })

  it('probes another server separately [VER-025]', async () => {
    await (await dial(keyed(scripted('2025-06-18'), freshKey()))).close()
    const other = scripted('2025-06-18')
    await (await dial(keyed(other, freshKey()))).close()
    expect(methodsOf(other.transcript, 'client')[0]).toBe('server/discover')
    const unnamed = scripted('2025-06-18')
    await (await dial(unnamed.transport)).close()
    expect(methodsOf(unnamed.transcript, 'client')[0]).toBe('server/discover')
  })

  it('probes again when a handshake server became stateless [VER-026]', async () => {
    const key = freshKey()
    await (await dial(keyed(scripted('2025-06-18'), key))).close()
    const upgraded = scripted(modern)
    const client = await dial(keyed(upgraded, key))
    expect(client.revision).toBe(modern)
    await client.close()
    const third = scripted(modern)
    await (await dial(keyed(third, key))).close()
    expect(methodsOf(third.transcript, 'client')).toEqual(['server/discover'])
  })

  it('probes again when a server refuses initialize and lists its versions [VER-026]', async () => {
    const key = freshKey()
    await (await dial(keyed(scripted('2025-06-18'), key))).close()
    const [ours, theirs] = InMemoryTransport.createLinkedPair()
    await testServer({ revisions: [modern] }).server.connect(theirs)
    const client = await dial(Object.assign(ours, { peerKey: key }))
    expect(client.revision).toBe(modern)
    await client.close()
  })

  it('initializes when a stateless server went back to the handshake [VER-026]', async () => {
    const key = freshKey()
    await (await dial(keyed(scripted(modern), key))).close()
    const client = await dial(keyed(scripted('2025-11-25'), key))
    expect(client.revision).toBe('2025-11-25')
    await client.close()
  })

  it('does not probe a server process on the second connection [VER-025]', async () => {
    const script = `
      process.stdin.setEncoding('utf8'); let text = '';
      process.stdin.on('data', (chunk) => {
        text += chunk
        for (let end; (end = text.indexOf('\\n')) >= 0; text = text.slice(end + 1)) {
          const { id, method } = JSON.parse(text.slice(0, end))
          process.stderr.write(method + ';')
          if (id === undefined) continue
          const body = method === 'initialize'
            ? { result: { protocolVersion: '2025-06-18', capabilities: {}, serverInfo: { name: 'p', version: '1' } } }
            : method === 'ping' ? { result: {} } : { error: { code: -32601, message: 'Method not found' } }
          process.stdout.write(JSON.stringify({ jsonrpc: '2.0', id, ...body }) + '\\n')
        }
      })
      process.stdin.on('end', () => process.exit(0))`
    const heardOf = async () => {
      let errors = ''
      const stderr = (text: string) => {
        errors += text
      }
      const client = await connect({ command: process.execPath, args: ['-e', script], stderr })
      await client.ping()
      await client.close()
      return errors
    }
    expect(await heardOf()).toBe('server/discover;initialize;notifications/initialized;ping;')
    expect(await heardOf()).toBe('initialize;notifications/initialized;ping;')
  })
})
