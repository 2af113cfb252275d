import { pathToFileURL } from 'node:url'
import { CapabilityError, McpError, PeerError, ProtocolError, type Root, RpcCode, revisionIds } from 'tenon'
import { Client, type ClientOptions } from 'tenon/client'
import { type Context, inputRequired, McpServer } from 'tenon/server'
import { ScriptedClient } from 'tenon/testing'
import { describe, expect, it } from 'vitest'
import { errorOf, gate, heard, inMemory, said } from '../../era/support.ts'
import { everyPipe, everyWire } from '../../kit/every-wire.ts'
import { httpRevisions, Peer, serve } from '../../transport/http/server/support.ts'
import { handshakeRevisions, script } from '../../transport/stdio/support.ts'
import { everyAsking } from './support.ts'
import { answersIn, declaredIn, modern, putTo, questionsIn } from './wire.ts'

const listRoots = 'roots/list'
const changed = 'notifications/roots/list_changed'
const handshakes = { revisions: handshakeRevisions }
const home: Root = { uri: 'file:///home/me', name: 'Home' }
const work: Root = { uri: 'file:///srv/work' }
const info = { name: 'asker', version: '1.0.0' }

const having = (roots: NonNullable<ClientOptions['handlers']>['roots'], more: ClientOptions = {}): ClientOptions => ({
  ...more,
  handlers: { roots },
})

/** A server whose tool does this and gives what comes of it; by default it says what the roots are. */
function server(work: (ctx: Context) => Promise<unknown> = uris): McpServer {
  const made = new McpServer(info)
  made.registerTool('ask', {}, async (_args, ctx) => JSON.stringify(await work(ctx)))
  return made
}

async function uris(ctx: Context): Promise<string[]> {
  return (await ctx.roots()).map(({ uri }) => uri)
}

