import { pathToFileURL } from 'node:url'
import { ErrorCode, McpError, type Root, revisionIds } from 'tenon'
import { Client } from 'tenon/client'
import { describe, expect, it } from 'vitest'
import { inMemory } from '../../era/support.ts'
import { said } from '../../kit/transcript.ts'
import { changed, handshakes, having, home, info, listRoots, server, work } from './roots-support.ts'
import { everyAsking } from './support.ts'
import { answersIn, declaredIn, modern, putTo } from './wire.ts'

describe('a client with roots', () => {
  everyAsking(
    'declares them in the handshake or with every request, and listChanged if it exists [ROOT-001, ROOT-002, ROOT-006]',
    async (wire) => {
      await using pair = await wire.connect(
        server(),
        having([home], { capabilities: { roots: { listChanged: true } } }),
      )
      await pair.client.listTools()
      await pair.client.callTool('ask')
      const isModern = wire.revision.id === modern
      const requests = said(pair.transcript, 'client').filter(({ id, method }) => id !== undefined && method)
      const declared = declaredIn(pair.transcript)
      expect(declared).toHaveLength(isModern ? requests.length : 1)
      for (const { roots } of declared) expect(roots).toEqual(isModern ? {} : { listChanged: true })
    },
  )

  everyAsking('declares them when the list is empty [ROOT-001, ROOT-002]', async (wire) => {
    await using pair = await wire.connect(server(), having([]))
    expect((await pair.client.callTool('ask')).text).toBe('[]')
    for (const declared of declaredIn(pair.transcript)) expect(declared).toHaveProperty('roots')
    expect(answersIn(pair.transcript)).toEqual([{ roots: [] }])
  })

  everyAsking('does not declare them without a roots handler', async (wire) => {
    await using pair = await wire.connect(server(async (ctx) => ctx.can('roots')))
    expect((await pair.client.callTool('ask')).text).toBe('false')
    for (const declared of declaredIn(pair.transcript)) expect(declared).not.toHaveProperty('roots')
  })

  everyAsking('lists exactly the configured roots, with their names [ROOT-003, ROOT-004, ROOT-008]', async (wire) => {
    const given = [home, work, 'file:///C:/Users/me', pathToFileURL('/tmp/a b?#').href]
    await using pair = await wire.connect(
      server((ctx) => ctx.roots()),
      having(given),
    )
    const wanted = [home, work, { uri: 'file:///C:/Users/me' }, { uri: 'file:///tmp/a%20b%3F%23' }]
    expect(JSON.parse((await pair.client.callTool('ask')).text)).toEqual(wanted)
    expect(answersIn(pair.transcript)).toEqual([{ roots: wanted }])
  })

  everyAsking('lists a root once, however often it was given [ROOT-020]', async (wire) => {
    const given = ['/home/twice', { uri: 'file:///home/twice', name: 'Again' }, work, work]
    await using pair = await wire.connect(
      server((ctx) => ctx.roots()),
      having(given),
    )
    expect(JSON.parse((await pair.client.callTool('ask')).text)).toEqual([{ uri: 'file:///home/twice' }, work])
    pair.client.setRoots([home, home.uri])
    await pair.client.ping()
    expect(JSON.parse((await pair.client.callTool('ask')).text)).toEqual([home])
  })

  everyAsking('may list them with a function, synchronous or asynchronous [ROOT-003]', async (wire) => {
    const asking: unknown[] = []
    await using pair = await wire.connect(
      server(),
      having(async ({ server: asker, signal }) => {
        asking.push(asker.name, signal.aborted)
        return [home, work.uri]
      }),
    )
    expect((await pair.client.callTool('ask')).text).toBe('["file:///home/me","file:///srv/work"]')
    expect(asking).toEqual(['asker', false])
    await using other = await wire.connect(
      server(),
      having(() => [work]),
    )
    expect((await other.client.callTool('ask')).text).toBe('["file:///srv/work"]')
  })

  everyAsking('does not expose them to other clients of the server [ROOT-008]', async (wire) => {
    const shared = server()
    await using one = await wire.connect(shared, having([home]))
    await using two = await wire.connect(shared, having([work]))
    for (const _ of [1, 2]) {
      expect((await one.client.callTool('ask')).text).toBe('["file:///home/me"]')
      expect((await two.client.callTool('ask')).text).toBe('["file:///srv/work"]')
    }
  })
})

