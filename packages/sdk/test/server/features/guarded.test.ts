import { once } from 'node:events'
import { PassThrough } from 'node:stream'
import { bearer } from 'tenon/auth/client'
import { hasScopes } from 'tenon/auth/server'
import { type Client, connect } from 'tenon/client'
import {
  type Context,
  completable,
  McpServer,
  type McpServerOptions,
  ResourceTemplate,
  StdioServerTransport,
  serveHttp,
} from 'tenon/server'
import { tasks } from 'tenon/tasks'
import { ScriptedClient } from 'tenon/testing'
import { describe, expect, it } from 'vitest'
import * as z from 'zod'
import { everyPipe } from '../../kit/every-wire.ts'
import { ask, notes } from './support.ts'

const info = { name: 'vault', version: '1.0.0' }
const requiredScopes = ['take']
const eras = ['2025-11-25', '2026-07-28'] as const

/** Registers one guarded item of every kind. */
function addItems(server: McpServer, scheme: string): McpServer {
  const execution = { taskSupport: 'optional' } as const
  server.registerTool('take', { requiredScopes, execution }, () => 'taken')
  server.registerResource('gold', `${scheme}://gold`, { requiredScopes }, () => 'gold')
  const template = new ResourceTemplate(`${scheme}://box/{id}`, {
    list: () => [{ uri: `${scheme}://box/7`, name: 'box of Ann' }],
    complete: { id: (typed, _settled, ctx) => [typed, `for ${ctx.auth?.subject}`] },
  })
  server.registerResource('box', template, { requiredScopes }, () => 'silver')
  const how = completable(z.string(), (typed, _settled, ctx: Context) => [typed, `for ${ctx.auth?.subject}`])
  server.registerPrompt('rob', { requiredScopes, argsSchema: { how } }, () => 'How?')
  return server
}

/** Creates a server with guarded items of its own and with those of a mounted server. */
function createVault(options: McpServerOptions = {}): McpServer {
  const server = addItems(new McpServer(info, { tasks: tasks(), ...options }), 'vault')
  return server.mount(addItems(new McpServer({ ...info, name: 'annex' }), 'annex'), { prefix: 'annex' })
}

interface Row {
  kind: string
  method: string
  params: Record<string, unknown>
  revisions?: readonly string[]
}

/** Every method that can name a guarded item. Tasks are tested below because their ids are created at run time. */
const rows: Row[] = [
  { prefix: '', scheme: 'vault' },
  { prefix: 'annex_', scheme: 'annex' },
].flatMap(({ prefix, scheme }): Row[] => {
  const where = prefix === '' ? '' : 'mounted '
  const prompt = { type: 'ref/prompt', name: `${prefix}rob` }
  const template = { type: 'ref/resource', uri: `${scheme}://box/{id}` }
  const subscriptions = [`${scheme}://gold`, `${scheme}://box/7`].flatMap((uri, index): Row[] => {
    const kind = where + (index === 0 ? 'resource' : 'template')
    const listen = { notifications: { resourceSubscriptions: [uri] } }
    return [
      { kind, method: 'resources/read', params: { uri } },
      { kind, method: 'resources/subscribe', params: { uri }, revisions: ['2025-11-25'] },
      { kind, method: 'subscriptions/listen', params: listen, revisions: ['2026-07-28'] },
    ]
  })
  return [
    ...subscriptions,
    { kind: `${where}tool`, method: 'tools/call', params: { name: `${prefix}take`, arguments: {} } },
    {
      kind: `${where}tool`,
      method: 'tools/call',
      params: { name: `${prefix}take`, arguments: {}, task: {} },
      revisions: ['2025-11-25'],
    },
    { kind: `${where}prompt`, method: 'prompts/get', params: { name: `${prefix}rob`, arguments: { how: 'x' } } },
    {
      kind: `${where}prompt`,
      method: 'completion/complete',
      params: { ref: prompt, argument: { name: 'how', value: 'a' } },
    },
    {
      kind: `${where}template`,
      method: 'completion/complete',
      params: { ref: template, argument: { name: 'id', value: 'a' } },
    },
    {
      kind: `${where}resource`,
      method: 'completion/complete',
      params: { ref: { type: 'ref/resource', uri: `${scheme}://gold` }, argument: { name: 'id', value: 'a' } },
    },
  ]
})