describe('a client with roots', () => {
  everyAsking(
    'says so at the handshake, or with every request; and that it tells of changes while that exists [ROOT-001, ROOT-002, ROOT-006]',
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

  everyAsking('says so when there are none yet [ROOT-001, ROOT-002]', async (wire) => {
    await using pair = await wire.connect(server(), having([]))
    expect((await pair.client.callTool('ask')).text).toBe('[]')
    for (const declared of declaredIn(pair.transcript)) expect(declared).toHaveProperty('roots')
    expect(answersIn(pair.transcript)).toEqual([{ roots: [] }])
  })

  everyAsking('says nothing of them when it has no such thing', async (wire) => {
    await using pair = await wire.connect(server(async (ctx) => ctx.can('roots')))
    expect((await pair.client.callTool('ask')).text).toBe('false')
    for (const declared of declaredIn(pair.transcript)) expect(declared).not.toHaveProperty('roots')
  })

  everyAsking('lists those and no others, with their names [ROOT-003, ROOT-004, ROOT-008]', async (wire) => {
    const given = [home, work, 'file:///C:/Users/me', pathToFileURL('/tmp/a b?#').href]
    await using pair = await wire.connect(
      server((ctx) => ctx.roots()),
      having(given),
    )
    const wanted = [home, work, { uri: 'file:///C:/Users/me' }, { uri: 'file:///tmp/a%20b%3F%23' }]
    expect(JSON.parse((await pair.client.callTool('ask')).text)).toEqual(wanted)
    expect(answersIn(pair.transcript)).toEqual([{ roots: wanted }])
  })

  everyAsking('may give them when asked, at once or later [ROOT-003]', async (wire) => {
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

  everyAsking('keeps them from the other clients of the server [ROOT-008]', async (wire) => {
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
    ['is no URI', '/home/me'],
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

  it.each(shapes)(
    'that %s is refused when the client is made, and when roots are set [ROOT-004, ROOT-013]',
    (_, root) => {
      const roots = [home, root as Root]
      expect(() => new Client(info, having(roots))).toThrow(expect.objectContaining({ code: 'invalid-argument' }))
      const client = new Client(info, having([home]))
      expect(() => client.setRoots(roots)).toThrow(McpError)
    },
  )

  it.each(revisionIds)(
    'that a function gives is refused as well, and not sent (%s) [ROOT-004, ROOT-013]',
    async (revision) => {
      for (const [what, root] of shapes) {
        const options = having(() => [home, root as Root])
        const { error, result, calls } = await putTo(revision, { method: listRoots }, options)
        expect(result, what).toBe(undefined)
        if (revision === modern) expect(error?.thrown, what).toMatchObject({ code: 'invalid-argument' })
        else expect(error, what).toEqual({ code: RpcCode.InternalError, message: 'Internal error' })
        expect(calls, what).toBe(revision === modern ? 1 : 0)
      }
    },
  )

  it('may have dots in its name, capitals in its scheme and an empty host or localhost', () => {
    const fine = [
      'file:///home/..me/a..b/...',
      'FILE:///home/me',
      'file://localhost/home/me',
      'file:///',
      'file:///x%20y',
    ]
    expect(() => new Client(info, having(fine))).not.toThrow()
  })

  everyAsking('that is refused leaves the others as they were [ROOT-013]', async (wire) => {
    await using pair = await wire.connect(server(), having([home]))
    expect(() => pair.client.setRoots([work, 'file:///home/me/../..'])).toThrow('contains ".." segments')
    expect((await pair.client.callTool('ask')).text).toBe('["file:///home/me"]')
    expect(said(pair.transcript, 'client', changed)).toEqual([])
  })
})

describe('roots that change', () => {
  everyAsking(
    'are told to the server on revisions where it may remember them, once for each change [ROOT-005, ROOT-006]',
    async (wire) => {
      await using pair = await wire.connect(server(), having([home]))
      await pair.client.callTool('ask')
      expect(said(pair.transcript, 'client', changed)).toEqual([])
      pair.client.setRoots([work])
      pair.client.setRoots([home, work])
      await pair.client.callTool('ask')
      const told = said(pair.transcript, 'client', changed)
      expect(told).toEqual(wire.revision.id === modern ? [] : new Array(2).fill({ jsonrpc: '2.0', method: changed }))
    },
  )

  everyAsking('are what handlers see from then on, however often they are set [ROOT-005, ROOT-011]', async (wire) => {
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
    'are not told when they did not change: the same list set again [ROOT-005]',
    async (wire) => {
      await using pair = await wire.connect(server(), having([home, work]))
      pair.client.setRoots([home, { ...work }])
      await pair.client.callTool('ask')
      expect(said(pair.transcript, 'client', changed)).toEqual([])
    },
    handshakes,
  )

  everyAsking(
    'are not told by a client that declared that it would not [ROOT-005]',
    async (wire) => {
      const options = having([home], { capabilities: { roots: { listChanged: false } } })
      await using pair = await wire.connect(server(), options)
      pair.client.setRoots([work])
      expect((await pair.client.callTool('ask')).text).toBe('["file:///srv/work"]')
      expect(said(pair.transcript, 'client', changed)).toEqual([])
    },
    handshakes,
  )

  everyAsking('are seen when a function gives them, which nobody can tell the server of [ROOT-005]', async (wire) => {
    let current = [home]
    await using pair = await wire.connect(
      server(),
      having(() => current),
    )
    expect((await pair.client.callTool('ask')).text).toBe('["file:///home/me"]')
    current = [work]
    expect((await pair.client.callTool('ask')).text).toBe('["file:///srv/work"]')
  })

  everyAsking('may take the place of a function', async (wire) => {
    await using pair = await wire.connect(
      server(),
      having(() => [home]),
    )
    expect((await pair.client.callTool('ask')).text).toBe('["file:///home/me"]')
    pair.client.setRoots([work])
    expect((await pair.client.callTool('ask')).text).toBe('["file:///srv/work"]')
  })

  everyAsking('cannot be set where the server was not told that there are any [ROOT-001, ROOT-005]', async (wire) => {
    await using pair = await wire.connect(server(async () => 'fine'))
    expect(() => pair.client.setRoots([home])).toThrow(/handlers: \{ roots: \[\] \}/)
    await pair.client.callTool('ask')
    expect(said(pair.transcript, 'client', changed)).toEqual([])
  })

  it('may be set before there is a connection', async () => {
    await using client = new Client(info, having([home]))
    client.setRoots([work])
    await client.connect(await inMemory(server()))
    expect((await client.callTool('ask')).text).toBe('["file:///srv/work"]')
  })
})

describe('a handler that wants the roots', () => {
  everyAsking(
    'asks once, whatever the number of calls, until they change [ROOT-011]',
    async (wire) => {
      let count = 0
      await using pair = await wire.connect(
        server(async (ctx) => [await uris(ctx), await uris(ctx)]),
        having([home]),
      )
      pair.transcript.onLine(({ from, message }) => {
        if (from === 'server' && 'method' in message && message.method === listRoots) count++
      })
      await pair.client.callTool('ask')
      await Promise.all([1, 2, 3].map(() => pair.client.callTool('ask')))
      expect(count).toBe(1)
      pair.client.setRoots([work])
      await pair.client.callTool('ask')
      await pair.client.callTool('ask')
      expect(count).toBe(2)
    },
    handshakes,
  )

  everyPipe(
    'asks in each call where the client does not tell of changes [ROOT-011]',
    async (wire) => {
      for (const roots of [{}, { listChanged: false }]) {
        await using client = await script(wire, server(), { capabilities: { roots } })
        for (const uri of ['file:///a', 'file:///b', 'file:///c']) {
          const asked = client.next((message) => 'method' in message && message.method === listRoots)
          const called = client.request('tools/call', { name: 'ask' })
          const { id } = (await asked) as { id: number }
          client.say({ jsonrpc: '2.0', id, result: { roots: [{ uri }] } })
          expect((await called).result).toMatchObject({ content: [{ text: JSON.stringify([uri]) }] })
        }
      }
    },
    handshakes,
  )

  everyAsking(
    'asks in each call, and once in it, where nobody tells of changes [ROOT-006, ROOT-011]',
    async (wire) => {
      await using pair = await wire.connect(
        server(async (ctx) => [await uris(ctx), await uris(ctx)]),
        having([home]),
      )
      for (const _ of [1, 2]) await pair.client.callTool('ask')
      expect(questionsIn(pair.transcript, listRoots)).toHaveLength(2)
    },
    { revisions: [modern] },
  )

  everyPipe(
    'is not given what changed while it was being listed [ROOT-011]',
    async (wire) => {
      await using client = await script(wire, server(), { capabilities: { roots: { listChanged: true } } })
      const next = () => client.next((message) => 'method' in message && message.method === listRoots)
      const first = next()
      const old = client.request('tools/call', { name: 'ask' })
      const { id } = (await first) as { id: number }
      client.notify(changed)
      client.say({ jsonrpc: '2.0', id, result: { roots: [home] } })
      await old
      const second = next()
      const fresh = client.request('tools/call', { name: 'ask' })
      const raced = await Promise.race([second, fresh])
      expect(raced).toMatchObject({ method: listRoots })
      client.say({ jsonrpc: '2.0', id: (raced as { id: number }).id, result: { roots: [work] } })
      expect((await fresh).result).toMatchObject({ content: [{ text: '["file:///srv/work"]' }] })
    },
    handshakes,
  )

  everyPipe(
    'is given what changed since it asked before [ROOT-011]',
    async (wire) => {
      const moved = gate()
      await using pair = await wire.connect(
        server(async (ctx) => {
          const before = await uris(ctx)
          ctx.notify('notifications/message', { level: 'info', data: 'seen' })
          await moved.promise
          return [before, await uris(ctx)]
        }),
        having([home]),
      )
      const seen = heard(pair.transcript, 'server', 'notifications/message')
      const called = pair.client.callTool('ask')
      await seen
      pair.client.setRoots([work])
      // What comes on a pipe comes in order.
      await pair.client.ping()
      moved.open()
      expect((await called).text).toBe('[["file:///home/me"],["file:///srv/work"]]')
    },
    handshakes,
  )

  everyPipe(
    'gets them though another call that asked for them is given up [ROOT-011]',
    async (wire) => {
      await using client = await script(wire, server(), { capabilities: { roots: { listChanged: true } } })
      const next = () => client.next((message) => 'method' in message && message.method === listRoots)
      const first = next()
      client.say({ jsonrpc: '2.0', id: 'a', method: 'tools/call', params: { name: 'ask' } })
      const { id } = (await first) as { id: number }
      const second = client.request('tools/call', { name: 'ask' })
      await client.request('ping')
      const again = next()
      client.notify('notifications/cancelled', { requestId: 'a' })
      // Either the question stays open or it is asked again; both are answered.
      client.say({ jsonrpc: '2.0', id, result: { roots: [home] } })
      void again.then((asked) => {
        client.say({ jsonrpc: '2.0', id: (asked as { id: number }).id, result: { roots: [home] } })
      })
      expect((await second).result).toMatchObject({ content: [{ text: '["file:///home/me"]' }] })
      expect((await second).result).not.toHaveProperty('isError')
    },
    handshakes,
  )

  everyAsking('may return the question by hand [ROOT-003]', async (wire) => {
    const made = new McpServer(info)
    made.registerTool('ask', {}, async (_args, { inputResponses }) =>
      inputResponses.roots
        ? JSON.stringify(inputResponses.roots)
        : inputRequired({ inputRequests: { roots: inputRequired.listRoots() } }),
    )
    await using pair = await wire.connect(made, having([home, work]))
    expect(JSON.parse((await pair.client.callTool('ask')).text)).toEqual({ roots: [home, work] })
  })

  everyWire(
    'does not ask a client that has none [ROOT-011]',
    async (wire) => {
      const caught: unknown[] = []
      await using pair = await wire.connect(
        server(async (ctx) => {
          await ctx.roots().catch((error) => void caught.push(error))
          return ctx.can('roots')
        }),
      )
      expect((await pair.client.callTool('ask')).text).toBe('false')
      expect(caught).toEqual([expect.any(CapabilityError)])
      expect(caught[0]).toMatchObject({ code: 'capability-missing', capability: 'roots', required: { roots: {} } })
      expect(questionsIn(pair.transcript, listRoots)).toEqual([])
    },
    { transports: ['memory', 'stdio', 'http', 'http-stateless'] },
  )

  it.each(httpRevisions)('and lets that pass, answers with what is missing (%s) [ROOT-011]', async (revision) => {
    await using http = await serve(server())
    await using peer = await Peer.open(http.url, revision, { capabilities: { sampling: {} } })
    const reply = await peer.call('ask')
    const { error, result } = await reply.response()
    expect(reply.status).toBe(revision === modern ? 400 : 200)
    if (revision === modern) {
      expect(error).toMatchObject({
        code: RpcCode.MissingClientCapability,
        data: { requiredCapabilities: { roots: {} } },
      })
    } else expect(result).toMatchObject({ isError: true, content: [{ text: expect.stringContaining('roots') }] })
  })

  const wrong: [string, object][] = [
    ['no list', {}],
    ['something else', { roots: 'file:///home/me' }],
    ['roots that are none', { roots: ['file:///home/me'] }],
    ['roots without a URI', { roots: [home, { name: 'x' }] }],
    ['URIs that are numbers', { roots: [{ uri: 5 }] }],
    ['names that are numbers', { roots: [{ uri: 'file:///a', name: 5 }] }],
  ]

  everyPipe('is not given what is no list of roots [ROOT-003]', async (wire) => {
    const caught: unknown[] = []
    const made = server((ctx) =>
      ctx.roots().catch((error) => {
        caught.push(error)
        throw error
      }),
    )
    await using client = await script(wire, made, { capabilities: { roots: {} } })
    for (const [what, given] of wrong) {
      const asked = client.next((message) => 'method' in message && message.method === listRoots)
      const called = client.request('tools/call', { name: 'ask' })
      if (wire.revision.id === modern) {
        const { inputRequests, requestState } = (await called).result as { inputRequests: object; requestState: string }
        const inputResponses = Object.fromEntries(Object.keys(inputRequests).map((key) => [key, given]))
        const second = await client.request('tools/call', { name: 'ask', inputResponses, requestState })
        expect(second.error, what).toMatchObject({ code: RpcCode.InvalidParams })
      } else {
        client.say({ jsonrpc: '2.0', id: ((await asked) as { id: number }).id, result: given })
        expect((await called).result, what).toMatchObject({ isError: true })
        expect(caught.at(-1), what).toMatchObject({ code: 'invalid-response' })
      }
    }
  })
})

describe('roots that cannot be listed', () => {
  it.each(handshakeRevisions)('because there are none are answered with -32601 (%s) [ROOT-007]', async (revision) => {
    const { error } = await putTo(revision, { method: listRoots }, { handlers: { sample: () => ({}) as never } })
    expect(error?.code).toBe(RpcCode.MethodNotFound)
  })

  it('because there are none end the call on 2026-07-28 [ROOT-012]', async () => {
    const { error, calls } = await putTo(modern, { method: listRoots }, {})
    expect(error?.thrown).toMatchObject({ code: 'invalid-response', message: expect.stringContaining('roots/list') })
    expect(calls).toBe(1)
  })

  const broken = new Error('EACCES: /root/secret')
  const failing: [string, () => never | Promise<never>][] = [
    [
      'at once',
      () => {
        throw broken
      },
    ],
    ['later', () => Promise.reject(broken)],
  ]

  describe.each(failing)('because the function fails %s', (_when, roots) => {
    everyAsking(
      'are answered with -32603 and nothing of the reason, which the client hears of [ROOT-007]',
      async (wire) => {
        const caught: unknown[] = []
        const failures: unknown[] = []
        await using pair = await wire.connect(
          server((ctx) => ctx.roots().catch((error) => caught.push(error))),
          having(roots),
        )
        pair.client.on('error', ({ error }) => failures.push(error))
        await pair.client.callTool('ask')
        expect(caught).toEqual([expect.any(PeerError)])
        expect(caught[0]).toMatchObject({ rpcCode: RpcCode.InternalError, message: 'Internal error' })
        expect(failures).toEqual([broken])
        expect(pair.transcript.toString()).not.toContain('secret')
      },
      handshakes,
    )

    everyAsking(
      'end the call with the reason on 2026-07-28, and the server is not called again [ROOT-012]',
      async (wire) => {
        await using pair = await wire.connect(server(), having(roots))
        expect(await errorOf(pair.client.callTool('ask'))).toBe(broken)
        expect(said(pair.transcript, 'client', 'tools/call')).toHaveLength(1)
        expect(pair.transcript.toString()).not.toContain('secret')
      },
      { revisions: [modern] },
    )
  })

  everyAsking(
    'because the handler refuses are answered with its code',
    async (wire) => {
      const caught: unknown[] = []
      await using pair = await wire.connect(
        server((ctx) => ctx.roots().catch((error) => caught.push(error))),
        having(() => {
          throw new ProtocolError(-1, 'Not to you')
        }),
      )
      await pair.client.callTool('ask')
      expect(caught[0]).toMatchObject({ rpcCode: -1, message: 'Not to you' })
    },
    handshakes,
  )

  everyAsking(
    'are asked for again by the next call, and by the same handler, and are there when the client has them again',
    async (wire) => {
      let count = 0
      await using pair = await wire.connect(
        server(async (ctx) => {
          const first = await ctx.roots().catch(() => 'failed')
          return [first, await ctx.roots()]
        }),
        having(() => {
          if (++count === 1) throw broken
          return [home]
        }),
      )
      expect(JSON.parse((await pair.client.callTool('ask')).text)).toEqual(['failed', [home]])
      expect(JSON.parse((await pair.client.callTool('ask')).text)).toEqual([[home], [home]])
    },
    handshakes,
  )

  everyAsking('let the server go on', async (wire) => {
    let isBroken = true
    await using pair = await wire.connect(
      server(),
      having(() => {
        if (isBroken) throw broken
        return [home]
      }),
    )
    const failed = await pair.client.callTool('ask').catch((error) => ({ isError: true, error }))
    expect(failed.isError).toBe(true)
    isBroken = false
    expect((await pair.client.callTool('ask')).text).toBe('["file:///home/me"]')
  })
})

describe('a scripted client of 2026-07-28', () => {
  it('that sends the notification of older revisions is not harmed by it [ROOT-006]', async () => {
    await using client = await ScriptedClient.connect(server(), { capabilities: { roots: {} } })
    client.notify(changed)
    const { result } = await client.request('tools/call', { name: 'ask' })
    expect(result).toMatchObject({ resultType: 'input_required' })
  })
})
