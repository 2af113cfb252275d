import { revisionIds } from 'tenon'
import { McpServer, ResourceTemplate } from 'tenon/server'
import { describe, expect, it, vi } from 'vitest'
import { everyWire } from '../../kit/every-wire.ts'
import { ask, handshakes, notes, requests, results, script, settle } from './support.ts'

const info = { name: 'resources', version: '1' }
const icons = [{ src: 'data:image/png;base64,AAEC', mimeType: 'image/png', sizes: ['any'], theme: 'light' as const }]
const annotations = {
  audience: ['user' as const, 'assistant' as const],
  priority: 0.9,
  lastModified: '2025-01-12T15:00:58Z',
}

function createServer() {
  const server = new McpServer(info)
  server.registerResource('plain', 'notes://plain', {}, () => 'plain text')
  server.registerResource(
    'rich',
    'notes://rich',
    { title: 'Rich', description: 'With everything', mimeType: 'text/markdown', size: 12, annotations, icons },
    () => '# Rich',
  )
  server.registerResource(
    'bytes',
    'notes://bytes',
    { mimeType: 'image/png' },
    () => new Uint8Array([0, 1, 2, 253, 254, 255]),
  )
  server.registerResource('folder', 'file:///project', { mimeType: 'inode/directory' }, () => 'a.txt\nb.txt')
  server.registerResource('several', 'notes://several', { mimeType: 'text/plain' }, () => ({
    contents: [
      { uri: 'notes://several/1', text: 'one' },
      { uri: 'notes://several/2', text: '{}', mimeType: 'application/json' },
      { uri: 'notes://several/3', blob: 'AAEC', mimeType: 'image/png' },
    ],
  }))
  server.registerResource(
    'page',
    new ResourceTemplate('book://{book}/{page}'),
    { title: 'Page', description: 'A page of a book', mimeType: 'text/plain', annotations, icons },
    (_uri, { book, page }) => (book === 'missing' ? undefined : `${book}, page ${page}`),
  )
  return server
}

