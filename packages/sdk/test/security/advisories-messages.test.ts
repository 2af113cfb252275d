import { setImmediate as turn } from 'node:timers/promises'
import { type AuthInfo, checkScopes } from 'tenon/auth/server'
import { createMcpHandler, ResourceTemplate } from 'tenon/server'
import { describe, expect, it } from 'vitest'
import { eventually } from '../kit/eventually.ts'
import { gate } from '../kit/gate.ts'
import { overFetch, overHttp } from '../kit/http-client.ts'
import { Peer } from '../kit/http-peer.ts'
import type { Message } from '../kit/message.ts'
import { modern, sessionRevisions } from '../kit/revisions.ts'
import { serve } from '../kit/serve-http.ts'
import { SseClient } from '../kit/sse-peer.ts'
import { onlyModern, registerSlow, withProgress, workshop } from '../kit/workshop.ts'

import { RawProcess } from '../transport/stdio/support.ts'
import { as, auth, call, plain, watched } from './advisories-support.ts'

describe('responses', () => {
  it.each([...sessionRevisions, modern] as const)(
    'CVE-2026-25536, GHSA-w2fm-25vw-vh7f: sends each response to its caller when many callers use the same id concurrently (%s)',
    async (revision) => {
      const server = workshop()
      const all = gate()
      let waiting = 0
      server.registerTool('mine', { inputSchema: { type: 'object' } }, async (args) => {
        if (++waiting === 10) all.open()
        await all.opened
        return JSON.stringify(args)
      })
      await using http = await serve(server)
      const peers = await Promise.all(Array.from({ length: 10 }, () => Peer.open(http.url, revision)))
      const texts = await Promise.all(
        peers.map(async (peer, owner) => {
          const answer = await peer.call('mine', { owner }, { id: 'same' })
          return (await answer.response()).result?.content?.[0]?.text
        }),
      )
      expect(texts).toEqual(peers.map((_, owner) => JSON.stringify({ owner })))
      for (const peer of peers) await peer[Symbol.asyncDispose]()
    },
  )

  it('CVE-2025-53365: survives responses to clients that have disconnected', async () => {
    const errors: unknown[] = []
    const server = workshop({ onError: (error) => errors.push(error) })
    const slow = registerSlow(server)
    await using http = await serve(server)
    for (const revision of ['2025-11-25', modern] as const) {
      await using gone = await Peer.open(http.url, revision)
      const stream = await gone.call('slow', {}, withProgress)
      await slow.began
      stream.close()
      await stream.ended
    }
    slow.finish('to nobody')
    await turn()
    await using peer = await Peer.open(http.url, '2025-11-25')
    expect(await peer.textOf('echo', { text: 'served' })).toBe('served')
    expect(errors).toEqual([])
  })
})

describe('scopes', () => {
  it('CVE-2026-11719: checks scopes on every route, method and batch member [AUTH-007, AUTH-012]', async () => {
    const { server, ran } = watched()
    await using http = await serve(server, { sse: true, auth: { ...auth, requiredScopes: ['files'] } })
    await using owner = await Peer.open(http.url, '2025-03-26', as('alice+files'))
    await using owners = await SseClient.open(http.url, as('alice+files'))
    const poor = as('alice').headers
    const way = overHttp(http.url)
    const statuses: number[] = []
    for (const revision of [...sessionRevisions, modern] as const) {
      await using peer = new Peer(http.url, revision, { headers: poor })
      statuses.push((await peer.call('echo')).status, (await peer.request('initialize', peer.greeting())).status)
    }
    await using reduced = owner.at(http.url, poor)
    statuses.push((await reduced.get()).status, (await reduced.delete()).status)
    statuses.push((await reduced.post([owner.message('ping'), owner.message('tools/call', call.params)])).status)
    statuses.push(
      (await way({ method: 'GET', path: '/sse', headers: { accept: 'text/event-stream', ...poor } })).status,
    )
    statuses.push((await owners.post(call, poor)).status)
    expect(new Set(statuses)).toEqual(new Set([403]))
    expect(ran).toEqual([])
  })

  it('CVE-2026-11719: checks the scopes of a tool for every way to call it [AUTH-007]', async () => {
    const deleted: unknown[] = []
    const server = workshop()
    server.registerTool('delete', {}, (_, ctx) => {
      checkScopes(ctx.auth as AuthInfo | undefined, ['delete'])
      deleted.push(ctx.auth)
      return 'deleted'
    })
    await using http = await serve(server, { sse: true, auth })
    for (const revision of [...sessionRevisions, modern] as const) {
      await using peer = await Peer.open(http.url, revision, as('alice+read'))
      expect((await peer.call('delete')).status).toBe(403)
    }
    await using batching = await Peer.open(http.url, '2025-03-26', as('alice+read'))
    const members = [batching.message('ping'), batching.message('tools/call', { name: 'delete', arguments: {} })]
    await (await batching.post(members)).text()
    await using old = await SseClient.open(http.url, as('alice+read'))
    await old.initialize()
    const params = { name: 'delete', arguments: {} }
    const answer = await old.request('d', 'tools/call', params)
    expect(answer.error !== undefined || answer.result?.isError === true).toBe(true)
    expect(deleted).toEqual([])
  })
})

