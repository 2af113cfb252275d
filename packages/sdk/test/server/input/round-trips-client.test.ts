import { McpError, type RevisionId } from 'tenon'
import { Client, type ClientHandlers, type ClientOptions, PeerError, StreamableHTTPClientTransport } from 'tenon/client'
import { McpServer } from 'tenon/server'
import type { ScriptedServer } from 'tenon/testing'
import { describe, expect, it, vi } from 'vitest'
import { discovery, gate, handshakes, type Said, said, scripted, scriptedClient } from '../../era/support.ts'
import { movableTimers } from '../../kit/time.ts'
import { listenWith } from '../../transport/http/server/support.ts'
import { everyForm } from './support.ts'

const modern = '2026-07-28'
type Body = Record<string, unknown>
type Script = (params: Body, round: number) => Body

const form = (message = 'Name?') => ({
  method: 'elicitation/create',
  params: {
    mode: 'form',
    message,
    requestedSchema: { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] },
  },
})
const page = {
  method: 'elicitation/create',
  params: { mode: 'url', message: 'Go there', url: 'https://example.com/a' },
}
const model = {
  method: 'sampling/createMessage',
  params: { messages: [{ role: 'user', content: { type: 'text', text: 'Hi' } }], maxTokens: 10 },
}
const roots = { method: 'roots/list' }

const inputRequired = (more: Body) => ({ resultType: 'input_required', ...more })
const done = { resultType: 'complete', content: [{ type: 'text', text: 'done' }] }
const accepted = (content: Record<string, string> = { name: 'Ada' }) => ({ action: 'accept' as const, content })
const handlers: ClientHandlers = {
  elicit: ({ message }) => accepted({ name: message }),
  elicitUrl: () => ({ action: 'accept' }),
  sample: () => ({ role: 'assistant', model: 'm', content: { type: 'text', text: 'Hello' } }),
  roots: [{ uri: 'file:///home/me' }],
}

/** A server that answers calls of tools by a script, which is told the number of the call. */
function serverOf(script: Script, method = 'tools/call'): ScriptedServer {
  let round = 0
  return scripted(modern, { [method]: (params) => ({ result: script(params, ++round) }) })
}

/** Calls the one tool there is, and gives what was said besides what came of it. */
async function play(script: Script, options: ClientOptions = {}) {
  const server = serverOf(script)
  await using client = await scriptedClient(server, { revision: modern, handlers, ...options })
  const outcome = await client.callTool('ask', { a: 1 }).then(
    (result) => result.text,
    (error: unknown) => error,
  )
  return { outcome, calls: said(server.transcript, 'client', 'tools/call') }
}

function withoutMeta({ _meta, ...params }: NonNullable<Said['params']>): Body {
  return params
}