describe('resource lists', () => {
  everyWire('are served under a declared capability [RES-001, RES-003, RES-004, RES-013, RES-014]', async (wire) => {
    await using pair = await wire.connect(createServer())
    expect(pair.client.getServerCapabilities()?.resources).toEqual({ subscribe: true, listChanged: true })
    const { resources } = await pair.client.listResources()
    expect(resources.map(({ uri, name }) => [uri, name])).toEqual([
      ['notes://plain', 'plain'],
      ['notes://rich', 'rich'],
      ['notes://bytes', 'bytes'],
      ['file:///project', 'folder'],
      ['notes://several', 'several'],
    ])
    const { resourceTemplates } = await pair.client.listResourceTemplates()
    expect(resourceTemplates).toMatchObject([{ uriTemplate: 'book://{book}/{page}', name: 'page' }])
  })

  it.each(revisionIds)('neither exist nor are declared without resources on %s [RES-001]', async (revision) => {
    const server = new McpServer(info)
    await using client = await script(server, revision)
    for (const method of ['resources/list', 'resources/templates/list', 'resources/read']) {
      expect((await ask(client, method, { uri: 'a://b' })).error?.code).toBe(-32601)
    }
    expect(server.server.getCapabilities()).not.toHaveProperty('resources')
  })

  everyWire('show the fields that each revision has for a resource [RES-005, RES-035]', async (wire) => {
    await using pair = await wire.connect(createServer())
    const { id } = wire.revision
    const [plain, rich] = (await pair.client.listResources()).resources
    expect(plain).toEqual({ uri: 'notes://plain', name: 'plain' })
    const { lastModified: _later, ...older } = annotations
    expect(rich).toEqual({
      uri: 'notes://rich',
      name: 'rich',
      description: 'With everything',
      mimeType: 'text/markdown',
      size: 12,
      annotations: id >= '2025-06-18' ? annotations : older,
      ...(id >= '2025-06-18' && { title: 'Rich' }),
      ...(id >= '2025-11-25' && { icons }),
    })
  })

  everyWire('show the fields that each revision has for a template [RES-015, RES-035]', async (wire) => {
    await using pair = await wire.connect(createServer())
    const { id } = wire.revision
    const { lastModified: _later, ...older } = annotations
    expect((await pair.client.listResourceTemplates()).resourceTemplates).toEqual([
      {
        uriTemplate: 'book://{book}/{page}',
        name: 'page',
        description: 'A page of a book',
        mimeType: 'text/plain',
        annotations: id >= '2025-06-18' ? annotations : older,
        ...(id >= '2025-06-18' && { title: 'Page' }),
        ...(id >= '2025-11-25' && { icons }),
      },
    ])
  })

  const bad: [string, object][] = [
    ['an audience nobody is', { audience: ['everyone'] }],
    ['a priority above 1', { priority: 1.5 }],
    ['a priority below 0', { priority: -0.1 }],
    ['a date that is none', { lastModified: 'last Tuesday' }],
  ]
  it.each(bad)('never carry annotations with %s: registration rejects them [RES-035]', (_what, wrong) => {
    const server = new McpServer(info)
    expect(() => server.registerResource('x', 'a://b', { annotations: wrong }, () => 'x')).toThrow(TypeError)
  })

  everyWire('may be empty, and are the same for every connection [RES-006, RES-007]', async (wire) => {
    const server = new McpServer(info)
    const only = server.registerResource('only', 'a://b', {}, () => 'x')
    server.registerTool('touch', {}, () => 'touched')
    await using one = await wire.connect(server, { cache: false })
    await using two = await wire.connect(server, { cache: false })
    const before = (await one.client.listResources()).resources
    await one.client.callTool('touch')
    await one.client.readResource('a://b')
    expect((await one.client.listResources()).resources).toEqual(before)
    expect((await two.client.listResources()).resources).toEqual(before)
    only.remove()
    expect((await one.client.listResources()).resources).toEqual([])
    expect((await two.client.listResources()).resources).toEqual([])
  })

  it.each(revisionIds)('exist when the capability is declared explicitly, on %s [RES-006]', async (revision) => {
    await using client = await script(new McpServer(info, { capabilities: { resources: {} } }), revision)
    expect((await ask(client, 'resources/list')).result.resources).toEqual([])
    expect((await ask(client, 'resources/templates/list')).result.resourceTemplates).toEqual([])
  })

  everyWire('include the resources that a template lists, with the metadata of the template', async (wire) => {
    const server = new McpServer(info)
    const days = ['mon', 'tue']
    const list = () => ({ resources: days.map((day) => ({ uri: `day://${day}`, name: day })) })
    server.registerResource('day', new ResourceTemplate('day://{day}', { list }), { mimeType: 'text/plain' }, () => 'x')
    await using pair = await wire.connect(server, { cache: false })
    expect((await pair.client.listResources()).resources).toEqual([
      { uri: 'day://mon', name: 'mon', mimeType: 'text/plain' },
      { uri: 'day://tue', name: 'tue', mimeType: 'text/plain' },
    ])
    days.push('wed')
    expect((await pair.client.listResources()).resources).toHaveLength(3)
  })
})