describe('messages', () => {
  it('CVE-2026-0621: matches a hostile URI against a template quickly', async () => {
    const server = workshop()
    server.registerResource('files', new ResourceTemplate('x://files{/path*}{?query*}'), {}, () => 'found')
    server.registerResource('names', new ResourceTemplate('y://{+names*}/end'), {}, () => 'found')
    await using http = await serve(server)
    await using peer = await Peer.open(http.url, '2025-11-25')
    const uris = [
      `x://files${'/a'.repeat(50_000)}!`,
      `x://files?${'a=a&'.repeat(50_000)}!`,
      `y://${'a,'.repeat(50_000)}`,
      `y://${'a/end'.repeat(20_000)}!`,
    ]
    for (const uri of uris) expect((await (await peer.request('resources/read', { uri })).json()).id).toBeDefined()
    expect(await peer.textOf('echo', { text: 'awake' })).toBe('awake')
  })

  it('typescript-sdk PR 2698: limits bodies and batches over fetch as well', async () => {
    const handler = createMcpHandler(workshop())
    let pulled = 0
    const endless = new ReadableStream({
      pull(controller) {
        pulled += 0x10000
        controller.enqueue(new Uint8Array(0x10000).fill(32))
      },
    })
    const post = (body: string | ReadableStream, more: Record<string, string> = {}) =>
      handler.fetch(
        new Request('http://localhost/mcp', {
          method: 'POST',
          headers: { ...plain, ...more },
          body,
          duplex: 'half',
        } as RequestInit),
      )
    expect((await post(endless)).status).toBe(413)
    expect(pulled).toBeLessThan(8 * 1024 * 1024)
    const door = overFetch(handler)
    await using peer = await Peer.open(door, '2025-03-26')
    const batch = (length: number) => Array.from({ length }, (): Message => peer.message('ping'))
    expect((await peer.post(batch(100))).status).toBe(200)
    const long = await peer.post(batch(101))
    expect([long.status, (await long.json()).error?.code]).toEqual([400, -32600])
    await handler.close()
  })

  it('CVE-2026-67432: refuses a message that is too large and serves later ones', async () => {
    const { server, ran } = watched()
    await using http = await serve(server)
    const headers = { ...plain, 'content-length': String(5 * 1024 * 1024) }
    const answer = await overHttp(http.url)({ headers, body: JSON.stringify(call).padEnd(5 * 1024 * 1024, ' ') })
    expect(answer.status).toBe(413)
    await using peer = await Peer.open(http.url, '2025-11-25')
    expect(await peer.textOf('echo', { text: 'small' })).toBe('small')
    expect(ran).toEqual(['echo'])
  })

  it('CVE-2025-53366: serves later messages after malformed ones [RPC-025, RPC-026, RPC-028]', async () => {
    await using http = await serve(workshop())
    for (const revision of [...sessionRevisions, modern] as const) {
      await using peer = await Peer.open(http.url, revision)
      const codes = []
      const wrong: [string, Record<string, unknown>][] = [
        ['tools/call', { name: 7 }],
        ['tools/list', { cursor: 5 }],
        ['logging/setLevel', { level: 'loud' }],
        ['no/such/method', {}],
      ]
      for (const [method, params] of wrong) {
        const answer = await peer.request(method, params, {
          headers: { 'mcp-name': revision === modern ? String(params.name ?? '') : undefined },
        })
        expect(answer.status).toBeLessThan(500)
        codes.push((await answer.json()).error?.code)
      }
      expect(codes.every((code) => code !== undefined)).toBe(true)
      expect(await peer.textOf('echo', { text: 'fine' })).toBe('fine')
    }
  })

  const tool = '"name":"echo","arguments":{"text":"seen by the gateway"}'
  const differing = [
    [
      'CVE-2026-27896',
      'that differ only in case or case folding',
      '"Name":"revision","NAME":"revision"',
      '"Method":"tools/list","METHOD":"tools/list","param\u017f":{"name":"revision"},"Param\u017f":{}',
    ],
    [
      'GHSA-q382-vc8q-7jhj',
      'that contain a NUL character',
      '"name\\u0000":"revision","\\u0000name":"revision"',
      '"method\\u0000":"tools/list","params\\u0000":{"name":"revision"}',
    ],
  ] as const
  it.each(differing)('%s: does not confuse keys %s with protocol keys', async (_, __, inner, outer) => {
    const { server, ran } = watched()
    await using http = await serve(server)
    await using peer = await Peer.open(http.url, '2025-11-25')
    const bodies = [
      `{"jsonrpc":"2.0","id":"k","method":"tools/call","params":{${tool},${inner}},${outer}}`,
      `{${outer},"jsonrpc":"2.0","id":"k","method":"tools/call","params":{${inner},${tool}}}`,
    ]
    for (const body of bodies) {
      const answer = await (await peer.send('POST', {}, body)).json()
      expect(answer.result?.content?.[0]?.text).toBe('seen by the gateway')
    }
    expect(ran).toEqual(['echo', 'echo'])
  })

  it('GHSA-q382-vc8q-7jhj: refuses duplicate keys instead of using the first or the last', async () => {
    const { server, ran } = watched()
    await using http = await serve(server)
    await using peer = await Peer.open(http.url, '2025-11-25')
    const twice = [
      `{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/call","params":{${tool}}}`,
      `{"jsonrpc":"2.0","id":1,"method":"tools/call","m\\u0065thod":"ping","params":{${tool}}}`,
      `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{${tool}},"params":{"name":"revision"}}`,
    ]
    for (const body of twice) {
      const answer = await peer.send('POST', {}, body)
      expect([answer.status, (await answer.json()).error?.code]).toEqual([400, -32600])
    }
    expect(ran).toEqual([])
  })
})

