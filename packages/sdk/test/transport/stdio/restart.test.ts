import { type RevisionId, revisionIds } from 'tenon'
import { StdioClientTransport } from 'tenon/client'
import { describe, expect, it } from 'vitest'
import { eventually } from '../../kit/eventually.ts'
import { everyRevision } from '../../kit/revisions.ts'
import { node, open, stubborn, takeNotes, wireServer } from './support.ts'

describe('a server that exits on an unknown request', () => {
  it('is restarted and connected with a handshake', async () => {
    const notes = takeNotes()
    const client = await open(new StdioClientTransport(stubborn(notes, 'dies-of-unknown')), {})
    expect(client.revision).toBe('2025-11-25')
    await client.ping()
    expect(notes.lines.filter((line) => line === 'started')).toHaveLength(2)
    await client.close()
    // The result is remembered: the next connection starts with the handshake.
    const again = await open(new StdioClientTransport(stubborn(notes, 'dies-of-unknown')), {})
    expect(again.revision).toBe('2025-11-25')
    expect(notes.lines.filter((line) => line === 'started')).toHaveLength(3)
  })

  it('is restarted also when it never answers the first request', async () => {
    const program = `
      require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
        const { id, method } = JSON.parse(line)
        const result = { protocolVersion: '2024-11-05', capabilities: {}, serverInfo: { name: 'mute', version: '1' } }
        if (method === 'initialize') console.log(JSON.stringify({ jsonrpc: '2.0', id, result }))
      })`
    const client = await open(new StdioClientTransport({ command: node, args: ['-e', program] }), {
      probeTimeoutMs: 50,
    })
    expect(client.revision).toBe('2024-11-05')
  })
})

describe('a server process that exits', () => {
  const recent: RevisionId[] = ['2025-11-25', '2026-07-28']

  everyRevision(
    'is restarted, and subscriptions are renewed [STDIO-016, STDIO-014]',
    async (revision) => {
      const client = await open(new StdioClientTransport(wireServer), { revision })
      const states: string[] = []
      client.on('state', ({ state }) => states.push(state))
      const first = (await client.callTool('pid')).text
      await client.listen({ toolsListChanged: true })
      const lost = client.callTool('sleep', { ms: 60_000 }).catch((reason) => reason)
      await client.callTool('exit', { code: 1 }).catch(() => {})
      // The pending call is lost; a new call waits for the new process.
      expect(await lost).toMatchObject({ code: 'closed', detail: { exitCode: 1 } })
      const second = (await client.callTool('pid')).text
      expect(second).not.toBe(first)
      expect(states).toEqual(['reconnecting', 'ready'])
      const changed = new Promise<string>((resolve) => client.on('toolsChanged', () => resolve('changed')))
      await client.callTool('add-tool', { name: 'fresh' })
      expect(await changed).toBe('changed')
      expect((await client.callTool('fresh')).text).toBe('new')
    },
    recent,
  )

  it('is restarted a limited number of times [STDIO-016]', async () => {
    const client = await open(new StdioClientTransport(wireServer), { revision: '2026-07-28', restarts: 1 })
    await client.callTool('exit', { code: 1 }).catch(() => {})
    await client.callTool('pid')
    await client.callTool('exit', { code: 1 }).catch(() => {})
    expect(client.state).toBe('closed')
    await expect(client.callTool('pid')).rejects.toMatchObject({ code: 'not-connected' })
  })

  everyRevision(
    'closes the connection of a client with restarts: 0 [STDIO-014]',
    async (revision) => {
      const client = await open(new StdioClientTransport(wireServer), { revision, restarts: 0 })
      const closed = new Promise((resolve) =>
        client.on('state', (change) => {
          if (change.state === 'closed') resolve(change.reason)
        }),
      )
      expect((await client.callTool('stop')).text).toBe('stopping')
      expect(await closed).toBe('The server process exited with code 0')
    },
    [...revisionIds],
  )
})

describe('cancelling over stdio', () => {
  it('notifies the server, which stops the handler without a response [STDIO-017, STDIO-018, STDIO-019]', async () => {
    let heard = ''
    const transport = new StdioClientTransport({ ...wireServer, stderr: (text) => (heard += text) })
    const said: { id?: unknown; method?: string; params?: { requestId?: unknown } }[] = []
    const { sendText } = transport
    transport.sendText = (text) => {
      said.push(JSON.parse(text))
      sendText.call(transport, text)
    }
    const client = await open(transport, { revision: '2026-07-28' })
    const received: { id?: unknown }[] = []
    const { onmessage } = transport
    transport.onmessage = (message) => {
      received.push(message as never)
      onmessage?.(message)
    }
    const stop = new AbortController()
    const call = client.callTool('sleep', { ms: 60_000 }, { signal: stop.signal }).catch((reason) => reason)
    await eventually(() => heard.includes('sleep begins'))
    stop.abort('enough')
    expect(await call).toMatchObject({ code: 'cancelled' })
    await eventually(() => heard.includes('sleep was stopped'))
    await client.ping()
    const { id } = said.find(({ method }) => method === 'tools/call')!
    const cancelled = said.filter(({ method }) => method === 'notifications/cancelled')
    expect(cancelled).toEqual([
      { jsonrpc: '2.0', method: 'notifications/cancelled', params: expect.objectContaining({ requestId: id }) },
    ])
    expect(received.length).toBeGreaterThan(0)
    expect(received.filter((message) => message.id === id)).toEqual([])
  })
})