describe('resources/read', () => {
  everyWire('returns contents with uri and text [RES-008, RES-009, RES-010, RES-011]', async (wire) => {
    await using pair = await wire.connect(createServer())
    expect((await pair.client.readResource('notes://rich')).contents).toEqual([
      { uri: 'notes://rich', text: '# Rich', mimeType: 'text/markdown' },
    ])
    expect((await pair.client.readResource('notes://plain')).contents).toEqual([
      { uri: 'notes://plain', text: 'plain text' },
    ])
  })

  everyWire('returns binary data as base64 [RES-009, RES-011]', async (wire) => {
    const server = createServer()
    const large = new Uint8Array(100_000).map((_, index) => index % 251)
    server.registerResource('large', 'notes://large', {}, async () => large)
    await using pair = await wire.connect(server)
    const [item] = (await pair.client.readResource('notes://bytes')).contents
    expect(item).toEqual({ uri: 'notes://bytes', blob: 'AAEC/f7/', mimeType: 'image/png' })
    const [big] = (await pair.client.readResource('notes://large')).contents as { blob: string }[]
    // toEqual would compare 100,000 numbers one by one, which takes seconds.
    expect(Buffer.from(big!.blob, 'base64').equals(large)).toBe(true)
    expect(big).not.toHaveProperty('text')
  })

  everyWire('can return several items, each with its MIME type [RES-010, RES-012]', async (wire) => {
    await using pair = await wire.connect(createServer())
    expect((await pair.client.readResource('notes://several')).contents).toEqual([
      { uri: 'notes://several/1', text: 'one', mimeType: 'text/plain' },
      { uri: 'notes://several/2', text: '{}', mimeType: 'application/json' },
      { uri: 'notes://several/3', blob: 'AAEC', mimeType: 'image/png' },
    ])
  })

  everyWire('reads a file: resource that is not a file [RES-030]', async (wire) => {
    await using pair = await wire.connect(createServer())
    expect((await pair.client.readResource('file:///project')).contents).toEqual([
      { uri: 'file:///project', text: 'a.txt\nb.txt', mimeType: 'inode/directory' },
    ])
  })

  everyWire(
    'rejects an unknown resource with its uri, and never returns empty contents [RES-023, RES-024, RES-025]',
    async (wire) => {
      const server = createServer()
      const gone = server.registerResource('gone', 'notes://gone', {}, () => 'x')
      gone.disable()
      server.registerResource('empty', 'notes://empty', {}, () => undefined)
      await using pair = await wire.connect(server)
      const rpcCode = wire.revision.id === '2026-07-28' ? -32602 : -32002
      for (const uri of ['notes://unknown', 'notes://gone', 'notes://empty', 'book://missing/3', 'other:thing']) {
        const failure = await pair.client.readResource(uri).catch((error) => error)
        expect(failure).toMatchObject({ code: 'peer', rpcCode, data: { uri } })
      }
      expect(JSON.stringify(results(pair.transcript))).not.toContain('contents')
    },
  )

  it.each(revisionIds)('rejects an invalid uri on %s [RES-032]', async (revision) => {
    await using client = await script(createServer(), revision)
    for (const uri of ['', 'nothing', '/etc/passwd', '//host/x', 'http://', 'a b://c', '1x://y']) {
      expect((await ask(client, 'resources/read', { uri })).error?.code).toBe(-32602)
    }
    for (const params of [{}, { uri: 7 }, { uri: null }]) {
      expect((await ask(client, 'resources/read', params)).error?.code).toBe(-32602)
    }
  })

  it.each(handshakes)('rejects a subscription to an invalid uri on %s [RES-032]', async (revision) => {
    await using client = await script(createServer(), revision)
    expect((await ask(client, 'resources/subscribe', { uri: 'nothing' })).error?.code).toBe(-32602)
  })

  it.each(['no scheme', 'notes', 'my_scheme://x', '1notes://x', 'notes//x', ''])(
    'registration rejects the uri %j [RES-031, RES-032]',
    (uri) => {
      expect(() => new McpServer(info).registerResource('x', uri, {}, () => 'x')).toThrow(/is not a URI/)
    },
  )

  it.each(['custom+scheme.v2-x://x', 'urn:isbn:0451450523', 'git://repo/a', 'https://example.com/a'])(
    'registration accepts the uri %j [RES-031, RES-039]',
    async (uri) => {
      const server = new McpServer(info)
      server.registerResource('x', uri, {}, () => 'x')
      await using client = await script(server, '2026-07-28')
      expect((await ask(client, 'resources/read', { uri })).result.contents[0].uri).toBe(uri)
    },
  )

  it.each(['my_scheme://{x}', 'no/scheme/{x}', '1notes://{x}'])(
    'registration rejects the template %j, which expands to invalid URIs [RES-031, RES-032]',
    (template) => {
      const register = () => new McpServer(info).registerResource('x', new ResourceTemplate(template), {}, () => 'x')
      expect(register).toThrow(/URI/)
    },
  )

  it.each(['a://{', 'a://{x', 'a://{}', 'a://{x}}'])('an invalid template is rejected: %s [RES-014]', (template) => {
    expect(() => new ResourceTemplate(template)).toThrow()
  })

  it.each(revisionIds)('a file: template cannot escape its folder on %s [RES-033]', async (revision) => {
    const read = vi.fn((_uri: URL, variables: object) => JSON.stringify(variables))
    const server = new McpServer(info)
    server.registerResource('file', new ResourceTemplate('file:///data/{+path}'), {}, read)
    await using client = await script(server, revision)
    expect((await ask(client, 'resources/read', { uri: 'file:///data/a/b.txt' })).result.contents).toHaveLength(1)
    const climbing = [
      '../etc/passwd',
      'a/../../etc/passwd',
      '%2e%2e/etc/passwd',
      '..%2fetc/passwd',
      'a/%2E%2E/%2e./x',
      '..\\etc',
    ]
    const reached: string[] = []
    for (const path of climbing) {
      const { error } = await ask(client, 'resources/read', { uri: `file:///data/${path}` })
      if (!error) reached.push(path)
    }
    expect(reached).toEqual([])
    expect(read).toHaveBeenCalledTimes(1)
  })

  everyWire('hides internal errors and reports them to onError [RES-027]', async (wire) => {
    const onError = vi.fn()
    const server = new McpServer(info, { onError })
    const thrown = new Error('password=hunter2')
    server.registerResource('sync', 'a://sync', {}, () => {
      throw thrown
    })
    server.registerResource(
      'async',
      new ResourceTemplate('a://async/{x}', { list: () => Promise.reject(thrown) }),
      {},
      () => Promise.reject(thrown),
    )
    server.registerResource('odd', 'a://odd', {}, (() => ({ neither: 'text' })) as never)
    await using pair = await wire.connect(server)
    const { client } = pair
    const calls = [
      () => client.readResource('a://sync'),
      () => client.readResource('a://async/1'),
      () => client.listResources(),
    ]
    for (const call of calls) {
      await expect(call()).rejects.toMatchObject({ rpcCode: -32603, message: 'Internal error' })
    }
    await expect(client.readResource('a://odd')).rejects.toMatchObject({
      rpcCode: -32603,
      message: 'Reading a://odd returned an object. Return { contents }, text or bytes.',
    })
    expect(onError.mock.calls.map(([error]) => error)).toEqual([thrown, thrown, thrown, expect.any(TypeError)])
    expect(pair.transcript.toString()).not.toContain('hunter2')
  })
})