const cases = eras.flatMap((revision) =>
  rows
    .filter(({ revisions }) => revisions?.includes(revision) ?? true)
    .map((row) => ({ ...row, revision, task: 'task' in row.params ? ' as a task' : '' })),
)

/** Returns the response to a request; for a listen, which stays open, its acknowledgement. */
async function answerTo(client: ScriptedClient, { method, params }: Row) {
  if (method !== 'subscriptions/listen') return ask(client, method, params)
  const acknowledged = client.nextNotification('notifications/subscriptions/acknowledged')
  return Promise.race([
    ask(client, method, params),
    acknowledged.then(({ params }) => ({ error: undefined, result: params })),
  ])
}

async function openAs(server: McpServer, revision: (typeof eras)[number], scopes: string[]) {
  const auth = { subject: 'ann', scopes }
  const capabilities = { extensions: { 'io.modelcontextprotocol/tasks': {} } }
  const client = await ScriptedClient.connect(server, { revision, auth, capabilities })
  await client.open()
  return client
}

/** Serves with a verifier that reads the scopes directly from the token. */
async function serve(server: McpServer) {
  const verify = (token: string) => ({ subject: 'ann', scopes: token.split('+') })
  const authorizationServers = ['https://issuer.example']
  const http = await serveHttp(server, { port: 0, exit: false, auth: { verify, authorizationServers } })
  return { url: http.url, [Symbol.asyncDispose]: () => http.close() }
}

