import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { ErrorCode, UrlElicitationRequiredError } from 'tenon'
import { Client, type ClientHandlers, StreamableHTTPClientTransport } from 'tenon/client'
import { inputRequired, McpServer } from 'tenon/server'
import { record, ScriptedClient, Transcript } from 'tenon/testing'
import { describe, expect, it } from 'vitest'
import { connected } from '../../era/support.ts'
import { gate } from '../../kit/gate.ts'
import { Peer } from '../../kit/http-peer.ts'
import { scripted, scriptedClient } from '../../kit/scripted-server.ts'
import { serve } from '../../kit/serve-http.ts'
import { heard, said } from '../../kit/transcript.ts'

import { answers, asked, asking } from './asked.ts'
import { complete, nextCompletion, old, onlyOld, page, visiting } from './elicit-url-support.ts'
import { everyAsking, everyPage } from './support.ts'
import { modern, putTo } from './wire.ts'

const both = [old, modern] as const

describe('a URL elicitation', () => {
  everyPage(
    'is sent with mode, message and URL, and reaches the handler unchanged [ELIC-022, ELIC-046]',
    async (wire) => {
      const server = asking((ctx) => ctx.elicitUrl('Log in there', new URL(page)))
      const { seen, handlers } = visiting()
      await using pair = await wire.connect(server, { handlers })
      await pair.client.callTool('ask')
      expect(asked(pair.transcript)).toMatchObject([{ mode: 'url', message: 'Log in there', url: page }])
      expect(asked(pair.transcript)[0]).not.toHaveProperty('requestedSchema')
      expect(seen).toMatchObject([{ message: 'Log in there' }])
      expect(seen[0]!.url).toBeInstanceOf(URL)
      expect([seen[0]!.url.href, seen[0]!.url.hostname]).toEqual([page, 'login.example.com'])
    },
  )

  everyAsking(
    'has a unique id each time, and an id from the application is used as given [ELIC-023]',
    async (wire) => {
      const server = asking(async (ctx) => {
        await Promise.all([ctx.elicitUrl('One', page), ctx.elicitUrl('Two', page)])
        await ctx.elicitUrl('Three', page, { elicitationId: undefined })
        await ctx.elicitUrl('Four', page, { elicitationId: ' any: "text" ☃' })
      })
      const first = visiting()
      const second = visiting()
      await using one = await wire.connect(server, first)
      await using two = await wire.connect(server, second)
      await Promise.all([one.client.callTool('ask'), two.client.callTool('ask')])
      const ids = [...asked(one.transcript), ...asked(two.transcript)].map(({ elicitationId }) => elicitationId!)
      expect(ids.every((id) => typeof id === 'string' && id !== '')).toBe(true)
      const made = ids.filter((id) => !id.includes('☃'))
      expect([made.length, new Set(made).size]).toEqual([6, 6])
      const told = [...first.seen, ...second.seen].map(({ elicitationId }) => elicitationId)
      expect(told.sort()).toEqual(ids.sort())
    },
    onlyOld,
  )

  everyAsking(
    'has an id when it is returned with inputRequired [ELIC-023]',
    async (wire) => {
      const server = new McpServer({ name: 'asker', version: '1.0.0' })
      server.registerTool('ask', {}, (_args, ctx) => {
        if (ctx.inputResponses.a) return 'done'
        const a = inputRequired.elicitUrl({ message: 'A', url: page })
        const b = inputRequired.elicitUrl({ message: 'B', url: page })
        return inputRequired({ inputRequests: { a, b } })
      })
      await using pair = await wire.connect(server, visiting())
      expect((await pair.client.callTool('ask')).text).toBe('done')
      const ids = asked(pair.transcript).map(({ elicitationId }) => elicitationId)
      expect(ids).toEqual([expect.any(String), expect.any(String)])
      expect(ids[0]).not.toBe(ids[1])
    },
    onlyOld,
  )

  it('has an id when inputRequired gets an explicitly undefined elicitationId [ELIC-023]', async () => {
    const server = new McpServer({ name: 'asker', version: '1.0.0' })
    server.registerTool('ask', {}, (_args, ctx) => {
      if (ctx.inputResponses.a) return 'done'
      const a = inputRequired.elicitUrl({ message: 'A', url: page, elicitationId: undefined })
      return inputRequired({ inputRequests: { a } })
    })
    const { seen, handlers } = visiting()
    await using client = await connected(server, { revision: old, handlers })
    await client.callTool('ask')
    expect(seen[0]!.elicitationId).toEqual(expect.any(String))
  })

  everyAsking(
    'has no id and no completion notification on 2026-07-28 [ELIC-024]',
    async (wire) => {
      const server = asking(async (ctx) => {
        const answer = await ctx.elicitUrl('Log in there', page, { elicitationId: 'mine' })
        answer.complete()
        return answer.action
      })
      const { seen, handlers } = visiting()
      await using pair = await wire.connect(server, { handlers })
      expect((await pair.client.callTool('ask')).text).toBe('accept')
      await pair.client.listTools()
      expect(JSON.stringify(said(pair.transcript, 'server'))).not.toMatch(/elicitationId|elicitation\/complete/)
      expect(seen[0]!.elicitationId).toBeUndefined()
    },
    { revisions: [modern] },
  )

  everyPage('is answered with an action and nothing else [ELIC-017, ELIC-018]', async (wire) => {
    for (const action of ['accept', 'decline', 'cancel'] as const) {
      const server = asking((ctx) => ctx.elicitUrl('Log in there', page))
      const elicitUrl = () => ({ action, content: { code: '123' } })
      await using pair = await wire.connect(server, { handlers: { elicitUrl } })
      expect(JSON.parse((await pair.client.callTool('ask')).text)).toEqual({ action })
      expect(answers(pair.transcript)).toEqual([{ action }])
    }
  })

  for (const revision of both) {
    it(`passes only an action to the handler, whatever the client sends (${revision}) [ELIC-018]`, async () => {
      const server = asking(async (ctx) => Object.keys(await ctx.elicitUrl('Log in there', page)))
      const client = await ScriptedClient.connect(server, { revision, capabilities: { elicitation: { url: {} } } })
      await using _client = client
      await client.open()
      const answer = { action: 'accept', content: { code: '123' } }
      const call = { name: 'ask', arguments: {} }
      const called = client.request('tools/call', call)
      let outcome = called
      if (revision === old) {
        const { id } = await heard(client.transcript, 'server', 'elicitation/create')
        client.say({ jsonrpc: '2.0', id, result: answer })
      } else {
        const { requestState, inputRequests } = (await called).result as { requestState: string; inputRequests: object }
        const inputResponses = Object.fromEntries(Object.keys(inputRequests).map((key) => [key, answer]))
        outcome = client.request('tools/call', { ...call, requestState, inputResponses })
      }
      expect((await outcome).result!.content).toEqual([{ type: 'text', text: '["action","complete"]' }])
    })
  }

  const bad: [string, string][] = [
    ['no URL', 'login page'],
    ['a path', '/login'],
    ['http to another machine', 'http://login.example.com/'],
    ['a script', 'javascript:alert(1)'],
    ['a file', 'file:///etc/passwd'],
    ['data', 'data:text/html,hello'],
    ['a user and a password', 'https://ada:secret@login.example.com/'],
    ['a user', 'https://token@login.example.com/'],
  ]
  for (const [name, url] of bad) {
    everyPage(`is not sent when the URL is ${name} [ELIC-022, ELIC-043]`, async (wire) => {
      const server = asking((ctx) => ctx.elicitUrl('Log in there', url))
      const { seen, handlers } = visiting()
      await using pair = await wire.connect(server, { handlers })
      const result = await pair.client.callTool('ask')
      expect([result.isError, result.text]).toEqual([
        true,
        expect.stringMatching(/^(Invalid URL|The URL must not contain|The URL must use https)/),
      ])
      expect([asked(pair.transcript), seen]).toEqual([[], []])
    })
  }

  everyPage('is not sent in a UrlElicitationRequiredError with an invalid URL [ELIC-022, ELIC-043]', async (wire) => {
    for (const [, url] of bad) {
      const server = asking(() => {
        throw new UrlElicitationRequiredError([{ message: 'Log in there', url }])
      })
      const { seen, handlers } = visiting('decline')
      await using pair = await wire.connect(server, { handlers, maxRounds: 1 })
      await pair.client.callTool('ask').catch(() => {})
      expect(JSON.stringify(said(pair.transcript, 'server'))).not.toContain('"mode":"url"')
      expect(seen).toEqual([])
    }
  })

  everyPage('may use plain http on the local machine, for development [ELIC-043]', async (wire) => {
    const server = asking(async (ctx) => {
      for (const host of ['localhost', '127.0.0.1', '[::1]']) {
        await ctx.elicitUrl('Log in there', `http://${host}:3000/`, { key: host })
      }
      return 'done'
    })
    await using pair = await wire.connect(server, visiting())
    expect((await pair.client.callTool('ask')).text).toBe('done')
  })
})