describe('a stdio server', () => {
  it('typescript-sdk PR 2239, GHSA-74gp-qhv5-v493, openclaw #119379, CVE-2026-63119: survives a line that is too long', async () => {
    const options = { stdio: { maxMessageBytes: 100_000 } }
    await using server = await RawProcess.start('2025-11-25', options)
    for (let sent = 0; sent < 20; sent++) server.write('x'.repeat(100_000))
    server.write('\n')
    await server.stillWorks()
    expect(server.child.exitCode).toBeNull()
  })

  it('python-sdk #2328: survives bytes that are not UTF-8 [RPC-019, RPC-024]', async () => {
    await using server = await RawProcess.start('2025-11-25')
    for (const bytes of [[0xff, 0xfe, 0x80], [0xc3], [0xed, 0xa0, 0x80], [0xf8, 0x88, 0x80, 0x80, 0x80]]) {
      server.write(Buffer.from([...Buffer.from('{"jsonrpc":"2.0","id":1,"method":"'), ...bytes, 0x22, 0x7d, 0x0a]))
      server.write(Buffer.from([...bytes, 0x0a]))
    }
    await server.stillWorks()
    expect(server.child.exitCode).toBeNull()
  })
})

describe('a server that supports only 2026-07-28', () => {
  it('CVE-2026-67430: keeps no state of a call after its response', async () => {
    await using http = await serve(workshop(onlyModern))
    await using peer = new Peer(http.url, modern)
    for (let count = 0; count < 20; count++) await peer.textOf('echo')
    await eventually(() => http.metrics.calls === 0)
    expect(http.metrics).toMatchObject({ streams: 0, calls: 0, sessions: { open: 0, opened: 0 } })
  })
})