describe('a guarded item', () => {
  for (const row of cases) {
    it(`rejects callers without its scope: ${row.method}${row.task}, ${row.kind} (${row.revision}) [TOOL-050, COMP-011]`, async () => {
      await using poor = await openAs(createVault(), row.revision, ['look'])
      const { error } = await answerTo(poor, row)
      expect(error).toMatchObject({ code: -32_000, data: { error: 'insufficient_scope', scopes: ['take'] } })
      await using rich = await openAs(createVault(), row.revision, ['look', 'take'])
      const { error: none, result } = await answerTo(rich, row)
      expect(none).toBeUndefined()
      if (row.method === 'completion/complete' && !row.kind.endsWith('resource')) {
        expect(result.completion.values).toEqual(['a', 'for ann'])
      }
    })
  }

  for (const revision of eras) {
    it(`answers every method with 403 and its scope over HTTP (${revision}) [TOOL-050, COMP-011]`, async () => {
      await using http = await serve(createVault())
      await using client = await connect(http.url, { revision, auth: bearer('look') })
      for (const row of cases.filter((row) => row.revision === revision)) {
        const sent = row.params.notifications
          ? client.listen(row.params.notifications)
          : client.request(row.method, row.params)
        await expect(sent, `${row.method}, ${row.kind}`).rejects.toMatchObject({ status: 403 })
      }
    })

    it(`rejects unauthenticated callers in memory (${revision})`, async () => {
      await using client = await connect(createVault(), { revision })
      await expect(client.callTool('take')).rejects.toThrow(/pass `auth` to connect\(\)/)
      await using other = await connect(createVault(), { revision, auth: { scopes: ['take'] } })
      expect((await other.callTool('take')).text).toBe('taken')
    })

    it(`does not send its updates to sessions that may no longer read it (${revision})`, async () => {
      const server = createVault()
      const open = server.registerResource('news', 'vault://news', {}, () => 'news')
      await using client = await openAs(server, revision, ['look'])
      const [subscribe, params] =
        revision === '2025-11-25'
          ? ['resources/subscribe', { uri: 'vault://news' }]
          : ['subscriptions/listen', { notifications: { resourceSubscriptions: ['vault://news'] } }]
      await answerTo(client, { kind: '', method: subscribe, params })
      const heard = client.nextNotification('notifications/resources/updated')
      server.sendResourceUpdated('vault://news')
      await heard
      open.update({ requiredScopes })
      server.sendResourceUpdated('vault://news')
      await ask(client, 'tools/list')
      expect(notes(client.transcript, 'notifications/resources/updated')).toHaveLength(1)
    })
  }

  it('hides its tasks from callers without its scope (2026-07-28) [XTASK-039]', async () => {
    const server = createVault({ tasks: tasks({ policy: 'always' }) })
    for (const name of ['take', 'annex_take']) {
      await using rich = await openAs(server, '2026-07-28', ['take'])
      const { taskId } = (await ask(rich, 'tools/call', { name, arguments: {} })).result
      await using poor = await openAs(server, '2026-07-28', ['look'])
      for (const method of ['tasks/get', 'tasks/update', 'tasks/cancel']) {
        const { error } = await ask(poor, method, { taskId, inputResponses: {} })
        expect(error, method).toMatchObject({ data: { error: 'insufficient_scope' } })
      }
      const listen: Row = { kind: '', method: 'subscriptions/listen', params: { notifications: { taskIds: [taskId] } } }
      expect((await answerTo(poor, listen)).result).toMatchObject({ notifications: { taskIds: [] } })
      expect((await ask(rich, 'tasks/get', { taskId })).result).toMatchObject({ taskId })
    }
    await server.close()
  })

  it('hides its tasks from callers without its scope (2025-11-25) [TASK-049]', async () => {
    const server = createVault()
    await using rich = await openAs(server, '2025-11-25', ['take'])
    const { task } = (await ask(rich, 'tools/call', { name: 'take', arguments: {}, task: {} })).result
    await using poor = await openAs(server, '2025-11-25', ['look'])
    for (const method of ['tasks/get', 'tasks/result', 'tasks/cancel']) {
      const { error } = await ask(poor, method, { taskId: task.taskId })
      expect(error, method).toMatchObject({ data: { error: 'insufficient_scope' } })
    }
    expect((await ask(poor, 'tasks/list')).result.tasks).toEqual([])
    expect((await ask(rich, 'tasks/list')).result.tasks).toHaveLength(1)
    await server.close()
  })

  it('hides its tasks in task lists of callers without its scope after the tool was removed [TASK-049]', async () => {
    const server = new McpServer(info, { tasks: tasks() })
    const tool = server.registerTool('take', { requiredScopes, execution: { taskSupport: 'optional' } }, () => 'taken')
    await using rich = await openAs(server, '2025-11-25', ['take'])
    await ask(rich, 'tools/call', { name: 'take', arguments: {}, task: {} })
    tool.remove()
    await using poor = await openAs(server, '2025-11-25', ['look'])
    expect((await ask(poor, 'tasks/list')).result.tasks).toEqual([])
    expect((await ask(rich, 'tasks/list')).result.tasks).toHaveLength(1)
    await server.close()
  })

  describe.each(eras)('with a template that matches other spellings of its URI (%s)', (revision) => {
    function createNotes() {
      const server = new McpServer(info)
      const exact = server.registerResource('plan', "notes://private/the'plan", { requiredScopes }, () => 'secret')
      server.registerResource('any', new ResourceTemplate('notes://{folder}/{id}'), {}, () => 'template')
      const inner = new McpServer(info)
      inner.registerResource('rest', new ResourceTemplate('{+uri}'), {}, () => 'template')
      return { exact, server: server.mount(inner, { prefix: 'in' }) }
    }

    it.each([
      "notes://private/the'pl%61n",
      "notes://%70rivate/the'plan",
      "NOTES://private/the'plan",
      'notes://private/the%27plan',
      'notes://private%2Fthe%27plan',
      "notes://private/x/../the'plan",
      "notes://private/%2e/the'plan",
      "notes://private/the'plan?",
      "notes://private/the'plan#top",
    ])('rejects callers without its scope for %s [TOOL-050]', async (uri) => {
      const { exact, server } = createNotes()
      const listen = { notifications: { resourceSubscriptions: [uri] } }
      const subscribing: [string, Record<string, unknown>] =
        revision === '2025-11-25' ? ['resources/subscribe', { uri }] : ['subscriptions/listen', listen]
      await using poor = await openAs(server, revision, ['look'])
      for (const [method, params] of [['resources/read', { uri }] as const, subscribing]) {
        const { error } = await answerTo(poor, { kind: '', method, params })
        expect(error, method).toMatchObject({ data: { error: 'insufficient_scope', scopes: ['take'] } })
      }
      await using rich = await openAs(server, revision, ['take'])
      expect((await ask(rich, 'resources/read', { uri })).result.contents).toMatchObject([{ text: 'secret' }])
      exact.remove()
      expect((await ask(poor, 'resources/read', { uri })).result.contents).toMatchObject([{ text: 'template' }])
    })

    it('does not affect other URIs of the template', async () => {
      await using poor = await openAs(createNotes().server, revision, ['look'])
      for (const uri of ['notes://private/other', 'notes://public/pl%61n', 'notes://private/the%2527plan']) {
        expect((await ask(poor, 'resources/read', { uri })).result.contents).toMatchObject([{ uri, text: 'template' }])
      }
    })
  })

  it('rejects a caller whose scopes are a string that contains the name of the scope', async () => {
    await expect(connect(createVault(), { auth: { scopes: 'mistake' as never } })).rejects.toThrow(
      /pass an identity, not a token/,
    )
    expect(hasScopes({ scopes: 'mistake' as never }, ['take'])).toBe(false)
  })
})