describe('a client that receives a URL elicitation', () => {
  everyPage('neither fetches nor opens the URL, whatever the user answers [ELIC-044, ELIC-045]', async (wire) => {
    let connections = 0
    const site = createServer((_, response) => response.end())
    site.on('connection', () => connections++)
    await new Promise<void>((resolve) => site.listen(0, '127.0.0.1', resolve))
    const url = `http://127.0.0.1:${(site.address() as AddressInfo).port}/login`
    const server = asking(async (ctx) => (await ctx.elicitUrl('Log in there', url)).action)
    try {
      for (const action of ['accept', 'decline', 'cancel'] as const) {
        await using pair = await wire.connect(server, visiting(action))
        expect((await pair.client.callTool('ask')).text).toBe(action)
      }
      expect(connections).toBe(0)
      // Verify that the counter works.
      await fetch(url)
      expect(connections).toBe(1)
    } finally {
      site.closeAllConnections()
      site.close()
    }
  })

  const suspicious: [string, RegExp[]][] = [
    ['https://example.com/login', []],
    ['https://xn--pple-43d.com/', [/punycode/]],
    ['https://login.xn--pple-43d.com/', [/punycode/]],
    ['https://аpple.com/', [/punycode/]],
    ['http://example.com/', [/not encrypted/]],
    ['https://example.com@evil.example/', [/host is evil\.example/]],
    ['https://:pass@evil.example/', [/host is evil\.example/]],
    ['https://203.0.113.7/', [/IP address/]],
    ['https://0xcb007107/', [/IP address/]],
    ['https://[2001:db8::1]/', [/IP address/]],
    ['https://example.com:8443/', [/port.*8443/]],
    ['http://bank.com@203.0.113.7:81/', [/not encrypted/, /host is 203/, /IP address/, /port.*81/]],
  ]
  for (const revision of both) {
    it.each(suspicious)(`warns about suspicious parts of %s (${revision}) [ELIC-047]`, async (url, warnings) => {
      const { seen, handlers } = visiting()
      const { result } = await putTo(revision, pageQuestion(url), { handlers })
      expect(result).toEqual({ action: 'accept' })
      expect(seen[0]!.url.href).toBe(new URL(url).href)
      expect(seen[0]!.warnings).toHaveLength(warnings.length)
      warnings.forEach((warning, index) => {
        expect(seen[0]!.warnings[index]).toMatch(warning)
      })
    })

    it.each(['javascript:alert(1)', 'file:///etc/passwd', 'data:text/html,x', 'ftp://example.com/', 'no url', ''])(
      `rejects %j without showing it (${revision}) [ELIC-022]`,
      async (url) => {
        const { seen, handlers } = visiting()
        const { error, result } = await putTo(revision, pageQuestion(url), { handlers })
        expect([error?.code, result, seen]).toEqual([ErrorCode.InvalidParams, undefined, []])
      },
    )
  }
})

