import { McpError, type RevisionId, revisionIds } from 'tenon'
import { type Client, connect, StdioClientTransport } from 'tenon/client'
import { ScriptedServer } from 'tenon/testing'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { NodeProcess } from '../../kit/child-process.ts'
import { everyRevision, handshakeRevisions } from '../../kit/revisions.ts'
import { answersIn, clientOf, fixture, node, scriptedServer } from './support.ts'

const eras: RevisionId[] = ['2025-11-25', '2026-07-28']
const program = { command: node, args: [fixture('bad-server.js')] }
const line = (message: object) => `${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`
const note = (method: string, params?: unknown) => line({ method, ...(params !== undefined && { params }) })

const bad: [string, string | Buffer][] = [
  ['text that is not JSON', 'Listening on port 3000\n'],
  ['half a message', '{"jsonrpc":"2.0","id":1\n'],
  ['bytes that are not UTF-8', Buffer.from([0x7b, 0xff, 0xfe, 0x7d, 0x0a])],
  ['nesting of 10,000 levels', `{"jsonrpc":"2.0","id":5,"result":${'{"a":'.repeat(10_000)}1${'}'.repeat(10_000)}}\n`],
  ['empty lines and CRLF', '\n\r\n  \n{"jsonrpc":"2.0","method":"notifications/x"}\r\n\n'],
  ['bare values', '5\n"text"\nnull\ntrue\n[]\n'],
  [
    'responses to unknown requests',
    line({ id: 99_999, result: {} }) + line({ id: 'x', result: {} }) + line({ id: -1, result: {} }),
  ],
  [
    'errors for unknown requests',
    line({ id: 99_999, error: { code: 1, message: 'x' } }) + line({ error: { code: 1, message: 'x' } }),
  ],
  [
    'responses with invalid ids',
    line({ id: null, result: {} }) + line({ id: 1.5, result: {} }) + line({ id: {}, result: {} }),
  ],
  [
    'responses with invalid results',
    line({ id: 99_999, result: 5 }) + line({ id: 99_999, result: [] }) + line({ id: 99_999, result: null }),
  ],
  [
    'responses with invalid errors',
    line({ id: 99_999, error: 'x' }) + line({ id: 99_999, error: { code: 'x', message: 5 } }),
  ],
  [
    'responses with both result and error, or neither',
    line({ id: 99_999, result: {}, error: { code: 1, message: 'x' } }) + line({ id: 99_999 }),
  ],
  ['another version of JSON-RPC', '{"jsonrpc":"1.0","id":99999,"result":{}}\n{"id":99999,"result":{}}\n'],
  [
    '__proto__ and constructor',
    '{"jsonrpc":"2.0","method":"__proto__","params":{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}}}}\n',
  ],
  ['notifications with unknown names', note('notifications/no-such') + note('constructor', {}) + note('', {})],
  [
    'notifications with invalid params',
    [
      note('notifications/progress', {}),
      note('notifications/progress', { progressToken: {}, progress: 'x' }),
      note('notifications/cancelled', { requestId: [] }),
      note('notifications/message', { level: 5 }),
      note('notifications/resources/updated', { uri: 5 }),
      note('notifications/subscriptions/acknowledged', { notifications: 5, _meta: 5 }),
      note('notifications/tools/list_changed', []),
      note('notifications/tools/list_changed', null),
    ].join(''),
  ],
  [
    'requests with invalid ids',
    line({ id: null, method: 'ping' }) + line({ id: 1.5, method: 'ping' }) + line({ id: true, method: 'ping' }),
  ],
  ['many requests', Array.from({ length: 1_000 }, (_, id) => line({ id, method: 'no/such' })).join('')],
]

describe.each(eras)('a client that receives invalid data from a server (%s)', (revision) => {
  it.each(bad)('keeps working after %s', async (_what, bytes) => {
    const env = { BAD: Buffer.from(bytes).toString('base64') }
    await using client = await connect({ ...program, env }, { revision, restarts: 0 })
    const id = (await client.request('bad')).id
    expect(id).toBeTypeOf('number')
    expect(await client.request('next')).toMatchObject({ method: 'next' })
    expect(client.state).toBe('ready')
    expect({}).not.toHaveProperty('polluted')
  })

  it('discards a line of 100 MB and keeps working', async () => {
    const env = { HUGE: String(100 * 1024 * 1024) }
    await using client = await connect({ ...program, env }, { revision, restarts: 0 })
    let heard = 0
    client.setNotificationHandler('notifications/x', () => heard++)
    await client.request('bad')
    expect(await client.request('next')).toMatchObject({ method: 'next' })
    expect(heard).toBe(0)
  })
})