describe('resource templates', () => {
  everyWire('pass every variable decoded', async (wire) => {
    const server = new McpServer(info)
    const template = new ResourceTemplate('repo://{owner}/{repo}/contents{/path*}{?ref,line}')
    server.registerResource('file', template, {}, (uri, variables) => JSON.stringify({ href: uri.href, ...variables }))
    await using pair = await wire.connect(server)
    const read = async (uri: string) => {
      const [item] = (await pair.client.readResource(uri)).contents
      return JSON.parse((item as { text: string }).text)
    }
    expect(await read('repo://ada/engine%20one/contents/src/main.ts?ref=v1&line=3')).toEqual({
      href: 'repo://ada/engine%20one/contents/src/main.ts?ref=v1&line=3',
      owner: 'ada',
      repo: 'engine one',
      path: ['src', 'main.ts'],
      ref: 'v1',
      line: '3',
    })
    expect(await read('repo://ada/engine/contents/readme?line=1')).toMatchObject({ path: ['readme'], line: '1' })
    await expect(read('repo://ada/contents/src')).rejects.toMatchObject({ code: 'peer' })
  })

  everyWire('have lower precedence than a resource with the exact uri, and than an earlier template', async (wire) => {
    const server = new McpServer(info)
    server.registerResource('any', new ResourceTemplate('user://{id}'), {}, (_uri, { id }) => `template ${id}`)
    server.registerResource('me', 'user://me', {}, () => 'static')
    server.registerResource('later', new ResourceTemplate('user://{name}'), {}, () => 'never')
    server.registerResource(
      'deeper',
      new ResourceTemplate('user://{id}/{part}'),
      {},
      (_uri, { part }) => `part ${part}`,
    )
    await using pair = await wire.connect(server)
    const read = async (uri: string) => ((await pair.client.readResource(uri)).contents[0] as { text: string }).text
    expect(await read('user://me')).toBe('static')
    expect(await read('user://you')).toBe('template you')
    expect(await read('user://you/x')).toBe('part x')
  })

  it('cannot be registered twice [RES-040]', () => {
    const server = createServer()
    expect(() => server.registerResource('again', new ResourceTemplate('book://{book}/{page}'), {}, () => 'x')).toThrow(
      /is already registered/,
    )
    expect(() => server.registerResource('again', 'notes://plain', {}, () => 'x')).toThrow(/is already registered/)
  })
})