describe('the completion of a URL elicitation (2025-11-25)', () => {
  everyAsking(
    'is sent to the client that was asked, with the id of the elicitation [ELIC-025, ELIC-026]',
    async (wire) => {
      const server = asking(async (ctx) => (await ctx.elicitUrl('Log in there', page)).complete())
      const clients = await Promise.all([1, 2, 3].map(() => wire.connect(server, visiting())))
      try {
        const events = clients.map(({ client }) => nextCompletion(client))
        await Promise.all(clients.map(({ client }) => client.callTool('ask')))
        const ids = (await Promise.all(events)).map(({ elicitationId }) => elicitationId)
        expect(ids).toEqual(clients.map(({ transcript }) => asked(transcript)[0]!.elicitationId))
        for (const [index, { client, transcript }] of clients.entries()) {
          await client.ping()
          expect(completedIn(transcript)).toEqual([ids[index]])
        }
      } finally {
        for (const pair of clients) await pair[Symbol.asyncDispose]()
      }
    },
    onlyOld,
  )

  it('is not sent to other clients, neither during the call nor after it [ELIC-025, ELIC-026]', async () => {
    const later: (() => void)[] = []
    const server = asking(async (ctx) => {
      const during = await ctx.elicitUrl('Now', page)
      const after = await ctx.elicitUrl('Later', page)
      during.complete()
      later.push(() => after.complete())
    })
    await using http = await serve(server)
    const clients = await Promise.all(
      [1, 2, 3, 4].map(async () => {
        const { seen, handlers } = visiting()
        const client = new Client({ name: 'test', version: '1.0.0' }, { revision: old, handlers })
        const transport = new StreamableHTTPClientTransport(http.url)
        const transcript = record(transport, new Transcript())
        await client.connect(transport)
        return { client, transcript, seen }
      }),
    )
    try {
      const [, ...askedOnes] = clients
      await Promise.all(askedOnes.map(({ client }) => client.callTool('ask')))
      for (const finish of later) finish()
      for (const { transcript, seen } of askedOnes) {
        await heard(transcript, 'server', complete, 2)
        expect(completedIn(transcript).sort()).toEqual(seen.map(({ elicitationId }) => elicitationId).sort())
      }
      // list_changed is sent to every client, after all earlier messages.
      const changed = clients.map(({ transcript }) => heard(transcript, 'server', 'notifications/tools/list_changed'))
      server.registerTool('other', {}, () => 'other')
      await Promise.all(changed)
      expect(clients.map(({ transcript }) => completedIn(transcript).length)).toEqual([0, 2, 2, 2])
    } finally {
      for (const { client } of clients) await client.close()
    }
  })

  it('is sent on the stream of the call while that is open [ELIC-025, HTTP-032]', async () => {
    const server = asking(async (ctx) => {
      const { action, complete } = await ctx.elicitUrl('Log in there', page)
      complete()
      return action
    })
    await using http = await serve(server)
    await using peer = await Peer.open(http.url, old, { capabilities: { elicitation: { url: {} } } })
    const called = await peer.request('tools/call', { name: 'ask', arguments: {} })
    const { id, params } = await called.notified('elicitation/create')
    await peer.post({ jsonrpc: '2.0', id, result: { action: 'accept' } })
    await called.response()
    const told = called.messages.filter(({ method }) => method === complete)
    expect(told.map((message) => message.params)).toEqual([{ elicitationId: params!.elicitationId }])
  })

  it('is emitted once for each known elicitation; other ids are ignored [ELIC-027]', async () => {
    const server = scripted(old)
    const { seen, handlers } = visiting()
    const events: string[] = []
    await using client = await scriptedClient(server, { revision: old, handlers })
    client.on('elicitationComplete', ({ elicitationId }) => events.push(elicitationId))
    const tell = (params: object) => server.say({ jsonrpc: '2.0', method: complete, params })
    tell({ elicitationId: 'e-1' })
    server.say({ jsonrpc: '2.0', id: 'q', ...pageQuestion(page) })
    await answered(server.transcript, 'q')
    expect(seen).toHaveLength(1)
    tell({ elicitationId: 'e-2' })
    tell({ elicitationId: '__proto__' })
    tell({ elicitationId: 7 })
    tell({})
    tell({ elicitationId: 'e-1' })
    tell({ elicitationId: 'e-1' })
    await client.ping()
    expect(events).toEqual(['e-1'])
    expect(client.state).toBe('ready')
  })

  it('may arrive before the user answers', async () => {
    const server = scripted(old)
    const shown = gate()
    const done = gate()
    const elicitUrl: ClientHandlers['elicitUrl'] = async () => {
      shown.open()
      await done.opened
      return { action: 'accept' }
    }
    await using client = await scriptedClient(server, { revision: old, handlers: { elicitUrl } })
    const completed = nextCompletion(client)
    server.say({ jsonrpc: '2.0', id: 'q', ...pageQuestion(page) })
    await shown.opened
    server.say({ jsonrpc: '2.0', method: complete, params: { elicitationId: 'e-1' } })
    expect(await completed).toEqual({ elicitationId: 'e-1' })
    done.open()
    await answered(server.transcript, 'q')
  })
})

function pageQuestion(url: string) {
  return { method: 'elicitation/create', params: { mode: 'url', message: 'Go there', url, elicitationId: 'e-1' } }
}

function completedIn(transcript: Transcript): unknown[] {
  return said(transcript, 'server', complete).map(({ params }) => params!.elicitationId)
}

/** Waits until the client has answered the request with this id from a scripted server. */
function answered(transcript: Transcript, id: string): Promise<void> {
  return new Promise((resolve) => {
    const look = () => {
      if (said(transcript, 'client').some((message) => message.id === id)) resolve()
    }
    transcript.onLine(look)
    look()
  })
}