describe('a client of a server process that writes text other than JSON', () => {
  everyRevision(
    'answers -32700 on revisions where a client may answer [RPC-024, RPC-011]',
    async (revision) => {
      let told = ''
      const transport = new StdioClientTransport({
        ...program,
        env: { BAD: Buffer.from('no JSON\n').toString('base64') },
        stderr: (text) => {
          told += text
        },
      })
      await using client = await connect(transport, { revision })
      await client.request('bad')
      await client.request('next')
      await client.close()
      const answers = told
        .split('\n')
        .filter(Boolean)
        .map((text) => JSON.parse(text))
      const error = { code: -32700, message: expect.any(String) }
      expect(answers).toEqual([
        revision === '2025-11-25' ? { jsonrpc: '2.0', error } : { jsonrpc: '2.0', id: null, error },
      ])
    },
    handshakeRevisions,
  )

  it('sends no response at all on 2026-07-28 [RPC-039, STDIO-009]', async () => {
    let told = ''
    const transport = new StdioClientTransport({
      ...program,
      env: { BAD: Buffer.from('no JSON\n').toString('base64') },
      stderr: (text) => {
        told += text
      },
    })
    await using client = await connect(transport, { revision: '2026-07-28' })
    await client.request('bad')
    await client.request('next')
    await client.close()
    expect(told).toBe('')
  })
})

describe('a client that waits for a response', () => {
  const malformed: [string, string, object][] = [
    ['a result that is not an object', 'RPC-009', { jsonrpc: '2.0', result: 5 }],
    ['a result that is null', 'RPC-009', { jsonrpc: '2.0', result: null }],
    ['both result and error', 'RPC-010', { jsonrpc: '2.0', result: {}, error: { code: 1, message: 'x' } }],
    ['neither result nor error', 'RPC-009', { jsonrpc: '2.0' }],
    ['an error that is not an object', 'RPC-012', { jsonrpc: '2.0', error: 'x' }],
    ['an error without a code', 'RPC-012', { jsonrpc: '2.0', error: { message: 'x' } }],
    ['an error whose code is not an integer', 'RPC-012', { jsonrpc: '2.0', error: { code: 1.5, message: 'x' } }],
    ['an error without a message', 'RPC-012', { jsonrpc: '2.0', error: { code: 5 } }],
    ['another version of JSON-RPC', 'RPC-001', { jsonrpc: '1.0', result: {} }],
  ]
  describe.each(eras)('(%s)', (revision) => {
    for (const [what, row, body] of malformed) {
      it(`rejects the request immediately when the response has ${what} [${row}]`, async () => {
        const server = scriptedServer(revision, {
          ask: (_params, { id }) => {
            server.say({ ...body, id })
            return undefined
          },
          next: () => ({ result: { resultType: 'complete' } }),
        })
        await using client = await clientOf(server, revision)
        const error = await client.request('ask', {}, { timeoutMs: 300 }).catch((reason) => reason)
        expect(error).toBeInstanceOf(McpError)
        expect(error.code).toBe('invalid-response')
        await client.request('next')
      })
    }

    it('does not answer an invalid response, because its id would refer to a request of the server', async () => {
      const server = scriptedServer(revision, {
        ask: (_params, { id }) => {
          server.say({ jsonrpc: '2.0', id, result: 5 })
          return undefined
        },
        next: () => ({ result: { resultType: 'complete' } }),
      })
      await using client = await clientOf(server, revision)
      await client.request('ask', {}, { timeoutMs: 100 }).catch(() => {})
      await client.request('next')
      expect(answersIn(server.transcript)).toEqual([])
    })
  })
})