describe('resource subscriptions', () => {
  everyWire(
    'deliver updates of the subscribed resource until the unsubscribe [RES-016, RES-017, RES-018, RES-019]',
    async (wire) => {
      const server = createServer()
      await using pair = await wire.connect(server)
      const updates: string[] = []
      pair.client.on('resourceUpdated', ({ uri }) => updates.push(uri))
      server.sendResourceUpdated('notes://plain')
      await pair.client.subscribeResource('notes://plain')
      server.sendResourceUpdated('notes://rich')
      server.sendResourceUpdated('notes://plain')
      server.sendResourceUpdated({ uri: 'notes://plain' })
      await pair.client.ping()
      expect(updates).toEqual(['notes://plain', 'notes://plain'])
      await pair.client.unsubscribeResource('notes://plain')
      await pair.client.ping()
      server.sendResourceUpdated('notes://plain')
      await pair.client.ping()
      expect(updates).toHaveLength(2)
      if (wire.revision.id === '2026-07-28') {
        expect(requests(pair.transcript, 'resources/subscribe')).toEqual([])
        const [listen] = requests(pair.transcript, 'subscriptions/listen')
        expect(listen?.params.notifications).toEqual({ resourceSubscriptions: ['notes://plain'] })
      } else {
        expect(requests(pair.transcript, 'resources/subscribe')).toHaveLength(1)
        expect(requests(pair.transcript, 'resources/unsubscribe')).toHaveLength(1)
      }
    },
  )

  it.each(handshakes)('are answered with an empty result on %s [RES-016]', async (revision) => {
    await using client = await script(createServer(), revision)
    expect((await ask(client, 'resources/subscribe', { uri: 'notes://plain' })).result).toEqual({})
    expect((await ask(client, 'resources/unsubscribe', { uri: 'notes://plain' })).result).toEqual({})
    expect((await ask(client, 'resources/unsubscribe', { uri: 'notes://never' })).result).toEqual({})
  })

  it.each(handshakes)('are per client on %s [RES-018]', async (revision) => {
    const server = createServer()
    await using one = await script(server, revision)
    await using two = await script(server, revision)
    await ask(one, 'resources/subscribe', { uri: 'notes://plain' })
    await ask(two, 'resources/subscribe', { uri: 'notes://rich' })
    server.sendResourceUpdated('notes://plain')
    await ask(one, 'ping')
    await ask(two, 'ping')
    expect(notes(one.transcript, 'notifications/resources/updated').map(({ params }) => params.uri)).toEqual([
      'notes://plain',
    ])
    expect(notes(two.transcript, 'notifications/resources/updated')).toEqual([])
  })

  it('are not available as methods on 2026-07-28 [RES-019]', async () => {
    await using client = await script(createServer(), '2026-07-28')
    for (const method of ['resources/subscribe', 'resources/unsubscribe']) {
      expect((await ask(client, method, { uri: 'notes://plain' })).error?.code).toBe(-32601)
    }
  })

  const choices = [
    { subscribe: true, listChanged: true },
    { subscribe: true, listChanged: false },
    { subscribe: false, listChanged: true },
    { subscribe: false, listChanged: false },
  ]
  describe.each(choices)('with subscribe $subscribe and listChanged $listChanged', (resources) => {
    everyWire('follow each of the two options independently [RES-002, RES-016, RES-021, RES-022]', async (wire) => {
      const server = new McpServer(info, { capabilities: { resources }, listChangedDelayMs: 1 })
      server.registerResource('x', 'a://x', {}, () => 'x')
      await using pair = await wire.connect(server)
      const { client } = pair
      expect(client.getServerCapabilities()?.resources).toEqual(resources)
      const { honoured } = await client.listen({ resourcesListChanged: true, resourceSubscriptions: ['a://x'] })
      expect(honoured).toEqual({
        ...(resources.listChanged && { resourcesListChanged: true }),
        ...(resources.subscribe && { resourceSubscriptions: ['a://x'] }),
      })
      await client.ping()
      server.sendResourceUpdated('a://x')
      server.registerResource('y', 'a://y', {}, () => 'y')
      await settle(20)
      await client.ping()
      expect(notes(pair.transcript, 'notifications/resources/updated')).toHaveLength(resources.subscribe ? 1 : 0)
      expect(notes(pair.transcript, 'notifications/resources/list_changed')).toHaveLength(resources.listChanged ? 1 : 0)
    })
  })

  it.each(handshakes)('are rejected on %s when they were not declared [RES-016]', async (revision) => {
    const server = new McpServer(info, { capabilities: { resources: { subscribe: false } } })
    server.registerResource('x', 'a://x', {}, () => 'x')
    await using client = await script(server, revision)
    for (const method of ['resources/subscribe', 'resources/unsubscribe']) {
      expect((await ask(client, method, { uri: 'a://x' })).error?.code).toBe(-32601)
    }
  })
})
