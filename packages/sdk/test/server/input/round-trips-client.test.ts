import { Client, PeerError, StreamableHTTPClientTransport } from 'tenon/client'
import { describe, expect, it, vi } from 'vitest'
import { gate } from '../../kit/gate.ts'
import { discovery, scripted, scriptedClient } from '../../kit/scripted-server.ts'
import { listenWith } from '../../kit/serve-http.ts'
import { movableTimers } from '../../kit/time.ts'
import { type Said, said } from '../../kit/transcript.ts'
import { warningsOf } from '../../kit/warnings.ts'

import {
  accepted,
  type Body,
  done,
  form,
  handlers,
  inputRequired,
  model,
  modern,
  page,
  play,
  roots,
  serverOf,
} from './round-trips-client-support.ts'

function withoutMeta({ _meta, ...params }: NonNullable<Said['params']>): Body {
  return params
}

describe('a client that receives input_required', () => {
  const requests: [string, (client: Client) => Promise<unknown>, Body, Body][] = [
    ['tools/call', (client) => client.callTool('ask', { a: 1 }), { name: 'ask', arguments: { a: 1 } }, done],
    [
      'prompts/get',
      (client) => client.getPrompt('ask', { a: 'b' }),
      { name: 'ask', arguments: { a: 'b' } },
      { resultType: 'complete', messages: [] },
    ],
    [
      'resources/read',
      (client) => client.readResource('note://a'),
      { uri: 'note://a' },
      { resultType: 'complete', contents: [], ttlMs: 0, cacheScope: 'private' },
    ],
  ]
  it.each(requests)(
    'answers all questions and repeats the request with a new id: %s [MRTR-010, MRTR-011, MRTR-013, MRTR-016, RPC-045]',
    async (method, call, params, last) => {
      const questions = { f: form(), p: page, m: model, r: roots }
      const results = [
        inputRequired({ inputRequests: questions, requestState: 's1' }),
        inputRequired({ inputRequests: { again: form('Again?') }, requestState: 's2' }),
        last,
      ]
      const server = serverOf((_params, round) => results[round - 1]!, method)
      await using client = await scriptedClient(server, { revision: modern, handlers })
      await call(client)
      const sent = said(server.transcript, 'client', method)
      expect(sent.map(({ params }) => withoutMeta(params!))).toEqual([
        params,
        {
          ...params,
          requestState: 's1',
          inputResponses: {
            f: { action: 'accept', content: { name: 'Name?' } },
            p: { action: 'accept' },
            m: { role: 'assistant', model: 'm', content: { type: 'text', text: 'Hello' } },
            r: { roots: [{ uri: 'file:///home/me' }] },
          },
        },
        { ...params, requestState: 's2', inputResponses: { again: { action: 'accept', content: { name: 'Again?' } } } },
      ])
      expect(new Set(sent.map(({ id }) => id)).size).toBe(3)
      // Every round trip identifies the client.
      for (const { params } of sent)
        expect(Object.keys(params!._meta!)).toEqual(
          expect.arrayContaining(Object.keys(sent[0]!.params!._meta!).filter((key) => key !== 'progressToken')),
        )
    },
  )

  it('waits until every question is answered [MRTR-010]', async () => {
    const gates = { a: gate(), b: gate() }
    const server = serverOf((_params, round) =>
      round === 1 ? inputRequired({ inputRequests: { a: form('a'), b: form('b') } }) : done,
    )
    const asked = gate()
    let open = 0
    await using client = await scriptedClient(server, {
      revision: modern,
      handlers: {
        elicit: async ({ message }) => {
          if (++open === 2) asked.open()
          await gates[message as 'a' | 'b'].opened
          return accepted()
        },
      },
    })
    const call = client.callTool('ask')
    await asked.opened
    gates.b.open()
    await client.request('server/discover')
    expect(said(server.transcript, 'client', 'tools/call')).toHaveLength(1)
    gates.a.open()
    expect((await call).text).toBe('done')
    const [, retry] = said(server.transcript, 'client', 'tools/call')
    expect(Object.keys(retry!.params!.inputResponses as object).sort()).toEqual(['a', 'b'])
  })

  it('reports that the user declined or cancelled, and continues [MRTR-011]', async () => {
    const actions = { a: 'decline', b: 'cancel' } as const
    const { outcome, calls } = await play(
      (_params, round) => (round === 1 ? inputRequired({ inputRequests: { a: form('a'), b: form('b') } }) : done),
      { handlers: { elicit: ({ message }) => ({ action: actions[message as 'a' | 'b'] }) } },
    )
    expect(outcome).toBe('done')
    expect(calls[1]!.params!.inputResponses).toEqual({ a: { action: 'decline' }, b: { action: 'cancel' } })
  })

  const odd: [string, string][] = [
    ['nothing', ''],
    ['a space', ' '],
    ['JSON', '{"isAdmin":false,"__proto__":{"a":1}}'],
    ['a token', 'eyJhbGciOiJub25lIn0.eyJzdWIiOiIxIn0.'],
    ['escapes', '\\u0041 \\n \u0000 \u001f " \\ / \u007f'],
    ['line ends', 'a\nb\r\nc\u2028d\u2029e\u0085'],
    ['what is not normalized', 'é e\u0301 ﬁ Å \u212b İ ß'],
    ['other scripts', 'ключ 鍵 مفتاح 🔑 👩‍👩‍👧'],
    ['half a character', '\ud800 x \udc00'],
    ['a byte order mark', '\ufeffstate\ufeff'],
    ['a large number', '12345678901234567890.10'],
    ['100 KB', Array.from({ length: 100_000 }, (_, at) => String.fromCharCode(32 + ((at * 7) % 94))).join('')],
    ['markup', '<script>alert(1)</script>&amp;%20+=?#'],
  ]
  it.each(odd)('sends the state back unchanged: %s [MRTR-013, MRTR-014]', async (_what, requestState) => {
    const { outcome, calls } = await play((_params, round) =>
      round === 1 ? inputRequired({ inputRequests: { a: form() }, requestState }) : done,
    )
    expect(outcome).toBe('done')
    expect(calls[1]!.params!.requestState).toBe(requestState)
  })

  it('sends the state back byte for byte over HTTP, only in the body [MRTR-013, MRTR-014]', async () => {
    const bodies: string[] = []
    let current = ''
    await using http = await listenWith((request, response) => {
      const chunks: Buffer[] = []
      request.on('data', (chunk) => chunks.push(chunk))
      request.on('end', () => {
        const text = Buffer.concat(chunks).toString('utf8')
        const { id, method, params } = JSON.parse(text)
        if (method === 'tools/call') bodies.push(text)
        expect(JSON.stringify(request.headers)).not.toContain('state-mark')
        const isFirst = params.inputResponses === undefined
        const asks = inputRequired({ inputRequests: { a: form() }, requestState: current })
        const result = method === 'server/discover' ? discovery([modern]) : isFirst ? asks : done
        response.writeHead(200, { 'content-type': 'application/json' })
        response.end(JSON.stringify({ jsonrpc: '2.0', id, result }))
      })
    })
    await using client = new Client({ name: 'test', version: '1.0.0' }, { revision: modern, handlers })
    await client.connect(new StreamableHTTPClientTransport(http.url))
    for (const [, state] of odd) {
      current = `state-mark ${state}`
      bodies.length = 0
      expect((await client.callTool('ask')).text).toBe('done')
      expect(bodies).toHaveLength(2)
      expect(bodies[1]).toContain(`"requestState":${JSON.stringify(current)}`)
      expect(JSON.parse(bodies[1]!).params.requestState).toBe(current)
    }
  })

  it('sends no state when the last result had none, even after one that had [MRTR-015]', async () => {
    const { outcome, calls } = await play((_params, round) => {
      if (round === 1) return inputRequired({ inputRequests: { a: form() } })
      if (round === 2) return inputRequired({ inputRequests: { a: form() }, requestState: 'now' })
      return round === 3 ? inputRequired({ inputRequests: { b: form() } }) : done
    })
    expect(outcome).toBe('done')
    expect(calls.map(({ params }) => ['requestState' in params!, params!.requestState])).toEqual([
      [false, undefined],
      [false, undefined],
      [true, 'now'],
      [false, undefined],
    ])
    // Answers from an earlier round trip are not sent either.
    expect(Object.keys(calls[3]!.params!.inputResponses as object)).toEqual(['b'])
  })

  it('repeats the request when the result has a state and no question [MRTR-012, MRTR-013]', async () => {
    const { outcome, calls } = await play((_params, round) =>
      round <= 2 ? inputRequired({ requestState: `later ${round}` }) : done,
    )
    expect(outcome).toBe('done')
    expect(calls.map(({ params }) => withoutMeta(params!))).toEqual([
      { name: 'ask', arguments: { a: 1 } },
      { name: 'ask', arguments: { a: 1 }, requestState: 'later 1' },
      { name: 'ask', arguments: { a: 1 }, requestState: 'later 2' },
    ])
  })

  it('supports keys that have a meaning in JavaScript [MRTR-011]', async () => {
    const keys = ['__proto__', 'constructor', 'toString', 'hasOwnProperty', '', '0', 'ключ "\n']
    const text = `{${keys.map((key) => `${JSON.stringify(key)}:${JSON.stringify(form(`about ${key}`))}`).join()}}`
    const { outcome, calls } = await play((_params, round) =>
      round === 1 ? inputRequired({ inputRequests: JSON.parse(text) }) : done,
    )
    expect(outcome).toBe('done')
    const responses = calls[1]!.params!.inputResponses as Body
    expect(Object.getPrototypeOf(responses)).toBe(Object.prototype)
    expect(Object.keys(responses).sort()).toEqual([...keys].sort())
    for (const key of keys) {
      expect(Object.getOwnPropertyDescriptor(responses, key)?.value).toEqual(accepted({ name: `about ${key}` }))
    }
    expect(({} as Body).content).toBeUndefined()
  })

  it('keeps 100 concurrent calls apart from each other and from other requests [MRTR-017]', async () => {
    const server = scripted(modern, {
      'tools/call': ({ arguments: args, inputResponses, requestState }) => {
        const { run } = args as { run: number }
        const steps = requestState === undefined ? 0 : Number(String(requestState).split('/')[1])
        if (requestState !== undefined) expect(requestState).toBe(`${run}/${steps}`)
        if (steps > 0) expect(inputResponses).toEqual({ [`k${run}`]: accepted({ name: `${run}: ${steps}` }) })
        if (steps === 3) return { result: { ...done, content: [{ type: 'text', text: `${run}` }] } }
        const inputRequests = { [`k${run}`]: form(`${run}: ${steps + 1}`) }
        return { result: inputRequired({ inputRequests, requestState: `${run}/${steps + 1}` }) }
      },
      'resources/read': () => ({ result: { resultType: 'complete', contents: [], ttlMs: 0, cacheScope: 'private' } }),
    })
    await using client = await scriptedClient(server, {
      revision: modern,
      handlers: {
        elicit: async ({ message }) => {
          // Make the answers arrive in any order.
          await new Promise((resolve) => setTimeout(resolve, (message.length * 7) % 5))
          return accepted({ name: message })
        },
      },
    })
    const runs = Array.from({ length: 100 }, async (_, run) => {
      const [{ text }] = await Promise.all([client.callTool('ask', { run }), client.readResource(`note://${run}`)])
      return text
    })
    expect(await Promise.all(runs)).toEqual(Array.from({ length: 100 }, (_, run) => `${run}`))
    for (const { params } of said(server.transcript, 'client', 'resources/read')) {
      expect(Object.keys(withoutMeta(params!))).toEqual(['uri'])
    }
    // A new call starts without the state of the last one.
    await client.callTool('ask', { run: 0 })
    const calls = said(server.transcript, 'client', 'tools/call')
    expect(new Set(calls.map(({ id }) => id)).size).toBe(calls.length)
    expect(withoutMeta(calls.at(-4)!.params!)).toEqual({ name: 'ask', arguments: { run: 0 } })
  })

  it('adds no listeners to a shared signal while many calls wait for the user', async () => {
    const warnings = warningsOf('MaxListenersExceededWarning')
    const server = scripted(modern, {
      'tools/call': ({ inputResponses }) => ({
        result: inputResponses ? done : inputRequired({ inputRequests: { who: form('Who?') } }),
      }),
    })
    const answers = gate()
    let asked = 0
    await using client = await scriptedClient(server, {
      revision: modern,
      handlers: {
        elicit: async () => {
          if (++asked === 20) answers.open()
          await answers.opened
          return accepted({ name: 'Ann' })
        },
      },
    })
    await Promise.all(Array.from({ length: 20 }, () => client.callTool('ask')))
    expect(asked).toBe(20)
    expect(await warnings()).toEqual([])
  })

  it('adds no listeners to a shared signal while many calls wait to be repeated', async () => {
    const warnings = warningsOf('MaxListenersExceededWarning')
    const server = scripted(modern, {
      'tools/call': ({ requestState }) => ({
        result: requestState === undefined ? inputRequired({ requestState: 'later' }) : done,
      }),
    })
    await using client = await scriptedClient(server, { revision: modern })
    await Promise.all(Array.from({ length: 20 }, () => client.callTool('ask')))
    expect(await warnings()).toEqual([])
  })

  it('passes the error of a later round trip to the caller', async () => {
    let round = 0
    const server = scripted(modern, {
      'tools/call': () =>
        ++round === 1
          ? { result: inputRequired({ inputRequests: { a: form() }, requestState: 's' }) }
          : { error: { code: -32602, message: 'params.requestState has expired' } },
    })
    await using client = await scriptedClient(server, { revision: modern, handlers })
    const error = await client.callTool('ask').catch((reason: unknown) => reason)
    expect(error).toBeInstanceOf(PeerError)
    expect(error).toMatchObject({ rpcCode: -32602 })
  })

  it('does not count the time of the user towards the timeout of the request', async () => {
    using time = movableTimers()
    const { outcome } = await play(
      (_params, round) => (round === 1 ? inputRequired({ inputRequests: { a: form() } }) : done),
      {
        request: { timeoutMs: 30_000 },
        handlers: { elicit: () => time.advance(60_000).then(() => accepted()) },
      },
    )
    expect(outcome).toBe('done')
  })

  it('reports the progress of every round trip', async () => {
    const server = serverOf((params, round) => {
      const { progressToken } = params._meta as { progressToken: unknown }
      const notice = { progressToken, progress: 1, message: `round ${round}` }
      server.say({ jsonrpc: '2.0', method: 'notifications/progress', params: notice })
      return round === 1 ? inputRequired({ inputRequests: { a: form() } }) : done
    })
    await using client = await scriptedClient(server, { revision: modern, handlers })
    const heard: unknown[] = []
    await client.callTool('ask', {}, { onProgress: ({ message }) => heard.push(message) })
    expect(heard).toEqual(['round 1', 'round 2'])
    const tokens = said(server.transcript, 'client', 'tools/call').map(({ params }) => params!._meta!.progressToken)
    expect(new Set(tokens).size).toBe(2)
  })

  it('does not cache the result of a request with answers or a state [CACHE-006]', async () => {
    const kept = { resultType: 'complete', contents: [], ttlMs: 600_000, cacheScope: 'private' }
    const ways: Record<string, Body> = {
      'note://both': { inputRequests: { a: form() }, requestState: 's' },
      'note://answers': { inputRequests: { a: form() } },
      'note://state': { requestState: 's' },
    }
    const server = scripted(modern, {
      'resources/read': (params) => {
        const way = ways[params.uri as string]
        const isRetry = params.inputResponses !== undefined || params.requestState !== undefined
        return { result: way && !isRetry ? { ...inputRequired(way), ttlMs: 600_000, cacheScope: 'public' } : kept }
      },
    })
    await using client = await scriptedClient(server, { revision: modern, handlers })
    for (const uri of [...Object.keys(ways), 'note://plain']) {
      for (const _ of [1, 2]) await client.readResource(uri)
    }
    const reads = said(server.transcript, 'client', 'resources/read').map(({ params }) => params!.uri as string)
    for (const uri of Object.keys(ways))
      expect(
        reads.filter((read) => read === uri),
        uri,
      ).toHaveLength(4)
    expect(reads.filter((read) => read === 'note://plain')).toHaveLength(1)
  })

  it('ignores requests from a server of 2026-07-28 [MRTR-001]', async () => {
    const elicit = vi.fn(() => accepted())
    const server = serverOf(() => done)
    await using client = await scriptedClient(server, { revision: modern, handlers: { ...handlers, elicit } })
    for (const [at, question] of [form(), page, model, roots].entries()) {
      server.say({ jsonrpc: '2.0', id: `q${at}`, ...question })
    }
    expect((await client.callTool('ask')).text).toBe('done')
    expect(elicit).not.toHaveBeenCalled()
    expect(said(server.transcript, 'client').filter(({ id }) => String(id).startsWith('q'))).toEqual([])
  })
})
