import { mkdirSync, rmSync } from 'node:fs'
import type { Client } from 'tenon/client'
import { describe, expect, it, vi } from 'vitest'
import { isAlive } from '../../sdk/test/kit/child-process.ts'
import { allRevisions, EditedServer, source, WireClient } from './dev-support.ts'

const patience = { timeout: 60_000, interval: 50 }

/** Ignores the end of stdin and SIGTERM. */
const stubborn = `
process.on('SIGTERM', () => {})
setInterval(() => {}, 1_000)
`

/** Calls a tool that reports progress when it runs. */
function startCall(client: Client, name: string): { started: Promise<void>; result: ReturnType<Client['callTool']> } {
  let start = () => {}
  const started = new Promise<void>((resolve) => {
    start = resolve
  })
  return { started, result: client.callTool(name, {}, { onProgress: () => start() }) }
}

/** The ids of all responses. A batch may be answered by single responses. */
function answeredIds(wire: WireClient): unknown[] {
  return wire.received.flat().flatMap(({ id, method }) => (method === undefined ? [id] : []))
}

describe('tenon dev over stdio', () => {
  for (const revision of allRevisions) {
    it(`keeps the session of a client of ${revision} when the server changes`, async () => {
      await using server = new EditedServer(source('one'))
      const peer = await server.connect({ revision })
      await peer.client.listen({ toolsListChanged: true })
      expect(await peer.call('version')).toBe('one')
      const before = await peer.pid()
      const changed = peer.changed()
      server.save(source('two'))
      await changed
      expect(await peer.listed()).toBe('two')
      expect(await peer.call('version')).toBe('two')
      expect(await peer.pid()).not.toBe(before)
      expect(peer.client.revision).toBe(revision)
      expect(peer.breaks).toEqual([])
    })
  }

  it('answers with the new version 100 times, without a break', { timeout: 600_000 }, async () => {
    await using server = new EditedServer(source('0'))
    const peer = await server.connect({ revision: '2025-11-25' })
    for (let edit = 1; edit <= 100; edit++) {
      server.save(source(String(edit)))
      expect(await peer.listed()).toBe(String(edit))
    }
    expect(peer.breaks).toEqual([])
  })

  it('fails a call that was running, and repeats one that only reads', async () => {
    await using server = new EditedServer(source('one'))
    const peer = await server.connect()
    await peer.listed()
    const write = startCall(peer.client, 'write')
    const read = startCall(peer.client, 'read')
    const failed = expect(write.result).rejects.toThrow(
      'The server restarted while tools/call write was running, because server.mjs changed',
    )
    await Promise.all([write.started, read.started])
    server.save(source('two'))
    await failed
    expect((await read.result).text).toBe('two')
    expect(peer.breaks).toEqual([])
  })

  it('lets a call finish that ends soon after the change', async () => {
    const soon = `server.registerTool('soon', {}, async (_args, ctx) => {
      await ctx.progress(1)
      await new Promise((resolve) => process.stdin.once('end', resolve))
      return 'finished by ' + version
    })`
    await using server = new EditedServer(source('one', soon))
    const peer = await server.connect()
    const { started, result } = startCall(peer.client, 'soon')
    await started
    server.save(source('two', soon))
    expect((await result).text).toBe('finished by one')
    expect(await peer.call('version')).toBe('two')
  })

  it('serves the last of several quick edits', async () => {
    await using server = new EditedServer(source('one'))
    const peer = await server.connect()
    await peer.call('version')
    server.save(source('two'))
    const second = peer.call('version')
    server.save(source('three'))
    expect(await second).toBe('three')
    server.save(source('four'))
    await vi.waitFor(() => expect(peer.stderr.match(/restarted in/g)?.length).toBeGreaterThan(1), patience)
    server.save(source('five'))
    expect(await peer.call('version')).toBe('five')
    expect(peer.breaks).toEqual([])
  })

  it('answers with the syntax error of a new version, and recovers with the next save', async () => {
    await using server = new EditedServer(source('one'))
    const peer = await server.connect()
    await peer.call('version')
    server.save(`${source('two')}}`)
    await expect(peer.call('version')).rejects.toThrow(/server\.mjs exited with code 1.*SyntaxError: Unexpected token/s)
    await expect(peer.listed()).rejects.toThrow('Save a fix to start it again')
    server.save(source('three'))
    expect(await peer.call('version')).toBe('three')
    expect(peer.breaks).toEqual([])
  })

  it('answers a ping while there is no server', async () => {
    await using server = new EditedServer(source('one'))
    const peer = await server.connect({ revision: '2025-11-25' })
    server.save('syntax error')
    await expect(peer.call('version')).rejects.toThrow('SyntaxError')
    await peer.client.ping()
    expect(peer.breaks).toEqual([])
  })

  it('restarts a server that a call has crashed, with the next request', async () => {
    await using server = new EditedServer(source('one'))
    const peer = await server.connect()
    await expect(peer.call('crash')).rejects.toThrow(/exited with code 7.*About to crash/s)
    expect(await peer.call('version')).toBe('one')
    expect(peer.breaks).toEqual([])
  })

  it('notices a file that is saved by renaming another', async () => {
    await using server = new EditedServer(source('one'))
    const peer = await server.connect()
    await peer.call('version')
    for (const version of ['two', 'three', 'four']) {
      server.replace(source(version))
      expect(await peer.call('version')).toBe(version)
    }
  })

  it('waits for a file that is deleted and created again', async () => {
    await using server = new EditedServer(source('one'))
    const peer = await server.connect()
    await peer.call('version')
    rmSync(server.path)
    const waiting = peer.call('version')
    server.save(source('two'))
    expect(await waiting).toBe('two')
    rmSync(server.path)
    await expect(peer.call('version')).rejects.toThrow(/Cannot find module/)
    server.save(source('three'))
    expect(await peer.call('version')).toBe('three')
    expect(peer.breaks).toEqual([])
  })

  it('replaces a server that ignores SIGTERM and the end of stdin', async () => {
    await using server = new EditedServer(
      source('one', stubborn).replace('serveStdio(server)', 'serveStdio(server, { exit: false })'),
    )
    const peer = await server.connect()
    const before = await peer.pid()
    server.save(source('two'))
    expect(await peer.call('version')).toBe('two')
    expect(isAlive(before)).toBe(false)
  })

  it('leaves no process behind when the client disconnects', async () => {
    for (const more of ['', stubborn]) {
      await using server = new EditedServer(source('one', more))
      const peer = await server.connect()
      const before = await peer.pid()
      server.save(source('two', more))
      const after = await peer.pid()
      await peer.client.close()
      await vi.waitFor(() => expect([before, after].map(isAlive)).toEqual([false, false]), patience)
    }
  })

  it('leaves no process behind when the client disconnects during a call, or when it is killed itself', async () => {
    await using server = new EditedServer(source('one', stubborn))
    const peer = await server.connect()
    const pid = await peer.pid()
    const { started, result } = startCall(peer.client, 'write')
    const failed = expect(result).rejects.toThrow()
    await started
    await peer.client.close()
    await failed
    await vi.waitFor(() => expect(isAlive(pid)).toBe(false), patience)

    server.save(source('one'))
    await using dev = server.work.start(['dev', server.path])
    const wire = new WireClient(dev)
    await wire.initialize('2025-06-18')
    wire.send({ id: 1, method: 'tools/call', params: { name: 'pid' } })
    const other = Number((await wire.until(({ id }) => id === 1)).result?.content[0]?.text)
    dev.child.kill('SIGKILL')
    await vi.waitFor(() => expect(isAlive(other)).toBe(false), patience)
  })

  it('repeats the log level and the subscriptions of the client', async () => {
    await using server = new EditedServer(source('one'))
    const peer = await server.connect({ revision: '2025-06-18' })
    const logs: unknown[] = []
    const updates: string[] = []
    peer.client.on('log', ({ data }) => void logs.push(data))
    peer.client.on('resourceUpdated', ({ uri }) => void updates.push(uri))
    await peer.client.setLoggingLevel('debug')
    await peer.client.subscribeResource('state://now')
    server.save(source('two'))
    expect(await peer.call('log')).toBe('two')
    await vi.waitFor(() => expect(logs).toEqual(['debug of two']), patience)
    // The first one says that the contents may have changed with the code.
    await vi.waitFor(() => expect(updates).toHaveLength(1), patience)
    await peer.call('touch')
    await vi.waitFor(() => expect(updates).toEqual(['state://now', 'state://now']), patience)
  })

  it('cancels a question of a process that is gone, and drops its late answer', async () => {
    await using server = new EditedServer(source('one'))
    const asked: string[] = []
    let withdrawn = () => {}
    const isWithdrawn = new Promise<void>((resolve) => {
      withdrawn = resolve
    })
    const peer = await server.connect({
      revision: '2025-06-18',
      handlers: {
        elicit: async ({ message }, { signal }) => {
          asked.push(message)
          if (message === 'two?') return { action: 'accept', content: { name: 'Bo' } }
          signal.addEventListener('abort', () => withdrawn())
          server.save(source('two'))
          await isWithdrawn
          return { action: 'accept', content: { name: 'Al' } }
        },
      },
    })
    await expect(peer.call('ask')).rejects.toThrow('The server restarted while tools/call ask was running')
    await isWithdrawn
    expect(await peer.call('ask')).toBe('two Bo')
    expect(asked).toEqual(['one?', 'two?'])
  })

  it('gives the questions of each process other ids, so that a late answer reaches none', async () => {
    await using server = new EditedServer(source('one'))
    await using dev = server.work.start(['dev', server.path])
    const wire = new WireClient(dev)
    await wire.initialize('2025-06-18', { elicitation: {} })
    const accept = (name: string) => ({ result: { action: 'accept', content: { name } } })
    wire.send({ id: 1, method: 'tools/call', params: { name: 'ask', arguments: {} } })
    const first = await wire.until(({ params }) => params?.message === 'one?')
    server.save(source('two'))
    const withdrawn = await wire.until(({ method }) => method === 'notifications/cancelled')
    expect(withdrawn.params?.requestId).toBe(first.id)
    wire.send({ id: 2, method: 'tools/call', params: { name: 'ask', arguments: {} } })
    const second = await wire.until(({ params }) => params?.message === 'two?')
    expect(second.id).not.toBe(first.id)
    wire.send({ id: first.id, ...accept('late') })
    wire.send({ id: second.id, ...accept('Bo') })
    const { result } = await wire.until(({ id, method }) => id === 2 && method === undefined)
    expect(result?.content[0]?.text).toBe('two Bo')
    const responses = wire.received.filter(({ method }) => method === undefined).map(({ id }) => id)
    expect(responses).toEqual(['init', 1, 2])
  })

  it('answers every request once, also those of a batch, however often the server changes', async () => {
    await using server = new EditedServer(source('0'))
    await using dev = server.work.start(['dev', server.path])
    const wire = new WireClient(dev)
    await wire.initialize('2025-03-26')
    wire.send([
      { id: 'x', method: 'tools/list' },
      { id: 'y', method: 'tools/call', params: { name: 'version' } },
    ])
    // Without a restart, a batch is answered by a batch.
    await wire.until((message) => Array.isArray(message) && message.length === 2)
    const ids = ['x', 'y']
    for (let edit = 1; edit <= 10; edit++) {
      const [one, two, three] = ['a', 'b', 'c'].map((letter) => `${edit}${letter}`)
      ids.push(...[one, two, three].map(String))
      wire.send([
        { id: one, method: 'tools/list' },
        { id: two, method: 'tools/call', params: { name: 'version' } },
      ])
      server.save(source(edit % 3 === 0 ? `' broken` : String(edit)))
      wire.send({ id: three, method: 'tools/list' })
      if (edit % 2 === 0) await vi.waitFor(() => expect(answeredIds(wire)).toContain(three), patience)
    }
    server.save(source('last'))
    wire.send({ id: 'last', method: 'tools/call', params: { name: 'version' } })
    const { result } = await wire.until(({ id }) => id === 'last')
    expect(result?.content[0]?.text).toBe('last')
    expect(answeredIds(wire).sort()).toEqual(['init', 'last', ...ids].sort())
  })

  it('restarts when an imported file changes, but not for data, node_modules and dist', async () => {
    await using server = new EditedServer(
      source('one', "const { text } = await import('./lib/text.mjs')\nserver.registerTool('text', {}, () => text)"),
    )
    for (const folder of ['lib', 'node_modules', 'dist']) {
      mkdirSync(server.work.file(folder))
      server.work.write(`${folder}/text.mjs`, "export const text = 'a'")
    }
    const peer = await server.connect()
    expect(await peer.call('text')).toBe('a')
    const before = await peer.pid()
    server.work.write('data.json', '{}')
    server.work.write('node_modules/text.mjs', "export const text = 'b'")
    server.work.write('dist/text.mjs', "export const text = 'b'")
    expect(await peer.pid()).toBe(before)
    const changed = peer.changed()
    await peer.client.listen({ toolsListChanged: true })
    server.work.write('lib/text.mjs', "export const text = 'b'")
    await changed
    expect(await peer.call('text')).toBe('b')
    expect(peer.stderr.match(/restarted in/g)).toHaveLength(1)
    expect(peer.stderr).toContain('text.mjs changed, restarted in')
  })

  it('runs a command, and restarts it when a watched path changes', async () => {
    await using server = new EditedServer(
      source(
        'one',
        "const { readFileSync } = await import('node:fs')\nconst word = readFileSync('word.txt', 'utf8')\nserver.registerTool('word', {}, () => word)",
      ),
    )
    server.work.write('word.txt', 'first')
    const peer = await server.connect({}, ['--watch', 'word.txt', '--', process.execPath, 'server.mjs'])
    await peer.client.listen({ toolsListChanged: true })
    expect(await peer.call('word')).toBe('first')
    const changed = peer.changed()
    server.work.write('word.txt', 'second')
    await changed
    expect(await peer.call('word')).toBe('second')
  })

  it('offers list changes for a server that does not, and passes its other capabilities on', async () => {
    const bare = (name: string) => `
import { createInterface } from 'node:readline'
const send = (message) => console.log(JSON.stringify({ jsonrpc: '2.0', ...message }))
createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line)
  if (method === 'initialize')
    send({ id, result: { protocolVersion: '2024-11-05', capabilities: { tools: {}, odd: { a: 1 } }, serverInfo: { name: 'bare', version: '1' } } })
  else if (method === 'tools/list') send({ id, result: { tools: [{ name: '${name}', inputSchema: { type: 'object' } }] } })
  else if (id !== undefined) send({ id, error: { code: -32601, message: 'Unknown: ' + method } })
})`
    await using server = new EditedServer(bare('one'))
    const peer = await server.connect()
    expect(peer.client.getServerCapabilities()).toEqual({ tools: { listChanged: true }, odd: { a: 1 } })
    const changed = peer.changed()
    server.save(bare('two'))
    await changed
    expect((await peer.client.listTools()).tools.map(({ name }) => name)).toEqual(['two'])
    expect(peer.breaks).toEqual([])
  })
})