describe('completion', () => {
  function createNotes() {
    const asked: string[] = []
    const list = (...values: string[]) => {
      return (typed: string) => {
        asked.push(typed)
        return { values: values.filter((value) => value.startsWith(typed)), total: values.length }
      }
    }
    const server = new McpServer(info)
    server.registerResource('plan', 'notes://private/plan', { requiredScopes }, () => 'secret')
    const all = new ResourceTemplate('notes://{folder}/{id}', {
      complete: { id: list('picnic', 'plan', 'party'), folder: list('private', 'public') },
    })
    server.registerResource('notes', all, {}, () => 'text')
    const guarded = new ResourceTemplate('safe://{id}', { complete: { id: list('gold') } })
    server.registerResource('safe', guarded, { requiredScopes }, () => 'text')
    const how = completable(z.string(), list('crowbar'))
    server.registerPrompt('rob', { requiredScopes, argsSchema: { how } }, () => 'How?')
    return { server, asked }
  }

  const complete = (client: ScriptedClient, uri: string, value: string, folder?: string) =>
    ask(client, 'completion/complete', {
      ref: { type: 'ref/resource', uri },
      argument: { name: 'id', value },
      ...(folder && { context: { arguments: { folder } } }),
    })

  describe.each(eras)('on %s', (revision) => {
    it('does not run the completers of guarded items for callers without the scope [COMP-012]', async () => {
      const { server, asked } = createNotes()
      await using poor = await openAs(server, revision, ['look'])
      const prompt = { ref: { type: 'ref/prompt', name: 'rob' }, argument: { name: 'how', value: 'c' } }
      for (const answer of [await complete(poor, 'safe://{id}', 'g'), await ask(poor, 'completion/complete', prompt)]) {
        expect(answer.error).toMatchObject({ data: { error: 'insufficient_scope' } })
        expect(JSON.stringify(answer)).not.toMatch(/gold|crowbar/)
      }
      expect(asked).toEqual([])
    })

    it('leaves out values that name a resource which the caller may not read [COMP-011, COMP-012]', async () => {
      const { server } = createNotes()
      await using poor = await openAs(server, revision, ['look'])
      await using rich = await openAs(server, revision, ['take'])
      const template = 'notes://{folder}/{id}'
      const seen = async (client: ScriptedClient, folder?: string) =>
        (await complete(client, template, 'p', folder)).result.completion
      expect(await seen(rich, 'private')).toMatchObject({ values: ['picnic', 'plan', 'party'], total: 3 })
      expect(await seen(poor, 'private')).toEqual({ values: ['picnic', 'party'], total: 2, hasMore: false })
      expect(await seen(poor, 'public')).toMatchObject({ values: ['picnic', 'plan', 'party'], total: 3 })
    })
  })
})

describe('a prompt', () => {
  it.each(eras)('does not embed a resource that the caller may not read (%s) [PROMPT-022]', async (revision) => {
    const server = new McpServer(info)
    server.registerResource('plan', 'notes://plan', { requiredScopes }, () => 'secret')
    server.registerPrompt('review', {}, () => ({
      messages: [{ role: 'user', content: { type: 'resource', resource: { uri: 'notes://pl%61n', text: 'secret' } } }],
    }))
    await using poor = await openAs(server, revision, ['look'])
    const refused = await ask(poor, 'prompts/get', { name: 'review' })
    expect(refused.error).toMatchObject({ data: { error: 'insufficient_scope', scopes: ['take'] } })
    expect(JSON.stringify(refused)).not.toContain('secret')
    await using rich = await openAs(server, revision, ['take'])
    expect((await ask(rich, 'prompts/get', { name: 'review' })).result.messages).toHaveLength(1)
  })
})