describe('a client that is asked in a result', () => {
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
    'answers everything and makes the same request again, under another id: %s [MRTR-010, MRTR-011, MRTR-013, MRTR-016, RPC-045]',
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
      // Who we are is said in every round.
      for (const { params } of sent)
        expect(Object.keys(params!._meta!)).toEqual(
          expect.arrayContaining(Object.keys(sent[0]!.params!._meta!).filter((key) => key !== 'progressToken')),
        )
    },
  )

  it('waits until every question has its answer [MRTR-010]', async () => {
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
          await gates[message as 'a' | 'b'].promise
          return accepted()
        },
      },
    })
    const call = client.callTool('ask')
    await asked.promise
    gates.b.open()
    await client.request('server/discover')
    expect(said(server.transcript, 'client', 'tools/call')).toHaveLength(1)
    gates.a.open()
    expect((await call).text).toBe('done')
    const [, retry] = said(server.transcript, 'client', 'tools/call')
    expect(Object.keys(retry!.params!.inputResponses as object).sort()).toEqual(['a', 'b'])
  })

  it('says so when the user declines or cancels, and goes on [MRTR-011]', async () => {
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
  it.each(odd)('gives the state back as it was: %s [MRTR-013, MRTR-014]', async (_what, requestState) => {
    const { outcome, calls } = await play((_params, round) =>
      round === 1 ? inputRequired({ inputRequests: { a: form() }, requestState }) : done,
    )
    expect(outcome).toBe('done')
    expect(calls[1]!.params!.requestState).toBe(requestState)
  })

  it('gives the state back in the same bytes over HTTP, as a value of the body and nowhere else [MRTR-013, MRTR-014]', async () => {
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

  it('sends no state where there was none, also when there was one before [MRTR-015]', async () => {
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
    // Nor answers of an earlier round.
    expect(Object.keys(calls[3]!.params!.inputResponses as object)).toEqual(['b'])
  })

  it('calls again by itself when there is a state and no question [MRTR-012, MRTR-013]', async () => {
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

  it('answers under keys that mean something in JavaScript as under any other [MRTR-011]', async () => {
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

  it('mixes up nothing of 100 calls at the same time, nor gives any of it to other requests [MRTR-017]', async () => {
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
          // Answers come in any order.
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
    // A new call begins without what the last one left.
    await client.callTool('ask', { run: 0 })
    const calls = said(server.transcript, 'client', 'tools/call')
    expect(new Set(calls.map(({ id }) => id)).size).toBe(calls.length)
    expect(withoutMeta(calls.at(-4)!.params!)).toEqual({ name: 'ask', arguments: { run: 0 } })
  })

  it.each([
    [undefined, 32],
    [3, 3],
  ])('gives a server up that asks for ever: maxRounds %s', async (maxRounds, count) => {
    let asked = 0
    const { outcome, calls } = await play(
      (_params, round) => inputRequired({ inputRequests: { a: form() }, requestState: `${round}` }),
      {
        maxRounds,
        handlers: {
          elicit: () => {
            asked++
            return accepted()
          },
        },
      },
    )
    expect(outcome).toBeInstanceOf(McpError)
    expect(outcome).toMatchObject({ code: 'invalid-response', message: expect.stringContaining(`${count} times`) })
    expect(asked).toBe(count)
    expect(calls).toHaveLength(count + 1)
  })

  it('gives up a server that wants to be called again for ever', async () => {
    const { outcome, calls } = await play((_params, round) => inputRequired({ requestState: `${round}` }), {
      maxRounds: 2,
    })
    expect(outcome).toMatchObject({ code: 'invalid-response' })
    expect(calls).toHaveLength(3)
  })

  const many = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, at) => [`k${at}`, form()]))
  const bad: [string, Body][] = [
    ['neither questions nor a state', {}],
    ['a state that is null', { requestState: null }],
    ['a state that is a number', { inputRequests: { a: form() }, requestState: 5 }],
    ['a state that is an object', { inputRequests: { a: form() }, requestState: {} }],
    ['questions that are null', { inputRequests: null, requestState: 's' }],
    ['a list of questions', { inputRequests: [form()], requestState: 's' }],
    ['questions that are a text', { inputRequests: 'elicitation/create', requestState: 's' }],
    ['a question that is null', { inputRequests: { a: null } }],
    ['a question that is a text', { inputRequests: { a: 'elicitation/create' } }],
    ['a question that is a list', { inputRequests: { a: [form()] } }],
    ['a question without a method', { inputRequests: { a: { params: form().params } } }],
    ['a question whose method is a number', { inputRequests: { a: { ...form(), method: 5 } } }],
    ['101 questions', { inputRequests: many(101) }],
  ]
  it.each(bad)('refuses %s, and asks nobody', async (_what, more) => {
    const elicit = vi.fn(() => accepted())
    const { outcome, calls } = await play(() => inputRequired(more), { handlers: { elicit } })
    expect(outcome).toBeInstanceOf(McpError)
    expect(outcome).toMatchObject({ code: 'invalid-response', message: expect.stringContaining('tools/call') })
    expect(elicit).not.toHaveBeenCalled()
    expect(calls).toHaveLength(1)
  })

  it('answers 100 questions at a time', async () => {
    const { outcome, calls } = await play((_params, round) =>
      round === 1 ? inputRequired({ inputRequests: many(100) }) : done,
    )
    expect(outcome).toBe('done')
    expect(Object.keys(calls[1]!.params!.inputResponses as object)).toHaveLength(100)
  })

  it.each([
    ['tools/list', (client: Client) => client.listTools()],
    ['prompts/list', (client: Client) => client.listPrompts()],
    ['resources/list', (client: Client) => client.listResources()],
    [
      'completion/complete',
      (client: Client) =>
        client.complete({ ref: { type: 'ref/prompt', name: 'p' }, argument: { name: 'a', value: '' } }),
    ],
    ['custom/any', (client: Client) => client.request('custom/any')],
  ])('takes no questions for an answer to %s', async (method, call) => {
    const elicit = vi.fn(() => accepted())
    const server = serverOf(() => inputRequired({ inputRequests: { a: form() }, requestState: 's' }), method)
    await using client = await scriptedClient(server, { revision: modern, handlers: { elicit } })
    const error = await Promise.resolve(call(client)).catch((reason: unknown) => reason)
    expect(error).toMatchObject({ code: 'invalid-response' })
    expect(elicit).not.toHaveBeenCalled()
    expect(said(server.transcript, 'client', method)).toHaveLength(1)
  })

  it.each(handshakes)('takes no questions in the result of a server of %s', async (revision) => {
    const elicit = vi.fn(() => accepted())
    const result = { ...inputRequired({ inputRequests: { a: form() }, requestState: 's' }), content: [] }
    const server = scripted(revision, { 'tools/call': () => ({ result }) })
    await using client = await scriptedClient(server, { revision, handlers: { elicit } })
    await expect(client.callTool('ask')).rejects.toMatchObject({ code: 'invalid-response' })
    expect(elicit).not.toHaveBeenCalled()
    expect(said(server.transcript, 'client', 'tools/call')).toHaveLength(1)
  })

  const kinds: [string, Body, ClientHandlers][] = [
    ['a form', form(), { elicitUrl: handlers.elicitUrl, sample: handlers.sample, roots: [] }],
    ['a page', page, { elicit: handlers.elicit, sample: handlers.sample, roots: [] }],
    ['a model', model, { elicit: handlers.elicit, elicitUrl: handlers.elicitUrl, roots: [] }],
    [
      'a model with tools',
      { ...model, params: { ...model.params, tools: [{ name: 'add', inputSchema: { type: 'object' } }] } },
      handlers,
    ],
    ['roots', roots, { elicit: handlers.elicit, sample: handlers.sample }],
    ['an echo', { method: 'ping' }, handlers],
    ['a tool', { method: 'tools/call', params: { name: 'x' } }, handlers],
    ['a handler that is a custom one', { method: 'custom/own', params: {} }, handlers],
    ['what is no method', { method: '__proto__' }, handlers],
  ]
  it.each(kinds)(
    'that did not offer %s ends the call when it is asked for that [MRTR-026]',
    async (_what, question, given) => {
      const server = serverOf((_params, round) =>
        round === 1 ? inputRequired({ inputRequests: { a: question }, requestState: 's' }) : done,
      )
      const asked: unknown[] = []
      await using client = await scriptedClient(server, { revision: modern, handlers: watch(given, asked) })
      client.setRequestHandler('custom/own', (params) => asked.push(params))
      const error = await client.callTool('ask').catch((reason: unknown) => reason)
      expect(error).toBeInstanceOf(McpError)
      expect(asked).toEqual([])
      expect(said(server.transcript, 'client', 'tools/call')).toHaveLength(1)
    },
  )

  it('ends the call when a handler fails, with its error, and tells the other handlers [MRTR-010]', async () => {
    const failure = new Error('The user is not there')
    const told = gate<unknown>()
    const { outcome, calls } = await play(
      () => inputRequired({ inputRequests: { a: form('waits'), b: form('fails') }, requestState: 's' }),
      {
        handlers: {
          elicit: async ({ message }, { signal }) => {
            if (message === 'fails') throw failure
            await new Promise<void>((resolve) => {
              signal.addEventListener('abort', () => {
                told.open(signal.reason)
                resolve()
              })
            })
            return accepted()
          },
        },
      },
    )
    expect(outcome).toBe(failure)
    expect(await told.promise).toBe(failure)
    expect(calls).toHaveLength(1)
  })

  it('does not wait for the other handlers when one fails', async () => {
    const { outcome } = await play(
      () => inputRequired({ inputRequests: { a: form('deaf'), b: form('fails') }, requestState: 's' }),
      {
        handlers: {
          elicit: ({ message }) => {
            if (message === 'fails') throw new Error('fails')
            return new Promise(() => {})
          },
        },
      },
    )
    expect(outcome).toMatchObject({ message: 'fails' })
  })

  it('passes the abort of a call on to its handlers, and calls no more', async () => {
    const controller = new AbortController()
    const server = serverOf(() => inputRequired({ inputRequests: { a: form() }, requestState: 's' }))
    const told = gate<unknown>()
    await using client = await scriptedClient(server, {
      revision: modern,
      handlers: {
        elicit: (_form, { signal }) =>
          new Promise((resolve) => {
            signal.addEventListener('abort', () => {
              told.open(signal.reason)
              resolve(accepted())
            })
            controller.abort('enough')
          }),
      },
    })
    const error = await client.callTool('ask', {}, { signal: controller.signal }).catch((reason: unknown) => reason)
    expect(error).toMatchObject({ code: 'cancelled' })
    expect(await told.promise).toBe('enough')
    expect(said(server.transcript, 'client', 'tools/call')).toHaveLength(1)
  })

  it('ends a call that waits to be made again when it is aborted', async () => {
    const controller = new AbortController()
    const server = serverOf((_params, round) => {
      if (round === 3) queueMicrotask(() => setImmediate(() => controller.abort('enough')))
      return inputRequired({ requestState: `${round}` })
    })
    await using client = await scriptedClient(server, { revision: modern, handlers })
    const call = client.callTool('ask', {}, { signal: controller.signal })
    await expect(call).rejects.toMatchObject({ code: 'cancelled' })
  })

  it('gives the error of a later round to the caller', async () => {
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

  it('does not let the time that a user takes count against the server', async () => {
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

  it('hears the progress of every round', async () => {
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

  it('keeps no result of a request that carried answers or a state [CACHE-006]', async () => {
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

  it('answers no request that such a server makes by itself [MRTR-001]', async () => {
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

describe('a call whose user goes on thinking', () => {
  const asking = () => {
    const server = new McpServer({ name: 'asker', version: '1.0.0' })
    server.registerTool('ask', {}, async (_args, ctx) => (await ctx.elicit('Well?')).action)
    return server
  }
  /** A user who is never done, and listens to nobody. */
  const deaf = () => {
    const asked = gate<AbortSignal>()
    const elicit: NonNullable<ClientHandlers['elicit']> = (_form, { signal }) => {
      asked.open(signal)
      return new Promise(() => {})
    }
    return { asked: asked.promise, handlers: { elicit } }
  }

  everyForm('ends when it is aborted, and the handler is told', async (wire) => {
    const { asked, handlers } = deaf()
    await using pair = await wire.connect(asking(), { handlers })
    const controller = new AbortController()
    const call = pair.client.callTool('ask', {}, { signal: controller.signal })
    call.catch(() => {})
    const signal = await asked
    controller.abort('enough')
    await expect(call).rejects.toMatchObject({ code: 'cancelled' })
    await aborted(signal)
  })

  everyForm('ends when the client is closed, and the handler is told', async (wire) => {
    const { asked, handlers } = deaf()
    await using pair = await wire.connect(asking(), { handlers })
    const call = pair.client.callTool('ask')
    call.catch(() => {})
    const signal = await asked
    await pair.client.close()
    await expect(call).rejects.toMatchObject({ code: 'closed' })
    await aborted(signal)
  })
})

describe('a question in a result', () => {
  const withDefault = {
    method: 'elicitation/create',
    params: {
      mode: 'form',
      message: 'Name?',
      requestedSchema: { type: 'object', properties: { name: { type: 'string', default: 'Ada' } }, required: ['name'] },
    },
  }
  const direct = '2025-11-25'
  const cases: [string, Body, ClientHandlers][] = [
    ['a form', form(), handlers],
    ['a form with defaults that the user left alone', withDefault, { elicit: () => ({ action: 'accept' }) }],
    ['a form that is declined', form(), { elicit: () => ({ action: 'decline', content: { name: 'x' } }) }],
    ['a form that was filled in wrongly', form(), { elicit: () => ({ action: 'accept', content: { name: 5 } }) }],
    ['a form without a schema', { method: 'elicitation/create', params: { message: 'a' } }, handlers],
    ['a form of an unknown mode', { method: 'elicitation/create', params: { ...form().params, mode: 'x' } }, handlers],
    [
      'a page that is no web page',
      { ...page, params: { ...page.params, url: 'javascript:alert(1)', elicitationId: 'e' } },
      handlers,
    ],
    ['a page', { ...page, params: { ...page.params, elicitationId: 'e' } }, handlers],
    ['a model', model, handlers],
    ['a model without a limit', { ...model, params: { messages: [] } }, handlers],
    [
      'a model with tools that were not offered',
      { ...model, params: { ...model.params, toolChoice: { mode: 'auto' } } },
      handlers,
    ],
    [
      'a model that the user refuses',
      model,
      {
        sample: () => {
          throw new McpError('cancelled', 'no')
        },
      },
    ],
    ['roots', roots, handlers],
    ['roots that are no files', roots, { roots: () => [{ uri: 'https://example.com/' }] }],
  ]
  it.each(cases)(
    'meets the same user and the same limits as a request does: %s [MRTR-026]',
    async (_what, question, given) => {
      const asEmbedded = await reaction(modern, question, given)
      const asRequest = await reaction(direct, question, given)
      expect(asEmbedded.asked).toEqual(asRequest.asked)
      expect(asEmbedded.isRefused).toBe(asRequest.isRefused)
      expect(asEmbedded.answer).toEqual(asRequest.answer)
    },
  )
})

interface Reaction {
  /** What handlers were shown. */
  asked: unknown[]
  isRefused: boolean
  answer: unknown
}

/** What a client makes of a question: in a result, or as a request where the revision has those. */
async function reaction(revision: RevisionId, question: Body, given: ClientHandlers): Promise<Reaction> {
  const asked: unknown[] = []
  const watched = watch(given, asked)
  if (revision === modern) {
    const server = serverOf((_params, round) =>
      round === 1 ? inputRequired({ inputRequests: { q: question } }) : done,
    )
    await using client = await scriptedClient(server, { revision, handlers: watched })
    const isRefused = await client.callTool('ask').then(
      () => false,
      () => true,
    )
    const [, retry] = said(server.transcript, 'client', 'tools/call')
    return { asked, isRefused, answer: (retry?.params?.inputResponses as Body | undefined)?.q }
  }
  const server = scripted(revision, {})
  await using _client = await scriptedClient(server, { revision, handlers: watched })
  const answered = new Promise<Said>((resolve) => {
    server.transcript.onLine(({ from, message }) => {
      if (from === 'client' && (message as Said).id === 'q') resolve(message as Said)
    })
  })
  server.say({ jsonrpc: '2.0', id: 'q', ...question })
  const { result, error } = await answered
  return { asked, isRefused: error !== undefined, answer: result }
}

/** The same handlers, which note what they are shown. */
function watch({ elicit, elicitUrl, sample, ...given }: ClientHandlers, asked: unknown[]): ClientHandlers {
  const noting =
    <Q, A extends unknown[], R>(handler: (question: Q, ...rest: A) => R) =>
    (question: Q, ...rest: A): R => {
      asked.push(question)
      return handler(question, ...rest)
    }
  return {
    ...given,
    ...(elicit && { elicit: noting(elicit) }),
    ...(elicitUrl && { elicitUrl: noting(elicitUrl) }),
    ...(sample && { sample: noting(sample) }),
  }
}

function aborted(signal: AbortSignal): Promise<unknown> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve(signal.reason)
    else signal.addEventListener('abort', () => resolve(signal.reason))
  })
}