describe('tenon dev --http', () => {
  it('keeps sessions and listeners of every revision over a change', async () => {
    await using server = new EditedServer(source('one'))
    await using dev = server.work.start(['dev', server.path, '--http', '--port', '0'])
    const url = (await dev.until(() => /http:\S+/.exec(dev.stdout)?.[0])) ?? ''
    const peers = await Promise.all(
      ['2025-03-26', '2025-06-18', '2025-11-25', '2026-07-28', '2026-07-28'].map((revision) =>
        server.connectUrl(url, { revision: revision as (typeof allRevisions)[number] }),
      ),
    )
    await Promise.all(peers.map(({ client }) => client.listen({ toolsListChanged: true })))
    expect(await Promise.all(peers.map((peer) => peer.listed()))).toEqual(peers.map(() => 'one'))
    const pids = await Promise.all(peers.map((peer) => peer.pid()))
    expect(new Set(pids).size).toBe(4)
    const changed = Promise.all(peers.map((peer) => peer.changed()))
    server.save(source('two'))
    await changed
    expect(await Promise.all(peers.map((peer) => peer.listed()))).toEqual(peers.map(() => 'two'))
    expect(peers.flatMap(({ breaks }) => breaks)).toEqual([])
    expect(pids.map(isAlive)).toEqual(pids.map(() => false))
  })

  it('passes progress, questions and logs on the stream of their call', async () => {
    await using server = new EditedServer(source('two'))
    await using dev = server.work.start(['dev', server.path, '--http', '--port', '0'])
    const url = (await dev.until(() => /http:\S+/.exec(dev.stdout)?.[0])) ?? ''
    for (const revision of ['2025-06-18', '2026-07-28'] as const) {
      const peer = await server.connectUrl(url, {
        revision,
        handlers: { elicit: () => ({ action: 'accept', content: { name: 'Al' } }) },
      })
      const steps: number[] = []
      await peer.client.callTool('write', {}, { onProgress: ({ progress }) => void steps.push(progress) })
      expect(steps).toEqual([1])
      expect(await peer.call('ask')).toBe('two Al')
    }
  })

  it('ends the process of a session that the client closes', async () => {
    await using server = new EditedServer(source('one'))
    await using dev = server.work.start(['dev', server.path, '--http', '--port', '0'])
    const url = (await dev.until(() => /http:\S+/.exec(dev.stdout)?.[0])) ?? ''
    const peer = await server.connectUrl(url, { revision: '2025-06-18' })
    const pid = await peer.pid()
    await peer.client.close()
    await vi.waitFor(() => expect(isAlive(pid)).toBe(false), patience)
    const other = await server.connectUrl(url)
    const last = await other.pid()
    dev.child.kill('SIGTERM')
    expect((await dev.exited).code).toBe(0)
    expect(isAlive(last)).toBe(false)
  })
})
