import { once } from 'node:events'
import { type RevisionId, revisionIds } from 'tenon'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Message } from '../../kit/message.ts'
import { paramsOf, RawProcess } from './support.ts'

const omitsUnknownId = (revision: RevisionId) => revision === '2025-11-25' || revision === '2026-07-28'

describe.each([...revisionIds])('a server process that receives bad input (%s)', (revision) => {
  let server: RawProcess
  beforeAll(async () => {
    server = await RawProcess.start(revision)
  })
  afterAll(() => server[Symbol.asyncDispose]())

  /** Sends bytes and then a valid request, and returns everything the server sent in between. */
  async function provoke(bytes: string | Uint8Array): Promise<Message[]> {
    const before = server.lines.length
    server.write(bytes)
    await server.stillWorks()
    return server.messages.slice(before, -1)
  }

  /** An error for a message whose id could not be read: without id since 2025-11-25, with a null id before. */
  function refusal(code: number) {
    const error = { code, message: expect.any(String) }
    return omitsUnknownId(revision) ? { jsonrpc: '2.0', error } : { jsonrpc: '2.0', id: null, error }
  }
  const refusalOf = (id: unknown, code: number) => ({
    jsonrpc: '2.0',
    id,
    error: { code, message: expect.any(String) },
  })

  it.each([
    ['text', 'hello\n'],
    ['half an object', '{"jsonrpc":"2.0","id":1\n'],
    ['a raw line break inside a string', '{"jsonrpc":"2.0","id":1,"method":"a'.concat('\n')],
    ['a NUL byte', '\0\n'],
    ['two messages on one line', '{"jsonrpc":"2.0","method":"a"}{"jsonrpc":"2.0","method":"b"}\n'],
  ])('answers -32700 to invalid JSON: %s [RPC-024, RPC-011, STDIO-003]', async (_what, bytes) => {
    expect(await provoke(bytes)).toEqual([refusal(-32700)])
  })

  it('answers -32700 to invalid UTF-8 and still handles the valid lines around it [RPC-019, RPC-024]', async () => {
    const good = (id: string) => Buffer.from(`${server.request(id, 'tools/call', { name: 'echo', arguments: {} })}\n`)
    const bad = Buffer.concat([Buffer.from('{"jsonrpc":"2.0","id":7,"method":"'), Buffer.from([0xff, 0xc3, 0x28])])
    const said = await provoke(Buffer.concat([good('before'), bad, Buffer.from('"}\n'), good('after')]))
    expect(said).toHaveLength(3)
    expect(said).toContainEqual(refusal(-32700))
    expect(said.filter(({ result }) => result).map(({ id }) => id)).toEqual(['before', 'after'])
  })

  it('accepts a replacement character that was sent as such [RPC-019]', async () => {
    const { result } = await server.call('echo', { text: 'a\uFFFDb €😀\u2028' })
    expect(JSON.parse(result!.content![0]!.text)).toEqual({ text: 'a\uFFFDb €😀\u2028' })
  })

  it('rejects a line of 100 MB before it is complete, with the id of its request', async () => {
    const before = server.lines.length
    server.write('{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"')
    const megabyte = Buffer.alloc(1024 * 1024, 'x')
    for (let at = 0; at < 100; at++) {
      if (!server.child.stdin!.write(megabyte)) await once(server.child.stdin!, 'drain')
    }
    expect(await server.until(() => server.messages[before])).toEqual(refusalOf(1, -32600))
    expect(await provoke('"}}\n')).toEqual([])
  })

  it('rejects nesting of 10,000 levels, with the id of the request', async () => {
    const deep = (open: string, close: string) => `${open.repeat(10_000)}1${close.repeat(10_000)}`
    for (const nested of [deep('[', ']'), deep('{"a":', '}')]) {
      const said = await provoke(`{"jsonrpc":"2.0","id":"deep","method":"tools/call","params":{"x":${nested}}}\n`)
      expect(said).toEqual([refusalOf('deep', -32600)])
    }
    expect(await provoke(`${deep('[', ']')}\n`)).toEqual([refusal(-32600)])
  })

  it('treats __proto__ and constructor as ordinary keys', async () => {
    const args = '{"__proto__":{"polluted":"yes"},"constructor":{"prototype":{"polluted":"yes"}}}'
    const params = JSON.stringify(paramsOf(revision, { name: 'echo', arguments: 0 })).replace(/:0([,}])/, `:${args}$1`)
    const said = await provoke(
      `{"__proto__":{"polluted":"yes"},"jsonrpc":"2.0","id":"keys","method":"tools/call","params":${params}}\n`,
    )
    expect(said.map(({ id }) => id)).toEqual(['keys'])
    expect(said[0]?.result?.content?.[0]?.text).toBe(args)
    expect((await server.call('polluted')).result?.content?.[0]?.text).toBe('undefined')
  })

  it('does not read members of the message from a __proto__ member [RPC-001, RPC-006, RPC-028]', async () => {
    const inherited = '{"__proto__":{"jsonrpc":"2.0","id":1,"method":"ping"}}\n'
    expect(await provoke(inherited)).toEqual([refusal(-32600)])
    const meta = JSON.stringify(paramsOf(revision)._meta ?? {})
    const name = `{"jsonrpc":"2.0","id":"p","method":"tools/call","params":{"__proto__":{"name":"echo"},"_meta":${meta}}}\n`
    const said = await provoke(name)
    const { message } = said[0]!.error!
    expect(message).toContain('params.name')
    expect(said).toEqual([{ jsonrpc: '2.0', id: 'p', error: { code: -32602, message, data: { details: message } } }])
  })

  it.each(['__proto__', 'constructor', 'toString', 'hasOwnProperty'])(
    'reports %s as an unknown method and an unknown tool [RPC-026]',
    async (name) => {
      expect((await server.ask(name)).error?.code).toBe(-32601)
      expect((await server.call(name)).error?.code).toBe(-32602)
    },
  )

  it.each([
    ['"1.0"', '"jsonrpc":"1.0",'],
    ['the number 2', '"jsonrpc":2.0,'],
    ['null', '"jsonrpc":null,'],
    ['nothing', ''],
  ])('answers -32600 when jsonrpc is %s [RPC-001, RPC-025, RPC-011]', async (_what, member) => {
    expect(await provoke(`{${member}"id":"v","method":"ping"}\n`)).toEqual([refusalOf('v', -32600)])
  })

  it.each(['null', '1.5', 'true', 'false', '[1]', '{"a":1}', '9007199254740993', '1e400'])(
    'answers -32600 to a request with the id %s [RPC-002, RPC-003, RPC-025]',
    async (id) => {
      const params = JSON.stringify(paramsOf(revision))
      expect(await provoke(`{"jsonrpc":"2.0","id":${id},"method":"tools/list","params":${params}}\n`)).toEqual([
        refusal(-32600),
      ])
    },
  )

  it.each(['"text"', '42', 'true', 'null', '1e3'])(
    'answers -32600 to the bare value %s [RPC-001, RPC-025]',
    async (value) => {
      expect(await provoke(`${value}\n`)).toEqual([refusal(-32600)])
    },
  )

  it.each(['[]', '"text"', '1', 'null', '[{"name":"echo"}]'])(
    'answers -32600 when params is %s [RPC-007, RPC-025]',
    async (params) => {
      expect(await provoke(`{"jsonrpc":"2.0","id":"p","method":"tools/list","params":${params}}\n`)).toEqual([
        refusalOf('p', -32600),
      ])
    },
  )

  it('rejects an id that is still in flight and still answers the first request', async () => {
    const call = server.request('twice', 'tools/call', { name: 'sleep', arguments: { ms: 50 } })
    const before = server.messages.length
    server.write(`${call}\n${call}\n`)
    const answer = await server.until(() => server.messages.find(({ id, result }) => id === 'twice' && result))
    expect(answer.result?.content?.[0]?.text).toBe('slept 50')
    expect(server.messages.slice(before)).toEqual([refusalOf('twice', -32600), answer])
  })

  it('answers -32601 to unknown methods [RPC-026]', async () => {
    for (const method of ['no/such', '', 'tools', 'TOOLS/LIST', 'x'.repeat(10_000)]) {
      const { error } = await server.ask(method)
      expect(error?.code).toBe(-32601)
      expect(error!.message.length).toBeLessThan(200)
    }
    await server.stillWorks()
  })

  it('ignores responses to requests that it never sent', async () => {
    const answers = [
      { jsonrpc: '2.0', id: 12345, result: {} },
      { jsonrpc: '2.0', id: 'nobody', result: { a: 1 } },
      { jsonrpc: '2.0', id: 12345, error: { code: -32603, message: 'no' } },
      { jsonrpc: '2.0', error: { code: -32700, message: 'no' } },
      { jsonrpc: '2.0', id: null, error: { code: -32700, message: 'no' } },
    ]
    expect(await provoke(answers.map((answer) => `${JSON.stringify(answer)}\n`).join(''))).toEqual([])
  })

  it('never answers a notification, known or unknown [RPC-018, RPC-016]', async () => {
    const notifications = [
      { method: 'notifications/no-such' },
      { method: 'no/such', params: { a: 1 } },
      { method: 'tools/call', params: paramsOf(revision, { name: 'echo', arguments: {} }) },
      { method: 'notifications/cancelled', params: { requestId: 'unknown' } },
      { method: 'notifications/cancelled', params: { requestId: { a: 1 } } },
      { method: 'notifications/cancelled' },
      { method: 'notifications/progress', params: { progressToken: [], progress: 'x' } },
      { method: '__proto__' },
    ]
    const bytes = notifications.map((one) => `${JSON.stringify({ jsonrpc: '2.0', ...one })}\n`).join('')
    expect(await provoke(bytes)).toEqual([])
  })

  it('answers -32600 to a method that is not a string [RPC-006, RPC-017, RPC-025]', async () => {
    for (const method of ['1', 'null', 'true', '[]', '{}']) {
      expect(await provoke(`{"jsonrpc":"2.0","id":"m","method":${method}}\n`)).toEqual([refusalOf('m', -32600)])
      expect(await provoke(`{"jsonrpc":"2.0","method":${method}}\n`)).toEqual([refusal(-32600)])
    }
  })

  it('accepts CRLF as a line ending [STDIO-003]', async () => {
    const call = (id: string) => `${server.request(id, 'tools/call', { name: 'echo', arguments: {} })}\r\n`
    expect((await provoke(call('a') + call('b'))).map(({ id }) => id)).toEqual(['a', 'b'])
  })

  it('ignores empty lines [STDIO-003]', async () => {
    expect(await provoke('\n\n\r\n   \n\t\r\n\n')).toEqual([])
  })

  it('reads a message that arrives one byte at a time [STDIO-002, STDIO-003, RPC-019]', async () => {
    const line = `${server.request('bytes', 'tools/call', { name: 'echo', arguments: { text: 'é€😀' } })}\n`
    for (const byte of Buffer.from(line)) {
      server.write(Uint8Array.of(byte))
      await new Promise(setImmediate)
    }
    expect((await server.answerTo('bytes')).result?.content?.[0]?.text).toBe('{"text":"é€😀"}')
  })

  it('reads ten messages that arrive in one chunk [STDIO-002, STDIO-003]', async () => {
    const ids = Array.from({ length: 10 }, (_, at) => `ten-${at}`)
    const lines = ids.map((id) => `${server.request(id, 'tools/call', { name: 'echo', arguments: { id } })}\n`)
    const said = await provoke(lines.join(''))
    expect(said.map(({ id, result }) => [id, result?.content?.[0]?.text])).toEqual(
      ids.map((id) => [id, JSON.stringify({ id })]),
    )
  })

  it('answers with an error that reveals no internals when a handler throws or rejects [RPC-029]', async () => {
    for (const method of ['custom/bug', 'custom/late-bug']) {
      expect(await server.ask(method)).toMatchObject({ error: { code: -32603, message: 'Internal error' } })
      await server.stillWorks()
    }
    const message = expect.stringMatching(/^The result of custom\/circular cannot be sent: .* is a circular reference$/)
    expect(await server.ask('custom/circular')).toMatchObject({ error: { code: -32603, message } })
    await server.stillWorks()
    await server.until(() => server.stderr.includes('a secret of the inside'))
    expect(server.lines.join()).not.toContain('secret')
    const { result } = await server.call('throw-late')
    expect(result).toMatchObject({ isError: true, content: [{ type: 'text', text: 'thrown late' }] })
    await server.stillWorks()
  })

  it('keeps the output of handlers out of stdout and warns once [STDIO-008, STDIO-005]', async () => {
    const before = server.lines.length
    const [first, second] = await Promise.all([server.call('print'), server.call('print')])
    expect([first, second].map(({ result }) => result?.content?.[0]?.text)).toEqual(['done', 'done'])
    await server.until(() => server.stderr.split('written raw\n').length === 3)
    expect(server.lines.slice(before).join()).not.toContain('printed')
    expect(server.stderr).toContain('printed by a tool\nprinted again\nwritten raw\n')
    const warnings = server.stderr
      .split('\n')
      .filter((line) => line.startsWith('[tenon] stdout is reserved for MCP messages'))
    expect(warnings).toHaveLength(1)
    expect(warnings[0]).toContain('fixtures/server.js')
  })

  it('wrote nothing but JSON-RPC messages to stdout [STDIO-008, STDIO-002, RPC-001, RPC-009, RPC-010]', async () => {
    await server.stillWorks()
    expect(server.lines.length).toBeGreaterThan(10)
    for (const message of server.messages) {
      expect(message.jsonrpc).toBe('2.0')
      expect(['result' in message, 'error' in message].filter(Boolean)).toHaveLength(1)
    }
  })
})
