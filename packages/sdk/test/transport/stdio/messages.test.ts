import { PassThrough } from 'node:stream'
import { PeerError } from 'tenon'
import { McpServer, ProtocolError, Server, StdioServerTransport } from 'tenon/server'
import { InMemoryTransport, record } from 'tenon/testing'
import { describe, expect } from 'vitest'
import { server as demo } from '../../../../../examples/demo/server.ts'
import { everyPipe } from '../../kit/every-wire.ts'
import type { Message } from '../../kit/message.ts'
import { everyRevision, handshakeRevisions } from '../../kit/revisions.ts'
import { answersIn, clientOf, script, scriptedServer } from './support.ts'

describe('every message sent by either side', () => {
  everyPipe(
    'is a valid JSON-RPC 2.0 message [RPC-001, RPC-002, RPC-003, RPC-006, RPC-007, RPC-008, RPC-009, RPC-010, RPC-016, RPC-017]',
    async (wire) => {
      await using pair = await wire.connect(demo)
      const { client, transcript } = pair
      await talk(client)
      const open = { client: new Map<unknown, string>(), server: new Map<unknown, string>() }
      const seen = new Set<string>()
      for (const { from, message } of transcript.lines) {
        expect(Array.isArray(message)).toBe(false)
        const one = message as Message
        expect(one.jsonrpc).toBe('2.0')
        if ('params' in one) expect(one.params).toBeTypeOf('object')
        if ('params' in one) expect(Array.isArray(one.params)).toBe(false)
        if ('method' in one) {
          expect(one.method).toBeTypeOf('string')
          expect('result' in one || 'error' in one).toBe(false)
          if (!('id' in one)) {
            expect(one.method).toMatch(/^notifications\//)
            seen.add(`notification of the ${from}`)
            continue
          }
          // A notification has no id.
          expect(one.method).not.toMatch(/^notifications\//)
          expect(typeof one.id === 'string' || Number.isInteger(one.id)).toBe(true)
          open[from].set(one.id, one.method!)
        } else {
          expect(['result' in one, 'error' in one].filter(Boolean)).toHaveLength(1)
          // Exactly the id, including its type, of a pending request.
          expect(open[from === 'client' ? 'server' : 'client'].delete(one.id)).toBe(true)
          seen.add('error' in one ? 'error' : 'result')
        }
      }
      expect([...seen]).toEqual(expect.arrayContaining(['result', 'error', 'notification of the server']))
    },
  )

  everyPipe('has an id that its sender did not use before [RPC-004, RPC-005]', async (wire) => {
    await using pair = await wire.connect(demo)
    await Promise.all([talk(pair.client), talk(pair.client)])
    const ids = (pair.transcript.from('client') as Message[]).filter(({ method, id }) => method && id !== undefined)
    expect(ids.length).toBeGreaterThan(10)
    expect(new Set(ids.map(({ id }) => id)).size).toBe(ids.length)
  })

  everyRevision(
    'has a new id when the server sends a request too [RPC-002, RPC-003, RPC-004]',
    async (revision) => {
      const [ours, theirs] = InMemoryTransport.createLinkedPair()
      const transcript = record(ours)
      const link = await new McpServer({ name: 'asking', version: '1' }).connect(theirs)
      const client = await clientOf({ transport: ours } as never, revision)
      await link.request('ping')
      await Promise.all([link.request('ping'), link.request('ping')])
      await link.request('ping')
      const asked = (transcript.from('server') as Message[]).filter(({ method }) => method === 'ping')
      expect(asked).toHaveLength(4)
      for (const { id } of asked) expect(typeof id === 'string' || Number.isInteger(id)).toBe(true)
      expect(new Set(asked.map(({ id }) => id)).size).toBe(4)
      expect(answersIn(transcript).map(({ id }) => id)).toEqual(asked.map(({ id }) => id))
      await client.close()
    },
    handshakeRevisions,
  )
})

describe('a server', () => {
  everyPipe('echoes the id of a request with its value and type [RPC-008, RPC-002]', async (wire) => {
    await using client = await script(wire, demo)
    const ids = ['1', 1, 0, -7, '', 'é€😀', '__proto__', 9007199254740991, 'x'.repeat(1000), '"quoted"\n']
    // Sent together, so that "1" and 1 are in flight at the same time.
    const answers = await Promise.all(
      ids.map((id) => client.send({ jsonrpc: '2.0', id, method: 'tools/list', params: client.params() })),
    )
    expect(answers.map(({ id }) => id)).toEqual(ids)
    expect(answers.every(({ result }) => Array.isArray(result?.tools))).toBe(true)
  })

  everyPipe('echoes the id in errors too [RPC-008, RPC-011, RPC-012]', async (wire) => {
    await using client = await script(wire, demo)
    for (const id of ['a', 77]) {
      const answer = await client.send({ jsonrpc: '2.0', id, method: 'no/such', params: client.params() })
      expect(answer).toEqual({ jsonrpc: '2.0', id, error: { code: -32601, message: expect.any(String) } })
      const invalid = await client.send({ jsonrpc: '2.0', id, method: 5 })
      expect(invalid).toEqual({ jsonrpc: '2.0', id, error: { code: -32600, message: expect.any(String) } })
    }
  })

  everyPipe(
    'accepts an id again after the earlier request with it was answered [RPC-005]',
    async (wire) => {
      await using client = await script(wire, demo)
      for (let time = 0; time < 3; time++) {
        const answer = await client.send({ jsonrpc: '2.0', id: 'again', method: 'tools/list', params: client.params() })
        expect(answer.result?.tools).toHaveLength(7)
      }
    },
    { revisions: ['2026-07-28'] },
  )

  everyPipe('accepts a request without params if the method needs none [RPC-007]', async (wire) => {
    if (wire.revision.id === '2026-07-28') {
      // On 2026-07-28 params always contain `_meta`; without it the request is rejected for invalid params.
      await using client = await script(wire, demo)
      const { error } = await client.send({ jsonrpc: '2.0', id: 'bare', method: 'tools/list' })
      expect(error?.code).toBe(-32602)
      return
    }
    await using client = await script(wire, demo)
    expect((await client.send({ jsonrpc: '2.0', id: 'bare', method: 'tools/list' })).result?.tools).toHaveLength(7)
    expect((await client.send({ jsonrpc: '2.0', id: 'ping', method: 'ping' })).result).toEqual({})
  })

  everyPipe('answers -32602 to invalid params [RPC-028, RPC-012]', async (wire) => {
    await using client = await script(wire, demo)
    const wrong: [string, Record<string, unknown>][] = [
      ['tools/call', {}],
      ['tools/call', { name: 5 }],
      ['tools/call', { name: 'echo', arguments: 'text' }],
      ['tools/call', { name: 'no-such-tool' }],
      ['tools/list', { cursor: 5 }],
      ['tools/list', { cursor: 'made up' }],
      ['resources/read', {}],
      ['prompts/get', { name: 'review', arguments: { code: 5 } }],
      ['prompts/get', { name: 'no-such-prompt' }],
      ['completion/complete', { ref: { type: 'ref/nothing' }, argument: { name: 'a', value: '' } }],
      ['tools/list', { _meta: { progressToken: {} } }],
    ]
    for (const [method, params] of wrong) {
      const { error } = await client.request(method, params)
      expect([method, params, error?.code]).toEqual([method, params, -32602])
      expect(error?.message).toBeTypeOf('string')
    }
  })

  everyPipe('answers -32603 to an internal error [RPC-029, RPC-012]', async (wire) => {
    const errors: unknown[] = []
    const server = new Server({ name: 'broken', version: '1' }, { onError: (error) => errors.push(error) })
    const bug = new TypeError('a secret of the inside')
    server.setRequestHandler('custom/now', () => {
      throw bug
    })
    server.setRequestHandler('custom/later', async () => {
      await Promise.resolve()
      throw bug
    })
    await using client = await script(wire, server)
    for (const method of ['custom/now', 'custom/later']) {
      const { error } = await client.request(method)
      expect(error).toEqual({ code: -32603, message: 'Internal error' })
    }
    expect(errors).toEqual([bug, bug])
  })

  everyPipe('sends the data of an error unchanged, if there is any [RPC-013, RPC-012]', async (wire) => {
    const server = new Server({ name: 'data', version: '1' })
    server.setRequestHandler('custom/fail', ({ data }: { data?: unknown }) => {
      throw new ProtocolError(1234, 'Failed on purpose', data)
    })
    await using client = await script(wire, server)
    for (const data of ['text', 0, false, null, [1, [2]], { a: { b: null } }]) {
      const { error } = await client.request('custom/fail', { data })
      expect(error).toEqual({ code: 1234, message: 'Failed on purpose', data })
    }
    expect((await client.request('custom/fail')).error).toEqual({ code: 1234, message: 'Failed on purpose' })
  })

  everyPipe('accepts any object as a result [RPC-015]', async (wire) => {
    const server = new Server({ name: 'result', version: '1' })
    const result = { anything: [1, null, { deep: true }], 'x.y/z': '', nothing: null }
    server.setRequestHandler('custom/any', () => result)
    await using client = await script(wire, server)
    expect((await client.request('custom/any')).result).toMatchObject(result)
  })

  everyPipe(
    'limits error messages to one short sentence [RPC-014]',
    async (wire) => {
      await using client = await script(wire, demo)
      const answers = await Promise.all([
        client.request('no/such'),
        client.request('x'.repeat(5_000)),
        client.request('tools/call', { name: 'y'.repeat(5_000) }),
        client.request('tools/call', {}),
        client.request('tools/list', { cursor: 'made up' }),
        client.request('resources/read', { uri: 'none://there' }),
        client.request('resources/read', { uri: 'not a uri' }),
        client.request('prompts/get', { name: 'review' }),
        client.request('completion/complete', {}),
        client.send({ jsonrpc: '1.0', id: 'version', method: 'ping' }),
        client.send({ jsonrpc: '2.0', id: 'method', method: 1 }),
        client.send({ jsonrpc: '2.0', id: 'params', method: 'ping', params: [] }),
        client.send({ jsonrpc: '2.0', id: 'neither' }),
      ])
      for (const { error } of answers) {
        expect(error?.message).toMatch(/^[^\n]{3,300}$/)
        expect(error?.message).not.toMatch(/[.!?]\s+[A-Z]/)
      }
    },
    { revisions: ['2025-11-25', '2026-07-28'] },
  )

  everyRevision('writes UTF-8, one message per line [RPC-019, STDIO-003, STDIO-004]', async (revision) => {
    const stdin = new PassThrough()
    const stdout = new PassThrough()
    const chunks: Buffer[] = []
    stdout.on('data', (chunk) => chunks.push(chunk))
    const server = new McpServer({ name: 'utf', version: '1' })
    const text = 'line\nbreak\r\nand \u2028\u2029\u0085 é€😀'
    server.registerTool('text', { description: text }, () => text)
    await server.connect(new StdioServerTransport({ stdin, stdout }))
    const meta = {
      'io.modelcontextprotocol/protocolVersion': revision,
      'io.modelcontextprotocol/clientCapabilities': {},
    }
    const greeting = { protocolVersion: revision, capabilities: {}, clientInfo: { name: 'raw', version: '1' } }
    const isModern = revision === '2026-07-28'
    const say = (id: number, method: string, params: object) =>
      stdin.write(
        `${JSON.stringify({ jsonrpc: '2.0', id, method, params: { ...params, ...(isModern && { _meta: meta }) } })}\n`,
      )
    if (!isModern) say(1, 'initialize', greeting)
    say(2, 'tools/list', {})
    say(3, 'tools/call', { name: 'text', arguments: {} })
    const count = isModern ? 2 : 3
    while (Buffer.concat(chunks).toString('latin1').split('\n').length <= count) await new Promise(setImmediate)
    const bytes = Buffer.concat(chunks)
    expect(bytes.at(-1)).toBe(10)
    const decoded = new TextDecoder('utf-8', { fatal: true }).decode(bytes)
    const messages = decoded
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line))
    expect(messages).toHaveLength(count)
    expect(messages.at(-1).result.content).toEqual([{ type: 'text', text }])
    expect(messages.at(-2).result.tools[0].description).toBe(text)
  })
})

