import { CapabilityError, ErrorCode, PeerError, ProtocolError } from 'tenon'
import { inputRequired, McpServer } from 'tenon/server'
import { ScriptedClient } from 'tenon/testing'
import { describe, expect, it } from 'vitest'
import { errorOf } from '../../kit/error-of.ts'
import { everyPipe, everyWire } from '../../kit/every-wire.ts'
import { gate } from '../../kit/gate.ts'
import { Peer } from '../../kit/http-peer.ts'
import { handshakeRevisions, httpRevisions } from '../../kit/revisions.ts'
import { serve } from '../../kit/serve-http.ts'
import { heard, said } from '../../kit/transcript.ts'

import { script } from '../../transport/stdio/support.ts'
import { changed, handshakes, having, home, info, listRoots, server, uris, work } from './roots-support.ts'
import { everyAsking } from './support.ts'
import { modern, putTo, questionsIn } from './wire.ts'

describe('a handler that reads the roots', () => {
  everyAsking(
    'requests them once until they change, however many calls there are [ROOT-011]',
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
    'requests them in each call when the client does not send list_changed [ROOT-011]',
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
    'requests them once per call on 2026-07-28, which has no list_changed [ROOT-006, ROOT-011]',
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
    'does not get a list that changed while it was requested [ROOT-011]',
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
    'gets the changed list when it asks again [ROOT-011]',
    async (wire) => {
      const moved = gate()
      await using pair = await wire.connect(
        server(async (ctx) => {
          const before = await uris(ctx)
          ctx.notify('notifications/message', { level: 'info', data: 'seen' })
          await moved.opened
          return [before, await uris(ctx)]
        }),
        having([home]),
      )
      const seen = heard(pair.transcript, 'server', 'notifications/message')
      const called = pair.client.callTool('ask')
      await seen
      pair.client.setRoots([work])
      // Messages on a pipe arrive in order.
      await pair.client.ping()
      moved.open()
      expect((await called).text).toBe('[["file:///home/me"],["file:///srv/work"]]')
    },
    handshakes,
  )

  everyPipe(
    'gets them even when another call that requested them is cancelled [ROOT-011]',
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
      // The server either keeps the request open or sends it again; answer both.
      client.say({ jsonrpc: '2.0', id, result: { roots: [home] } })
      void again.then((asked) => {
        client.say({ jsonrpc: '2.0', id: (asked as { id: number }).id, result: { roots: [home] } })
      })
      expect((await second).result).toMatchObject({ content: [{ text: '["file:///home/me"]' }] })
      expect((await second).result).not.toHaveProperty('isError')
    },
    handshakes,
  )

  everyPipe(
    'fails with the error of the client, which every waiting call gets, and does not ask again [ROOT-011]',
    async (wire) => {
      await using client = await script(wire, server(), { capabilities: { roots: { listChanged: true } } })
      const asked = client.next((message) => 'method' in message && message.method === listRoots)
      const first = client.request('tools/call', { name: 'ask' })
      const { id } = (await asked) as { id: number }
      const second = client.request('tools/call', { name: 'ask' })
      await client.request('ping')
      client.say({ jsonrpc: '2.0', id, error: { code: -32603, message: 'The folders are not mounted' } })
      for (const { result } of await Promise.all([first, second])) expect(result).toMatchObject({ isError: true })
      expect(questionsIn(client.transcript, listRoots)).toHaveLength(1)
    },
    handshakes,
  )

  everyAsking('can return the question with inputRequired [ROOT-003]', async (wire) => {
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
    'does not send a request to a client without roots [ROOT-011]',
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

  it.each(httpRevisions)('reports the missing client capability by default (%s) [ROOT-011]', async (revision) => {
    await using http = await serve(server())
    await using peer = await Peer.open(http.url, revision, { capabilities: { sampling: {} } })
    const reply = await peer.call('ask')
    const { error, result } = await reply.response()
    expect(reply.status).toBe(revision === modern ? 400 : 200)
    if (revision === modern) {
      expect(error).toMatchObject({
        code: ErrorCode.MissingClientCapability,
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

  everyPipe('does not receive a malformed list of roots [ROOT-003]', async (wire) => {
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
        expect(second.error, what).toMatchObject({ code: ErrorCode.InvalidParams })
      } else {
        client.say({ jsonrpc: '2.0', id: ((await asked) as { id: number }).id, result: given })
        expect((await called).result, what).toMatchObject({ isError: true })
        expect(caught.at(-1), what).toMatchObject({ code: 'invalid-response' })
      }
    }
  })
})

describe('roots that cannot be listed', () => {
  it.each(handshakeRevisions)('because the client has none result in -32601 (%s) [ROOT-007]', async (revision) => {
    const { error } = await putTo(revision, { method: listRoots }, { handlers: { sample: () => ({}) as never } })
    expect(error?.code).toBe(ErrorCode.MethodNotFound)
  })

  it('because the client has none end the call on 2026-07-28 [ROOT-012]', async () => {
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

  describe.each(failing)('because the function fails (%s)', (_when, roots) => {
    everyAsking(
      'are answered with -32603 without the reason, which the client reports as an error event [ROOT-007]',
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
        expect(caught[0]).toMatchObject({ rpcCode: ErrorCode.InternalError, message: 'Internal error' })
        expect(failures).toEqual([broken])
        expect(pair.transcript.toString()).not.toContain('secret')
      },
      handshakes,
    )

    everyAsking(
      'end the call with the reason on 2026-07-28, and the request is not repeated [ROOT-012]',
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
    'because the handler throws a ProtocolError are answered with its code',
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
    'are requested again by the next call and by the same handler',
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

  everyAsking('do not affect later calls', async (wire) => {
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

describe('a raw client of 2026-07-28', () => {
  it('can send the notification of handshake revisions without effect [ROOT-006]', async () => {
    await using client = await ScriptedClient.connect(server(), { capabilities: { roots: {} } })
    client.notify(changed)
    const { result } = await client.request('tools/call', { name: 'ask' })
    expect(result).toMatchObject({ resultType: 'input_required' })
  })
})