describe('a root', () => {
  const bad: [string, unknown][] = [
    ['is on the web', 'http://example.com/home'],
    ['is of another scheme', 'https://example.com/'],
    ['is a relative path', 'home/me'],
    ['is a path that climbs', '/home/me/../other'],
    ['has no slashes', 'file:home'],
    ['has one slash', 'file:/home/me'],
    ['is nothing', undefined],
    ['is a number', 5],
    ['is empty', ''],
    ['is on another machine', 'file://server/share'],
    ['has a query', 'file:///home/me?x=1'],
    ['has a fragment', 'file:///home/me#x'],
    ['climbs', 'file:///home/me/../other'],
    ['climbs at the end', 'file:///home/me/..'],
    ['climbs with encoded dots', 'file:///home/me/%2e%2e/other'],
    ['climbs with one encoded dot', 'file:///home/me/.%2E/other'],
    ['climbs behind an encoded slash', 'file:///home/me%2f..%2fother'],
    ['climbs with backslashes', 'file:///home/me\\..\\other'],
    ['climbs behind an encoded backslash', 'file:///home/me%5C..%5Cother'],
    ['climbs with a tab between the dots, which URL parsers take out', 'file:///home/me/.\t./other'],
    ['climbs with a line feed between the dots', 'file:///home/me/.\n./other'],
    ['climbs with a carriage return and encoded dots', 'file:///home/me/%2e\r%2e/other'],
    ['climbs with a tab within an encoded dot', 'file:///home/me/%2\te%2e/other'],
    ['holds a NUL', 'file:///home/me\0'],
    ['holds an encoded NUL', 'file:///home/me%00.txt'],
  ]
  const shapes: [string, unknown][] = bad.flatMap(([what, uri]) => [
    [what, uri],
    [`${what}, with a name`, { uri, name: 'x' }],
  ])

  it.each(shapes)('that %s is rejected by the constructor and by setRoots [ROOT-004, ROOT-013]', (_, root) => {
    const roots = [home, root as Root]
    expect(() => new Client(info, having(roots))).toThrow(expect.objectContaining({ code: 'invalid-argument' }))
    const client = new Client(info, having([home]))
    expect(() => client.setRoots(roots)).toThrow(McpError)
  })

  it.each(revisionIds)(
    'from a function is rejected in the same way, and not sent (%s) [ROOT-004, ROOT-013]',
    async (revision) => {
      for (const [what, root] of shapes) {
        const options = having(() => [home, root as Root])
        const { error, result, calls } = await putTo(revision, { method: listRoots }, options)
        expect(result, what).toBe(undefined)
        if (revision === modern) expect(error?.thrown, what).toMatchObject({ code: 'invalid-argument' })
        else expect(error, what).toEqual({ code: ErrorCode.InternalError, message: 'Internal error' })
        expect(calls, what).toBe(revision === modern ? 1 : 0)
      }
    },
  )

  it('may have dots in its name, an upper-case scheme and an empty host or localhost', () => {
    const fine = [
      'file:///home/..me/a..b/...',
      'FILE:///home/me',
      'file://localhost/home/me',
      'file:///',
      'file:///x%20y',
    ]
    expect(() => new Client(info, having(fine))).not.toThrow()
  })

  everyAsking('that is rejected leaves the current roots unchanged [ROOT-013]', async (wire) => {
    await using pair = await wire.connect(server(), having([home]))
    expect(() => pair.client.setRoots([work, 'file:///home/me/../..'])).toThrow('contains ".." segments')
    expect((await pair.client.callTool('ask')).text).toBe('["file:///home/me"]')
    expect(said(pair.transcript, 'client', changed)).toEqual([])
  })
})

describe('roots that change', () => {
  everyAsking('cause one notification per change on handshake revisions [ROOT-005, ROOT-006]', async (wire) => {
    await using pair = await wire.connect(server(), having([home]))
    await pair.client.callTool('ask')
    expect(said(pair.transcript, 'client', changed)).toEqual([])
    pair.client.setRoots([work])
    pair.client.setRoots([home, work])
    await pair.client.callTool('ask')
    const told = said(pair.transcript, 'client', changed)
    expect(told).toEqual(wire.revision.id === modern ? [] : new Array(2).fill({ jsonrpc: '2.0', method: changed }))
  })

  everyAsking('are visible to handlers at once, however often they are set [ROOT-005, ROOT-011]', async (wire) => {
    await using pair = await wire.connect(server(), having([home]))
    expect((await pair.client.callTool('ask')).text).toBe('["file:///home/me"]')
    for (const uri of ['file:///a', 'file:///b', 'file:///c']) {
      pair.client.setRoots([uri])
      expect((await pair.client.callTool('ask')).text).toBe(JSON.stringify([uri]))
    }
    pair.client.setRoots([])
    expect((await pair.client.callTool('ask')).text).toBe('[]')
  })

  everyAsking(
    'cause no notification when the same list is set again [ROOT-005]',
    async (wire) => {
      await using pair = await wire.connect(server(), having([home, work]))
      pair.client.setRoots([home, { ...work }])
      await pair.client.callTool('ask')
      expect(said(pair.transcript, 'client', changed)).toEqual([])
    },
    handshakes,
  )

  everyAsking(
    'cause no notification from a client that declared listChanged false [ROOT-005]',
    async (wire) => {
      const options = having([home], { capabilities: { roots: { listChanged: false } } })
      await using pair = await wire.connect(server(), options)
      pair.client.setRoots([work])
      expect((await pair.client.callTool('ask')).text).toBe('["file:///srv/work"]')
      expect(said(pair.transcript, 'client', changed)).toEqual([])
    },
    handshakes,
  )

  everyAsking('in a function are visible without a notification [ROOT-005]', async (wire) => {
    let current = [home]
    await using pair = await wire.connect(
      server(),
      having(() => current),
    )
    expect((await pair.client.callTool('ask')).text).toBe('["file:///home/me"]')
    current = [work]
    expect((await pair.client.callTool('ask')).text).toBe('["file:///srv/work"]')
  })

  everyAsking('may replace a function', async (wire) => {
    await using pair = await wire.connect(
      server(),
      having(() => [home]),
    )
    expect((await pair.client.callTool('ask')).text).toBe('["file:///home/me"]')
    pair.client.setRoots([work])
    expect((await pair.client.callTool('ask')).text).toBe('["file:///srv/work"]')
  })

  everyAsking('cannot be set when the client did not declare roots [ROOT-001, ROOT-005]', async (wire) => {
    await using pair = await wire.connect(server(async () => 'fine'))
    expect(() => pair.client.setRoots([home])).toThrow(/handlers: \{ roots: \[\] \}/)
    await pair.client.callTool('ask')
    expect(said(pair.transcript, 'client', changed)).toEqual([])
  })

  it('may be set before the client is connected', async () => {
    await using client = new Client(info, having([home]))
    client.setRoots([work])
    await client.connect(await inMemory(server()))
    expect((await client.callTool('ask')).text).toBe('["file:///srv/work"]')
  })
})