describe('a client', () => {
  everyRevision(
    'echoes the id of a server request with its value and type [RPC-008, RPC-011]',
    async (revision) => {
      const server = scriptedServer(revision)
      await using client = await clientOf(server, revision)
      const ids = ['1', 1, 0, -3, '', 'é', '__proto__']
      for (const id of ids) server.say({ jsonrpc: '2.0', id, method: 'ping' })
      server.say({ jsonrpc: '2.0', id: 'unknown', method: 'no/such' })
      server.say({ jsonrpc: '2.0', id: 'invalid', method: 7 })
      await client.ping()
      expect(answersIn(server.transcript)).toEqual(
        expect.arrayContaining(ids.map((id) => ({ jsonrpc: '2.0', id, result: {} }))),
      )
      const codes = Object.fromEntries(answersIn(server.transcript).map(({ id, error }) => [id, error?.code]))
      expect(codes).toMatchObject({ unknown: -32601, invalid: -32600 })
    },
    handshakeRevisions,
  )

  everyRevision(
    'answers with the error code that matches the problem [RPC-025, RPC-026, RPC-028, RPC-029, RPC-012, RPC-003]',
    async (revision) => {
      const server = scriptedServer(revision)
      await using client = await clientOf(server, revision, { capabilities: { roots: {}, sampling: {} } })
      client.setRequestHandler('roots/list', () => {
        throw new Error('a secret of the inside')
      })
      client.setRequestHandler('sampling/createMessage', () => ({}))
      const errors: unknown[] = []
      client.on('error', ({ error }) => errors.push(error))
      server.say({ jsonrpc: '2.0', id: 1, method: 'no/such' })
      server.say({ jsonrpc: '2.0', id: 2, method: 'sampling/createMessage', params: { messages: 'none' } })
      server.say({ jsonrpc: '2.0', id: 3, method: 'roots/list' })
      server.say({ jsonrpc: '1.0', id: 4, method: 'roots/list' })
      server.say({ jsonrpc: '2.0', id: 5, method: 'roots/list', params: [] })
      server.say({ jsonrpc: '2.0', id: null, method: 'roots/list' })
      server.say({ jsonrpc: '2.0', id: 1.5, method: 'roots/list' })
      await client.ping()
      const answers = answersIn(server.transcript)
      const byId = Object.fromEntries(answers.map(({ id, error }) => [String(id), error?.code]))
      expect(byId).toMatchObject({ 1: -32601, 2: -32602, 3: -32603, 4: -32600, 5: -32600 })
      const withoutId = answers.filter(({ id }) => id === undefined || id === null)
      expect(withoutId.map(({ error }) => error?.code).sort()).toEqual([-32600, -32600])
      expect(JSON.stringify(answers)).not.toContain('secret')
      expect(errors).toEqual([expect.objectContaining({ message: 'a secret of the inside' })])
    },
    handshakeRevisions,
  )

  everyRevision('never answers a notification [RPC-018, RPC-016]', async (revision) => {
    const server = scriptedServer(revision, { barrier: () => ({ result: {} }) })
    await using client = await clientOf(server, revision)
    client.setNotificationHandler('notifications/broken', () => {
      throw new Error('broken')
    })
    for (const method of ['notifications/no-such', 'ping', 'roots/list', 'notifications/broken', '__proto__']) {
      server.say({ jsonrpc: '2.0', method, params: {} })
    }
    server.say({ jsonrpc: '2.0', method: 'notifications/progress', params: { progressToken: [], progress: 'x' } })
    server.say({ jsonrpc: '2.0', method: 'notifications/message', params: { level: 5 } })
    await client.request('barrier')
    expect(answersIn(server.transcript)).toEqual([])
  })

  everyRevision('matches a response by its id, including the type of the id [RPC-008]', async (revision) => {
    const server = scriptedServer(revision, {
      slow: (_params, { id }) => {
        server.say({ jsonrpc: '2.0', id: String(id), result: { resultType: 'complete', from: 'a string' } })
        server.say({ jsonrpc: '2.0', id: Number(id) + 100, result: { resultType: 'complete', from: 'another' } })
        return { result: { resultType: 'complete', from: 'the right one' } }
      },
    })
    await using client = await clientOf(server, revision)
    expect(await client.request('slow')).toMatchObject({ from: 'the right one' })
  })

  everyRevision('accepts an error with data of any type or without data [RPC-013, RPC-012]', async (revision) => {
    const server = scriptedServer(revision, {
      fail: ({ data }) => ({ error: { code: 4321, message: 'No', ...(data !== undefined && { data }) } }),
    })
    await using client = await clientOf(server, revision)
    for (const data of ['text', 0, false, null, [1], { a: 1 }, undefined]) {
      const error = await client.request('fail', { data }).catch((reason) => reason)
      expect(error).toBeInstanceOf(PeerError)
      expect(error).toMatchObject({ code: 'peer', rpcCode: 4321, message: 'No', data })
    }
  })

  everyRevision('accepts unknown members of a result [RPC-015]', async (revision) => {
    const server = scriptedServer(revision, {
      'tools/list': () => ({
        result: {
          resultType: 'complete',
          tools: [],
          ttlMs: 0,
          cacheScope: 'private',
          unknown: { a: 1 },
          _meta: { b: 2 },
        },
      }),
      'tools/call': () => ({ result: { resultType: 'complete', content: [], unknown: [1, 2] } }),
    })
    await using client = await clientOf(server, revision)
    expect(await client.listTools()).toMatchObject({ tools: [], unknown: { a: 1 }, _meta: { b: 2 } })
    expect(await client.callTool('any')).toMatchObject({ content: [], unknown: [1, 2] })
  })

  everyRevision('keeps working after an error without an id [RPC-011]', async (revision) => {
    const server = scriptedServer(revision, { barrier: () => ({ result: { resultType: 'complete' } }) })
    await using client = await clientOf(server, revision)
    const errors: unknown[] = []
    client.on('error', ({ error }) => errors.push(error))
    server.say({ jsonrpc: '2.0', error: { code: -32700, message: 'Unreadable' } })
    server.say({ jsonrpc: '2.0', id: null, error: { code: -32700, message: 'Unreadable' } })
    await client.request('barrier')
    expect(errors).toHaveLength(2)
    expect(errors[0]).toMatchObject({ code: 'peer', rpcCode: -32700 })
    expect(answersIn(server.transcript)).toEqual([])
  })
})

type Talker = Awaited<ReturnType<typeof clientOf>>

async function talk(client: Talker): Promise<void> {
  await client.listTools().all()
  await client.callTool('echo', { text: 'hi' })
  await client.callTool('sleep', { ms: 5 }, { onProgress: () => {} })
  await client.readResource('note://today')
  await client.readResource('note://never').catch(() => {})
  await client.request('no/such').catch(() => {})
  await client.ping()
}