describe.each([...revisionIds])('a client whose server returns results of the wrong type (%s)', (revision) => {
  let result: Record<string, unknown>
  let client: Client
  beforeAll(async () => {
    const give = () => ({ result: { resultType: 'complete', ...result } })
    const server = scriptedServer(revision, { '*': give }, { tools: {}, prompts: {}, resources: {}, completions: {} })
    client = await clientOf(server, revision, { cache: false })
  })
  afterAll(() => client.close())

  const complete = { ref: { type: 'ref/prompt' as const, name: 'x' }, argument: { name: 'a', value: '' } }
  const calls: [string, () => PromiseLike<unknown>][] = [
    ['tools/list', () => client.listTools().all()],
    ['prompts/list', () => client.listPrompts().all()],
    ['resources/list', () => client.listResources().all()],
    ['resources/templates/list', () => client.listResourceTemplates().all()],
    ['resources/read', () => client.readResource('x://y')],
    ['prompts/get', () => client.getPrompt('x')],
    ['completion/complete', () => client.complete(complete)],
  ]
  it.each(calls)('rejects an invalid response to %s', async (_method, call) => {
    const wrong = [5, 'text', null, {}, true]
    for (const value of [undefined, ...wrong]) {
      result = Object.fromEntries(
        ['tools', 'prompts', 'resources', 'resourceTemplates', 'contents', 'messages', 'completion'].map((name) => [
          name,
          value,
        ]),
      )
      const error = await call().then(
        () => `success with ${JSON.stringify(value)}`,
        (reason) => reason,
      )
      expect(error).toMatchObject({ code: 'invalid-response' })
    }
  })

  it('keeps the valid items of a list', async () => {
    const tool = { name: 'good', inputSchema: { type: 'object' } }
    result = { tools: [null, 5, 'x', [], {}, { name: 5, inputSchema: {} }, { name: 'bad', inputSchema: 5 }, tool] }
    expect((await client.listTools().all()).map(({ name }) => name)).toEqual(['good'])
    result = { resources: [null, {}, { uri: 5 }, { uri: 'a://b', name: 'good' }] }
    expect((await client.listResources().all()).map(({ name }) => name)).toEqual(['good'])
  })

  it('rejects a cursor that is not a string', async () => {
    for (const nextCursor of [5, {}, true]) {
      result = { tools: [], nextCursor }
      await expect(client.listTools().all()).rejects.toMatchObject({ code: 'invalid-response' })
    }
  })

  it('reads the text of a tool result with invalid content items', async () => {
    for (const content of [undefined, null, 5, 'text', {}, [null], [5, 'x', []], [{}], [{ type: 5 }]]) {
      result = { content }
      expect((await client.callTool('any')).text).toBe('')
    }
    result = { content: [null, { type: 'text', text: 'good' }] }
    expect((await client.callTool('any')).text).toBe('good')
  })
})

describe('a client whose server answers the handshake with invalid data', () => {
  it.each([
    ['protocolVersion', { protocolVersion: 5, capabilities: {}, serverInfo: { name: 'x', version: '1' } }],
    ['everything', { protocolVersion: {}, capabilities: 5, serverInfo: 'x' }],
    ['nothing', {}],
  ])('rejects connect() when %s is wrong', async (_what, result) => {
    const server = new ScriptedServer({ initialize: () => ({ result }) })
    await expect(clientOf(server, '2025-11-25')).rejects.toBeInstanceOf(McpError)
  })

  it.each([5, null, 'text', []])('treats capabilities of %j as empty', async (capabilities) => {
    for (const revision of eras) {
      await using client = await clientOf(scriptedServer(revision, {}, capabilities as never), revision)
      expect(client.getServerCapabilities()).toEqual({})
      await expect(client.listTools().all()).rejects.toMatchObject({ code: 'capability-missing' })
    }
  })

  it('falls back to the handshake when the discovery result is invalid', async () => {
    for (const result of [{}, { supportedVersions: 5 }, { supportedVersions: null, capabilities: [] }]) {
      const server = new ScriptedServer({
        'server/discover': () => ({ result }),
        initialize: () => ({
          result: { protocolVersion: '2025-06-18', capabilities: {}, serverInfo: { name: 'x', version: '1' } },
        }),
      })
      await using client = await clientOf(server, '2026-07-28', { revision: undefined } as never)
      expect(client.revision).toBe('2025-06-18')
    }
  })
})

describe('a client whose own callbacks throw', () => {
  it('keeps working when a progress listener or a notification handler throws', async () => {
    const env = {
      BAD: Buffer.from(
        [1, 2, 3].map((id) => note('notifications/progress', { progressToken: id, progress: 1 })).join('') +
          note('notifications/x'),
      ).toString('base64'),
    }
    const host = `
      import { connect } from 'tenon/client'
      const program = ${JSON.stringify({ ...program, env })}
      const client = await connect(program, { revision: '2026-07-28', restarts: 0 })
      client.on('error', () => {})
      client.setNotificationHandler('notifications/x', () => { throw new Error('thrown by a handler') })
      await client.request('bad', {}, { onProgress: () => { throw new Error('thrown by a listener') } })
      await client.request('next')
      await client.close()
      process.stdout.write('survived')`
    await using child = new NodeProcess(['--input-type=module', '-e', host], { cwd: fixture('.') })
    const { code } = await child.exited
    expect([child.stdout, code, child.stderr.split('\n')[0]]).toEqual(['survived', 0, expect.any(String)])
  })
})