describe('lists', () => {
  const listAll = async (client: Client) => ({
    tools: (await client.listTools().all()).map(({ name }) => name),
    prompts: (await client.listPrompts().all()).map(({ name }) => name),
    resources: (await client.listResources().all()).map(({ uri }) => uri),
    templates: (await client.listResourceTemplates().all()).map(({ uriTemplate }) => uriTemplate),
  })
  const templates = ['vault://box/{id}', 'annex://box/{id}']
  const named = { tools: ['take', 'annex_take'], prompts: ['rob', 'annex_rob'], templates }
  const nothing = { tools: [], prompts: [], resources: [], templates: [] }
  const poorAuth = { subject: 'bob', scopes: ['look'] }
  const richAuth = { subject: 'ann', scopes: ['take'] }

  for (const revision of eras) {
    it(`show guarded items to every caller, but not the resources of a guarded template (${revision})`, async () => {
      const server = createVault()
      await using poor = await connect(server, { revision, auth: poorAuth })
      await using rich = await connect(server, { revision, auth: richAuth })
      expect(await listAll(poor)).toEqual({ ...named, resources: ['vault://gold', 'annex://gold'] })
      expect(await listAll(rich)).toMatchObject({ resources: expect.arrayContaining(['vault://box/7']) })
    })

    it(`omit guarded items for callers without the scope with hideUnauthorized (${revision}) [TOOL-004]`, async () => {
      const server = createVault({ hideUnauthorized: true })
      for (let round = 0; round < 2; round++) {
        await using poor = await connect(server, { revision, auth: poorAuth })
        await using rich = await connect(server, { revision, auth: richAuth })
        expect(await listAll(poor)).toEqual(nothing)
        expect(await listAll(rich)).toMatchObject(named)
        await expect(poor.callTool('take')).rejects.toMatchObject({ data: { scopes: ['take'] } })
      }
    })
  }

  it('omit single items that set hideUnauthorized, also when the server is mounted', async () => {
    const inner = new McpServer(info)
    inner.registerTool('secret', { requiredScopes, hideUnauthorized: true }, () => 'x')
    inner.registerTool('guarded', { requiredScopes }, () => 'x')
    const outer = new McpServer(info).mount(inner, { prefix: 'in' })
    for (const [server, names] of [
      [inner, ['guarded']],
      [outer, ['in_guarded']],
    ] as const) {
      await using poor = await connect(server, { auth: poorAuth })
      await using rich = await connect(server, { auth: richAuth })
      expect(await rich.listTools().all()).toHaveLength(2)
      expect((await poor.listTools().all()).map(({ name }) => name)).toEqual(names)
    }
  })

  it('omit the items of mounted servers when the outer server sets hideUnauthorized', async () => {
    const inner = addItems(new McpServer(info), 'inner')
    const outer = new McpServer(info, { hideUnauthorized: true }).mount(inner, { prefix: 'in' })
    await using poor = await connect(outer, { auth: poorAuth })
    expect(await listAll(poor)).toEqual(nothing)
  })
})

describe('on stdio', () => {
  everyPipe(
    'guarded items are available to the local user, who has no token [AUTH-004]',
    async (wire) => {
      await using pair = await wire.connect(createVault())
      expect((await pair.client.callTool('take')).text).toBe('taken')
    },
    { transports: ['stdio'] },
  )

  it('guarded items are checked against the identity that was passed to the server [AUTH-004]', async () => {
    for (const [scopes, outcome] of [
      [['look'], { error: { data: { scopes: ['take'] } } }],
      [['take'], { result: { content: [{ text: 'taken' }] } }],
    ] as const) {
      const stdin = new PassThrough()
      const stdout = new PassThrough()
      const link = await createVault().connect(
        new StdioServerTransport({ stdin, stdout, auth: { subject: 'ann', scopes } }),
      )
      const _meta = {
        'io.modelcontextprotocol/protocolVersion': '2026-07-28',
        'io.modelcontextprotocol/clientCapabilities': {},
      }
      const params = { name: 'take', arguments: {}, _meta }
      stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params })}\n`)
      const [line] = await once(stdout, 'data')
      expect(JSON.parse(String(line))).toMatchObject(outcome)
      await link.close()
    }
  })
})
