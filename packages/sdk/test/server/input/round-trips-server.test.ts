import { type InputRequest, metaKeys, Suspended, UrlElicitationRequiredError } from 'tenon'
import { acceptedContent, type Context, inputRequired, ResourceTemplate } from 'tenon/server'
import { describe, expect, it } from 'vitest'
import * as z from 'zod'
import { Peer, serve } from '../../transport/http/server/support.ts'
import {
  accept,
  all,
  everyRaw,
  keysOf,
  type Message,
  modern,
  questionsOf,
  serverOf,
  stateOf,
  textOf,
  withAnswers,
} from './round-trips-support.ts'
import { everyForm } from './support.ts'

const nameForm = z.object({ name: z.string() })
const hello = { messages: [{ role: 'user' as const, content: { type: 'text' as const, text: 'Hi' } }], maxTokens: 10 }
const sampled = { role: 'assistant', model: 'm', content: { type: 'text', text: 'Hello' } }
const calculator = { name: 'add', inputSchema: { type: 'object' as const } }

/** Accepts every form with the words of its question as the name. */
const echoing = { elicit: ({ message }: { message: string }) => accepted({ name: message }) }
const accepted = (content: Record<string, string>) => ({ action: 'accept' as const, content })

/** Asks for a name, once for each key. */
async function namesFor(ctx: Context, ...keys: string[]): Promise<string> {
  const names: string[] = []
  for (const key of keys) {
    const answer = await ctx.elicit(`${key}?`, nameForm, { key })
    names.push(answer.action === 'accept' ? answer.content.name : answer.action)
  }
  return names.join()
}

describe('a server of 2026-07-28 that asks', () => {
  everyRaw(
    'does so in the result of a tool, a prompt or a resource, and in no message of its own [MRTR-001, MRTR-002, MRTR-004, MRTR-006]',
    async (open) => {
      const server = serverOf()
      server.registerTool('tool', {}, (_args, ctx) => namesFor(ctx, 'k'))
      server.registerPrompt('prompt', {}, (_args, ctx) => namesFor(ctx, 'k'))
      server.registerResource('fixed', 'note://fixed', {}, (_uri, ctx) => namesFor(ctx, 'k'))
      server.registerResource('any', new ResourceTemplate('any://{id}', {}), {}, (_uri, _variables, ctx) =>
        namesFor(ctx, 'k'),
      )
      await using peer = await open(server)
      for (const [method, params, path] of [
        ['tools/call', { name: 'tool', arguments: {} }, 'content'],
        ['prompts/get', { name: 'prompt' }, 'messages'],
        ['resources/read', { uri: 'note://fixed' }, 'contents'],
        ['resources/read', { uri: 'any://one' }, 'contents'],
      ] as const) {
        const first = await peer.request(method, params)
        expect(first.result).toEqual({
          resultType: 'input_required',
          inputRequests: {
            k: {
              method: 'elicitation/create',
              params: {
                mode: 'form',
                message: 'k?',
                requestedSchema: { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] },
              },
            },
          },
          requestState: expect.any(String),
          _meta: { [metaKeys.serverInfo]: { name: 'asker', version: '1.0.0' } },
        })
        const last = await peer.request(method, { ...params, ...withAnswers(first, { k: accept({ name: 'Ada' }) }) })
        expect(last.result?.resultType).toBe('complete')
        expect(JSON.stringify(last.result?.[path])).toContain('Ada')
        expect(last.result).not.toHaveProperty('requestState')
      }
      expect(peer.unasked).toEqual([])
    },
  )

  everyRaw('asks for a form, a page, a model and roots in the one result [MRTR-001, MRTR-006]', async (open) => {
    const server = serverOf()
    server.registerTool('all', {}, async (_args, ctx) => {
      const answers = await Promise.all([
        ctx.elicit('Name?', nameForm),
        ctx.elicitUrl('Go there', 'https://example.com/a'),
        ctx.sample(hello),
        ctx.roots(),
      ])
      return JSON.stringify(answers)
    })
    await using peer = await open(server)
    const first = await peer.call('all')
    const questions = questionsOf(first)
    expect(Object.values(questions).map(({ method, params }) => [method, params?.mode])).toEqual([
      ['elicitation/create', 'form'],
      ['elicitation/create', 'url'],
      ['sampling/createMessage', undefined],
      ['roots/list', undefined],
    ])
    for (const question of Object.values(questions)) {
      expect(question).not.toHaveProperty('id')
      expect(question).not.toHaveProperty('jsonrpc')
    }
    const [form, page, model, roots] = Object.keys(questions) as [string, string, string, string]
    const answers = {
      [form]: accept({ name: 'Ada' }),
      [page]: { action: 'accept' },
      [model]: sampled,
      [roots]: { roots: [{ uri: 'file:///a' }] },
    }
    const last = await peer.call('all', {}, withAnswers(first, answers))
    expect(JSON.parse(textOf(last)!)).toMatchObject([
      { content: { name: 'Ada' } },
      { action: 'accept' },
      { text: 'Hello' },
      [{ uri: 'file:///a' }],
    ])
    expect(peer.unasked).toEqual([])
  })

  everyRaw('gives every question a key of its own [MRTR-005]', async (open) => {
    const server = serverOf()
    const keys = ['a', '__proto__', 'constructor', 'elicitation#2', '', 'ключ\u0000"\n']
    server.registerTool('many', {}, async (_args, ctx) => {
      const asked = [ctx.elicit('1'), ctx.elicit('2', undefined, { key: 'named' }), ctx.elicit('3'), ctx.sample(hello)]
      return `${(await Promise.all(asked)).length}`
    })
    server.registerTool('odd', {}, async (_args, ctx) => {
      const asked = keys.map((key) => ctx.elicit(`about ${key}`, nameForm, { key }))
      return JSON.stringify((await Promise.all(asked)).map(({ content }) => content?.name))
    })
    await using peer = await open(server)
    expect(new Set(keysOf(await peer.call('many'))).size).toBe(4)

    const first = await peer.call('odd')
    expect(keysOf(first).sort()).toEqual([...keys].sort())
    const answers = JSON.parse(`{${keys.map((key) => `${JSON.stringify(key)}:0`)}}`, (key, value) =>
      key === '' && typeof value === 'object' ? value : value === 0 ? accept({ name: `is ${key}` }) : value,
    )
    const last = await peer.call('odd', {}, withAnswers(first, answers))
    expect(JSON.parse(textOf(last)!)).toEqual(keys.map((key) => `is ${key}`))
  })

  everyRaw('asks in no other request than these three [MRTR-003]', async (open) => {
    const server = serverOf({ onError: () => {} })
    server.registerTool('tool', {}, () => 'a')
    server.registerPrompt('prompt', { argsSchema: { a: z.string() }, complete: { a: () => ['x'] } }, () => 'a')
    server.registerResource('fixed', 'note://fixed', {}, () => 'a')
    server.server.setRequestHandler('custom/ask', async (_params, ctx) => ({ got: await ctx.elicit('Sure?') }))
    server.server.setRequestHandler('custom/hand', () => byHand as never)
    const byHand = inputRequired({ inputRequests: { a: inputRequired.listRoots() }, requestState: 1 })
    let how: 'await' | 'by hand' = 'await'
    server.use(async ({ ctx, method }, next) => {
      if (method.startsWith('custom/')) return next()
      if (how === 'by hand') return byHand as never
      await ctx.roots()
      return next()
    })
    await using peer = await open(server)
    for (how of ['await', 'by hand'] as const) {
      for (const [method, params] of [
        ['tools/list', {}],
        ['prompts/list', {}],
        ['resources/list', {}],
        ['resources/templates/list', {}],
        ['completion/complete', { ref: { type: 'ref/prompt', name: 'prompt' }, argument: { name: 'a', value: '' } }],
        ['custom/ask', {}],
        ['custom/hand', {}],
      ] as const) {
        const { result, error } = await peer.request(method, params)
        expect(result, `${how} ${method}`).toBeUndefined()
        expect(error?.code, `${how} ${method}`).toBe(-32603)
      }
      expect((await peer.request('server/discover')).result?.resultType).toBe('complete')
    }
  })

  everyRaw('takes no notice of state and answers that come with other requests [MRTR-018, MRTR-024]', async (open) => {
    const server = serverOf()
    server.registerTool('tool', {}, () => 'a')
    await using peer = await open(server)
    const { result } = await peer.request('tools/list', { requestState: 'forged', inputResponses: { a: 1 } })
    expect(result?.tools).toHaveLength(1)
  })

  const undeclared: [string, object, InputRequest, (ctx: Context) => Promise<unknown>, object][] = [
    [
      'a form of a client without elicitation',
      { sampling: {}, roots: {} },
      inputRequired.elicit({ message: 'a', requestedSchema: nameForm }),
      (ctx) => ctx.elicit('a', nameForm),
      { elicitation: { form: {} } },
    ],
    [
      'a form of a client that has pages only',
      { elicitation: { url: {} } },
      inputRequired.elicit({ message: 'a', requestedSchema: nameForm }),
      (ctx) => ctx.elicit('a', nameForm),
      { elicitation: { form: {} } },
    ],
    [
      'a page of a client that has forms only',
      { elicitation: { form: {} } },
      inputRequired.elicitUrl({ message: 'a', url: 'https://example.com/' }),
      (ctx) => ctx.elicitUrl('a', 'https://example.com/'),
      { elicitation: { url: {} } },
    ],
    [
      'a page of a client that names no mode',
      { elicitation: {} },
      inputRequired.elicitUrl({ message: 'a', url: 'https://example.com/' }),
      (ctx) => ctx.elicitUrl('a', 'https://example.com/'),
      { elicitation: { url: {} } },
    ],
    [
      'a model of a client without sampling',
      { elicitation: {}, roots: {} },
      inputRequired.createMessage(hello),
      (ctx) => ctx.sample(hello),
      { sampling: {} },
    ],
    [
      'a model with tools of a client that has none of those',
      { sampling: {} },
      inputRequired.createMessage({ ...hello, tools: [calculator] }),
      (ctx) => ctx.sample({ ...hello, tools: [calculator] }),
      { sampling: { tools: {} } },
    ],
    [
      'roots of a client without',
      { elicitation: {}, sampling: {} },
      inputRequired.listRoots(),
      (ctx) => ctx.roots(),
      { roots: {} },
    ],
  ]
  for (const [what, capabilities, question, ask, requiredCapabilities] of undeclared) {
    everyRaw(`does not ask for ${what}, awaited or by hand [MRTR-007, META-016]`, async (open) => {
      const server = serverOf()
      server.registerTool('await', {}, async (_args, ctx) => {
        await ask(ctx)
      })
      server.registerTool('hand', {}, () => inputRequired({ inputRequests: { a: question }, requestState: 'b' }))
      server.registerTool('both', {}, async (_args, ctx) => {
        // What can be asked may be asked, but nothing else.
        await Promise.all([ctx.once('a', () => 1), ask(ctx)])
      })
      await using peer = await open(server, { capabilities: capabilities as Record<string, unknown> })
      for (const name of ['await', 'hand', 'both']) {
        const { error, result } = await peer.call(name)
        expect(result, name).toBeUndefined()
        expect(error, name).toMatchObject({ code: -32021, data: { requiredCapabilities } })
      }
    })
  }

  everyRaw('never sends a question that is none [MRTR-006]', async (open) => {
    const server = serverOf({ onError: () => {} })
    const stranger = { method: 'tools/list', params: {} } as unknown as InputRequest
    server.registerTool('hand', {}, () => inputRequired({ inputRequests: { a: stranger } }))
    await using peer = await open(server)
    const { error, result } = await peer.call('hand')
    expect(result).toBeUndefined()
    expect(error?.code).toBe(-32603)
  })

  everyRaw('never sends a result that asks for nothing and has no state [MRTR-004]', async (open) => {
    const server = serverOf({ onError: () => {} })
    server.registerTool('empty', {}, () => inputRequired({ inputRequests: {} }))
    server.registerTool('bare', {}, () => ({ resultType: 'input_required' }) as never)
    server.registerTool('pages', {}, () => {
      throw new UrlElicitationRequiredError([])
    })
    await using peer = await open(server)
    expect(() => inputRequired({})).toThrow(TypeError)
    for (const name of ['empty', 'bare', 'pages']) {
      const { result } = await peer.call(name)
      if (result?.resultType !== 'input_required') continue
      expect(result.inputRequests ?? result.requestState, name).toBeDefined()
    }
  })

  everyRaw('asks again for what was not answered, and only for that [MRTR-025, MRTR-009]', async (open) => {
    const server = serverOf()
    server.registerTool('two', {}, async (_args, ctx) => {
      const [a, b] = await Promise.all([namesFor(ctx, 'a'), namesFor(ctx, 'b')])
      return `${a} and ${b}`
    })
    await using peer = await open(server)
    const first = await peer.call('two')
    expect(keysOf(first)).toEqual(['a', 'b'])
    const nothing = await peer.call('two', {}, { requestState: stateOf(first) })
    expect(keysOf(nothing)).toEqual(['a', 'b'])
    const none = await peer.call('two', {}, withAnswers(nothing, {}))
    expect(keysOf(none)).toEqual(['a', 'b'])
    const half = await peer.call('two', {}, withAnswers(none, { b: accept({ name: 'Bob' }) }))
    expect(keysOf(half)).toEqual(['a'])
    const last = await peer.call('two', {}, withAnswers(half, { a: accept({ name: 'Ann' }) }))
    expect(textOf(last)).toBe('Ann and Bob')
  })

  everyRaw('begins anew when answers come without state [MRTR-018, MRTR-025]', async (open) => {
    const server = serverOf()
    server.registerTool('one', {}, (_args, ctx) => namesFor(ctx, 'a'))
    await using peer = await open(server)
    const forged = await peer.call('one', {}, { inputResponses: { a: accept({ name: 'nobody asked yet' }) } })
    expect(keysOf(forged)).toEqual(['a'])
  })

  everyRaw('ignores answers to what it did not ask, whatever they hold [MRTR-024]', async (open) => {
    const server = serverOf()
    server.registerTool('two', {}, (_args, ctx) => namesFor(ctx, 'a', 'b'))
    await using peer = await open(server)
    const first = await peer.call('two')
    const strangers = JSON.parse('{"__proto__":{"x":1},"constructor":[],"b":{"action":"accept"},"n":null,"t":"text"}')
    const early = { ...strangers, b: accept({ name: 'too early' }), a: accept({ name: 'Ann' }) }
    const second = await peer.call('two', {}, withAnswers(first, early))
    expect(keysOf(second)).toEqual(['b'])
    const last = await peer.call(
      'two',
      {},
      {
        ...withAnswers(second, { ...strangers, a: accept({ name: 'changed mind' }), b: accept({ name: 'Bob' }) }),
      },
    )
    expect(textOf(last)).toBe('Ann,Bob')
  })

  const bad: [string, (ctx: Context) => Promise<unknown>, unknown[]][] = [
    [
      'a form',
      (ctx) => ctx.elicit('a', nameForm, { key: 'k' }),
      [
        null,
        5,
        true,
        'accept',
        [],
        {},
        { action: 'maybe' },
        { action: ['accept'] },
        { action: 'accept', content: 5 },
        { action: 'accept', content: null },
        { action: 'accept', content: [] },
        { action: 'accept', content: { name: { first: 'a' } } },
        { action: 'accept', content: { name: [1] } },
        { roots: [] },
      ],
    ],
    [
      'a page',
      (ctx) => ctx.elicitUrl('a', 'https://example.com/', { key: 'k' }),
      [null, 'accept', {}, { action: 'done' }],
    ],
    [
      'a model',
      (ctx) => ctx.sample(hello, { key: 'k' }),
      [
        null,
        5,
        {},
        { action: 'accept' },
        { role: 'assistant', content: sampled.content },
        { ...sampled, content: 'Hi' },
      ],
    ],
    [
      'roots',
      (ctx) => ctx.roots({ key: 'k' }),
      [null, {}, { roots: {} }, { roots: [5] }, { roots: [{ name: 'no uri' }] }, { roots: [{ uri: 5 }] }],
    ],
  ]
  for (const [what, ask, answers] of bad) {
    everyRaw(`refuses malformed answers to ${what} with -32602 [MRTR-023]`, async (open) => {
      const server = serverOf()
      server.registerTool('ask', {}, async (_args, ctx) => JSON.stringify(await ask(ctx)))
      await using peer = await open(server)
      const first = await peer.call('ask')
      for (const answer of answers) {
        const { error, result } = await peer.call('ask', {}, withAnswers(first, { k: answer }))
        expect(result, JSON.stringify(answer)).toBeUndefined()
        expect(error?.code, JSON.stringify(answer)).toBe(-32602)
      }
    })
  }

  everyRaw('refuses a form that was filled in otherwise than it was shown [MRTR-023]', async (open) => {
    const server = serverOf()
    server.registerTool('ask', {}, (_args, ctx) => namesFor(ctx, 'k'))
    await using peer = await open(server)
    const first = await peer.call('ask')
    for (const content of [{}, { name: 5 }, { name: ['a'] }, { nickname: 'a' }]) {
      const { error, result } = await peer.call('ask', {}, withAnswers(first, { k: accept(content) }))
      expect(result, JSON.stringify(content)).toBeUndefined()
      expect(error?.code, JSON.stringify(content)).toBe(-32602)
    }
  })

  everyRaw('refuses inputResponses and requestState of the wrong type with -32602 [MRTR-023]', async (open) => {
    const server = serverOf()
    server.registerTool('ask', {}, (_args, ctx) => namesFor(ctx, 'k'))
    server.registerPrompt('ask', {}, (_args, ctx) => namesFor(ctx, 'k'))
    server.registerResource('ask', 'note://ask', {}, (_uri, ctx) => namesFor(ctx, 'k'))
    await using peer = await open(server)
    for (const [method, params] of [
      ['tools/call', { name: 'ask' }],
      ['prompts/get', { name: 'ask' }],
      ['resources/read', { uri: 'note://ask' }],
    ] as const) {
      const requestState = stateOf(await peer.request(method, params))
      for (const inputResponses of [null, 5, 'x', true, []]) {
        const { error } = await peer.request(method, { ...params, requestState, inputResponses })
        expect(error?.code, `${method} ${inputResponses}`).toBe(-32602)
      }
      for (const state of [null, 5, true, {}, []]) {
        const { error } = await peer.request(method, { ...params, requestState: state, inputResponses: {} })
        expect(error?.code, `${method} ${state}`).toBe(-32602)
      }
    }
  })

  it('waits for nobody: a call that is not taken up again leaves nothing open [MRTR-008]', async () => {
    const server = serverOf()
    const signals: AbortSignal[] = []
    server.registerTool('ask', {}, (_args, ctx) => {
      signals.push(ctx.signal)
      return namesFor(ctx, 'a', 'b')
    })
    const http = await serve(server, { graceMs: 60_000 })
    const peer = await Peer.open(http.url, modern, { capabilities: all })
    const call = async (more: object = {}) =>
      (await peer.request('tools/call', { name: 'ask', arguments: {}, ...more })).response() as Promise<Message>
    const abandoned = await Promise.all(Array.from({ length: 200 }, () => call()))
    expect(new Set(abandoned.map(stateOf)).size).toBe(200)
    // Whoever comes again later, and from wherever, is served.
    const second = await call(withAnswers(abandoned[117]!, { a: accept({ name: 'Ann' }) }))
    const last = await call(withAnswers(second, { b: accept({ name: 'Bob' }) }))
    expect(textOf(last)).toBe('Ann,Bob')
    expect(signals.every(({ aborted }) => !aborted)).toBe(true)
    await peer[Symbol.asyncDispose]()
    // Nothing is in flight, so there is nothing to wait a minute for.
    await http.close()
  })

  everyRaw('asks again when the words or the fields changed meanwhile [MRTR-009]', async (open) => {
    const server = serverOf()
    const versions: { message: string; schema: z.ZodObject }[] = [
      { message: 'Delete one file?', schema: nameForm },
      { message: 'Delete all files?', schema: nameForm },
      { message: 'Delete all files?', schema: nameForm.extend({ sure: z.boolean() }) },
    ]
    let version = 0
    server.registerTool('ask', {}, async (_args, ctx) => {
      const { message, schema } = versions[version]!
      const { action } = await ctx.elicit(message, schema)
      return `${message} ${action}`
    })
    await using peer = await open(server)
    let answer = await peer.call('ask')
    for (version of [1, 2]) {
      const [key] = keysOf(answer) as [string]
      answer = await peer.call('ask', {}, withAnswers(answer, { [key]: accept({ name: 'yes', sure: true }) }))
      expect(questionsOf(answer)[key]!.params!.message).toBe('Delete all files?')
    }
    const [key] = keysOf(answer) as [string]
    const last = await peer.call('ask', {}, withAnswers(answer, { [key]: { action: 'decline' } }))
    expect(textOf(last)).toBe('Delete all files? decline')
  })

  everyRaw('gives no caching hints with its questions, but with the result [CACHE-002]', async (open) => {
    const server = serverOf({ cache: { ttlMs: 60_000, cacheScope: 'public' } })
    server.registerResource('await', 'note://await', {}, (_uri, ctx) => namesFor(ctx, 'k'))
    server.registerResource('hand', 'note://hand', {}, (_uri, ctx) => {
      const name = acceptedContent(ctx.inputResponses, 'k')?.name
      if (name) return String(name)
      const k = inputRequired.elicit({ message: 'k?', requestedSchema: nameForm })
      return {
        ...inputRequired({ inputRequests: { k }, requestState: 'here' }),
        ttlMs: 5,
        cacheScope: 'public',
      } as never
    })
    await using peer = await open(server)
    for (const uri of ['note://await', 'note://hand']) {
      const first = await peer.request('resources/read', { uri })
      expect(keysOf(first)).toEqual(['k'])
      expect(first.result).not.toHaveProperty('ttlMs')
      expect(first.result).not.toHaveProperty('cacheScope')
      const answers = withAnswers(first, { k: accept({ name: 'Ann' }) })
      const last = await peer.request('resources/read', { uri, ...answers })
      expect(last.result).toMatchObject({ ttlMs: 60_000, cacheScope: 'public' })
    }
  })

  everyRaw('reports progress and logs in every round to the request that is being served', async (open) => {
    const server = serverOf({ capabilities: { logging: {} } })
    server.registerTool('work', {}, async (_args, ctx) => {
      ctx.progress(1, { total: 2 })
      ctx.log.info('before')
      const names = await namesFor(ctx, 'k')
      ctx.progress(2, { total: 2 })
      ctx.log.info('after')
      return names
    })
    await using peer = await open(server)
    const meta = (progressToken: string) => ({ _meta: { progressToken, [metaKeys.logLevel]: 'info' } })
    const first = await peer.call('work', {}, meta('one'))
    const inFirst = peer.unasked.map(({ params }) => params?.progressToken ?? params?.data)
    expect(inFirst).toEqual(['one', 'before'])
    const last = await peer.call('work', {}, { ...withAnswers(first, { k: accept({ name: 'Ann' }) }), ...meta('two') })
    expect(textOf(last)).toBe('Ann')
    const inLast = peer.unasked.slice(2).map(({ params }) => params?.progress ?? params?.data)
    expect(inLast).toEqual([1, 'before', 2, 'after'])
    expect(peer.unasked.slice(2).every(({ params }) => (params?.progressToken ?? 'two') === 'two')).toBe(true)
  })
})

describe('a handler that runs again', () => {
  everyRaw('passes its finally blocks each time, and Suspended goes through its catch blocks', async (open) => {
    const server = serverOf()
    const events: string[] = []
    server.registerTool('ask', {}, async (_args, ctx) => {
      events.push('begin')
      try {
        return await namesFor(ctx, 'k')
      } catch (error) {
        events.push(error instanceof Suspended ? 'suspended' : String(error))
        throw error
      } finally {
        events.push('finally')
      }
    })
    await using peer = await open(server)
    const first = await peer.call('ask')
    expect(events).toEqual(['begin', 'suspended', 'finally'])
    await peer.call('ask', {}, withAnswers(first, { k: accept({ name: 'Ann' }) }))
    expect(events).toEqual(['begin', 'suspended', 'finally', 'begin', 'finally'])
  })

  everyForm('asks all the same when it swallows what goes through it, or wraps it', async (wire) => {
    const server = serverOf({ maskErrors: true, onError: () => {} })
    server.registerTool('swallow', {}, async (_args, ctx) => {
      try {
        return await namesFor(ctx, 'k')
      } catch {
        return 'swallowed'
      }
    })
    server.registerTool('wrap', {}, (_args, ctx) =>
      namesFor(ctx, 'k').catch((cause) => {
        throw new Error('wrapped', { cause })
      }),
    )
    server.registerPrompt('swallow', {}, (_args, ctx) => namesFor(ctx, 'k').catch(() => 'swallowed'))
    await using pair = await wire.connect(server, { handlers: echoing })
    expect((await pair.client.callTool('swallow')).text).toBe('k?')
    expect((await pair.client.callTool('wrap')).text).toBe('k?')
    expect(JSON.stringify(await pair.client.getPrompt('swallow'))).toContain('k?')
  })

  everyForm('is no crash when it does not await what it asks', async (wire) => {
    const crashes: unknown[] = []
    const note = (reason: unknown) => crashes.push(reason)
    process.on('unhandledRejection', note)
    const server = serverOf()
    server.registerTool('forget', {}, async (_args, ctx) => {
      void ctx.elicit('Never awaited', nameForm)
      void ctx.elicit('')
      void ctx.sample(hello)
      void ctx.roots()
      void ctx.elicitUrl('Nowhere', 'ftp://example.com')
      void ctx.once('fails', () => Promise.reject(new Error('fails')))
      void ctx.once('throws', () => {
        throw new Error('throws')
      })
      return 'done'
    })
    await using pair = await wire.connect(server, { handlers: echoing })
    expect((await pair.client.callTool('forget')).text).toBe('done')
    await new Promise((resolve) => setImmediate(resolve))
    process.off('unhandledRejection', note)
    expect(crashes).toEqual([])
  })

  everyForm('may not give one key to two questions', async (wire) => {
    const server = serverOf()
    server.registerTool('twice', {}, (_args, ctx) => namesFor(ctx, 'same', 'same'))
    await using pair = await wire.connect(server, { handlers: echoing })
    const { isError, text } = await pair.client.callTool('twice')
    expect(isError).toBe(true)
    expect(text).toContain('Two questions have the key "same"')
  })

  everyForm('may have middleware around it, which may ask as well', async (wire) => {
    const server = serverOf()
    server.use(async ({ method, ctx }, next) => {
      if (method !== 'tools/call') return next()
      const who = await namesFor(ctx, 'who')
      const result = await next()
      return { ...result, _meta: { 'example.com/who': who } }
    })
    server.registerTool('ask', {}, (_args, ctx) => namesFor(ctx, 'a', 'b'))
    await using pair = await wire.connect(server, { handlers: echoing })
    const { text, _meta } = (await pair.client.callTool('ask')) as { text: string; _meta?: Record<string, unknown> }
    expect(text).toBe('a?,b?')
    expect(_meta?.['example.com/who']).toBe('who?')
  })

  everyForm('may be in a mounted server, whichever way it asks', async (wire) => {
    const shop = serverOf()
    let effects = 0
    shop.registerTool('await', {}, async (_args, ctx) => {
      await ctx.once('effect', () => ++effects)
      return namesFor(ctx, 'a', 'b')
    })
    shop.registerTool('hand', {}, (_args, ctx) => {
      const name = acceptedContent(ctx.inputResponses, 'k')?.name
      if (name) return `${name} ${ctx.requestState}`
      const k = inputRequired.elicit({ message: 'k?', requestedSchema: nameForm })
      return inputRequired({ inputRequests: { k }, requestState: 'kept' })
    })
    shop.registerPrompt('await', {}, (_args, ctx) => namesFor(ctx, 'p'))
    shop.registerResource('await', 'shop://await', {}, (_uri, ctx) => namesFor(ctx, 'r'))
    shop.use(async ({ ctx, method }, next) => {
      if (method === 'tools/call') await namesFor(ctx, 'inner')
      return next()
    })
    const server = serverOf()
    server.mount(shop, { prefix: 'shop' })
    await using pair = await wire.connect(server, { handlers: echoing })
    const names = (await pair.client.listTools()).tools.map(({ name }) => name)
    const [awaiting, byHand] = names as [string, string]
    expect((await pair.client.callTool(awaiting)).text).toBe('a?,b?')
    expect(effects).toBe(1)
    expect((await pair.client.callTool(byHand)).text).toBe('k? kept')
    const [prompt] = (await pair.client.listPrompts()).prompts
    expect(JSON.stringify(await pair.client.getPrompt(prompt!.name))).toContain('p?')
    const [resource] = (await pair.client.listResources()).resources
    expect(JSON.stringify(await pair.client.readResource(resource!.uri))).toContain('r?')
  })

  everyForm('gets the progress and the logs of every round to the caller', async (wire) => {
    const server = serverOf({ capabilities: { logging: {} } })
    server.registerTool('work', {}, async (_args, ctx) => {
      ctx.progress(1)
      ctx.log.info('before')
      await namesFor(ctx, 'k')
      ctx.progress(2)
      ctx.log.info('after')
      return 'done'
    })
    await using pair = await wire.connect(server, { handlers: echoing })
    const logs: unknown[] = []
    pair.client.on('log', ({ data }) => logs.push(data))
    await pair.client.setLoggingLevel('info')
    const values: number[] = []
    const onProgress = ({ progress }: { progress: number }) => values.push(progress)
    expect((await pair.client.callTool('work', {}, { onProgress })).text).toBe('done')
    const runs = wire.revision.id === modern ? 2 : 1
    expect(values).toEqual(runs === 2 ? [1, 1, 2] : [1, 2])
    expect(logs).toEqual(runs === 2 ? ['before', 'before', 'after'] : ['before', 'after'])
  })
})

describe('questions by hand', () => {
  everyForm('are returned, and answered in the next run of the handler [MRTR-002, MRTR-009]', async (wire) => {
    const server = serverOf()
    const runs: unknown[] = []
    server.registerTool('trip', { inputSchema: { from: z.string() } }, ({ from }, ctx) => {
      runs.push([Object.keys(ctx.inputResponses), ctx.requestState])
      const state = ctx.requestState as { to?: string } | undefined
      if (!state) {
        const to = inputRequired.elicit({ message: `From ${from} to?`, requestedSchema: nameForm })
        return inputRequired({ inputRequests: { to }, requestState: {} })
      }
      const to = state.to ?? acceptedContent(ctx.inputResponses, 'to', nameForm)?.name
      const who = acceptedContent(ctx.inputResponses, 'who', nameForm)?.name
      if (who) return `${who}: ${from} - ${to}`
      const question = inputRequired.elicit({ message: 'Who?', requestedSchema: nameForm })
      return inputRequired({ inputRequests: { who: question }, requestState: { to, list: [1, null, 'ä'] } })
    })
    await using pair = await wire.connect(server, { handlers: echoing })
    expect((await pair.client.callTool('trip', { from: 'Rome' })).text).toBe('Who?: Rome - From Rome to?')
    expect(runs).toEqual([
      [[], undefined],
      [['to'], {}],
      [['who'], { to: 'From Rome to?', list: [1, null, 'ä'] }],
    ])
  })

  everyForm('work in prompts and resources, several at once, and beside awaited ones', async (wire) => {
    const server = serverOf()
    let effects = 0
    const ask = async (ctx: Context): Promise<string | ReturnType<typeof inputRequired>> => {
      const effect = await ctx.once('effect', () => ++effects)
      const awaited = await namesFor(ctx, 'awaited')
      const got = ['x', 'y'].map((key) => acceptedContent(ctx.inputResponses, key)?.name)
      if (got.every(Boolean)) return `${effect}: ${[awaited, ...got].join()}`
      const [x, y] = ['x', 'y'].map((key) => inputRequired.elicit({ message: `${key}?`, requestedSchema: nameForm }))
      return inputRequired({ inputRequests: { x: x!, y: y! } })
    }
    server.registerPrompt('ask', {}, (_args, ctx) => ask(ctx))
    server.registerResource('ask', 'note://ask', {}, (_uri, ctx) => ask(ctx))
    const asked: string[] = []
    await using pair = await wire.connect(server, {
      handlers: {
        elicit: ({ message }) => {
          asked.push(message)
          return accepted({ name: message })
        },
      },
    })
    expect(JSON.stringify(await pair.client.getPrompt('ask'))).toContain('1: awaited?,x?,y?')
    expect(asked).toEqual(['awaited?', 'x?', 'y?'])
    expect(JSON.stringify(await pair.client.readResource('note://ask'))).toContain('2: awaited?,x?,y?')
    expect(asked).toHaveLength(6)
  })

  everyForm('may be none: the handler runs again with its state [MRTR-004, MRTR-012]', async (wire) => {
    const server = serverOf()
    server.registerTool('later', {}, (_args, ctx) => {
      const count = (ctx.requestState as number | undefined) ?? 0
      return count === 2 ? `after ${count}` : inputRequired({ requestState: count + 1 })
    })
    await using pair = await wire.connect(server, { handlers: echoing })
    expect((await pair.client.callTool('later')).text).toBe('after 2')
  })

  everyForm('give the state back as JSON would, whoever carried it', async (wire) => {
    const server = serverOf()
    const given = { at: new Date(0), nothing: undefined, list: [undefined, Number.NaN], map: new Map([[1, 2]]) }
    let back: unknown
    server.registerTool('later', {}, (_args, ctx) => {
      back = ctx.requestState
      return back === undefined ? inputRequired({ requestState: given }) : 'done'
    })
    await using pair = await wire.connect(server, { handlers: echoing })
    expect((await pair.client.callTool('later')).text).toBe('done')
    expect(back).toStrictEqual(JSON.parse(JSON.stringify(given)))
  })

  everyForm('that are declined have no content, nor has what does not fit', async (wire) => {
    const server = serverOf()
    const numbers = z.object({ name: z.string().refine((name) => name === 'right') })
    server.registerTool('ask', {}, (_args, ctx) => {
      const { inputResponses } = ctx
      if (Object.keys(inputResponses).length === 0) {
        const question = (message: string) => inputRequired.elicit({ message, requestedSchema: nameForm })
        const inputRequests = { no: question('no'), wrong: question('wrong'), right: question('right') }
        return inputRequired({ inputRequests })
      }
      const contents = ['no', 'wrong', 'right', 'never', '__proto__'].map(
        (key) => acceptedContent(inputResponses, key, numbers) ?? null,
      )
      return JSON.stringify(contents)
    })
    await using pair = await wire.connect(server, {
      handlers: {
        elicit: ({ message }) => (message === 'no' ? { action: 'decline' } : accepted({ name: message })),
      },
    })
    const { text } = await pair.client.callTool('ask')
    expect(JSON.parse(text)).toEqual([null, null, { name: 'right' }, null, null])
  })
})

describe('ctx.once', () => {
  everyForm('does its work once beside a question that is open, whichever comes first', async (wire) => {
    const server = serverOf()
    const done: string[] = []
    const work = (name: string) => async () => {
      await new Promise((resolve) => setTimeout(resolve, 5))
      done.push(name)
      return name
    }
    server.registerTool('first', {}, async (_args, ctx) =>
      (await Promise.all([ctx.once('a', work('first')), namesFor(ctx, 'k')])).join(),
    )
    server.registerTool('last', {}, async (_args, ctx) =>
      (await Promise.all([namesFor(ctx, 'k'), ctx.once('a', work('last')), ctx.once('b', work('other'))])).join(),
    )
    server.registerTool('chain', {}, async (_args, ctx) => {
      const chained = async () => [await ctx.once('a', work('one')), await ctx.once('b', work('two'))].join('-')
      return (await Promise.all([chained(), namesFor(ctx, 'k')])).join()
    })
    await using pair = await wire.connect(server, { handlers: echoing })
    expect((await pair.client.callTool('first')).text).toBe('first,k?')
    expect((await pair.client.callTool('last')).text).toBe('k?,last,other')
    expect((await pair.client.callTool('chain')).text).toBe('one-two,k?')
    expect(done.sort()).toEqual(['first', 'last', 'one', 'other', 'two'])
  })

  everyForm('gives the same value to everyone who names the same key', async (wire) => {
    const server = serverOf()
    let count = 0
    server.registerTool('same', {}, async (_args, ctx) => {
      const work = async () => ({ count: ++count })
      const both = await Promise.all([ctx.once('k', work), ctx.once('k', work)])
      await namesFor(ctx, 'q')
      const again = await ctx.once('k', () => ({ count: -1 }))
      return JSON.stringify([...both, again])
    })
    await using pair = await wire.connect(server, { handlers: echoing })
    expect(JSON.parse((await pair.client.callTool('same')).text)).toEqual([{ count: 1 }, { count: 1 }, { count: 1 }])
    expect(count).toBe(1)
  })

  for (const how of ['throws', 'rejects'] as const) {
    everyForm(`keeps nothing of work that ${how}, which may be tried again`, async (wire) => {
      const server = serverOf()
      let tries = 0
      const work = () => {
        if (++tries > 2) return `try ${tries}`
        const error = new Error(`try ${tries} failed`)
        if (how === 'throws') throw error
        return Promise.reject(error)
      }
      server.registerTool('fails', {}, async (_args, ctx) => {
        const seen: string[] = []
        for (const _ of [1, 2]) await ctx.once<string>('k', work).catch((error) => seen.push(error.message))
        const value = await ctx.once<string>('k', work)
        await namesFor(ctx, 'q')
        return [...seen, value].join()
      })
      server.registerTool('ends', {}, async (_args, ctx) => {
        await ctx.once('k', () => {
          throw new Error('no way')
        })
        return 'never'
      })
      await using pair = await wire.connect(server, { handlers: echoing })
      const { text } = await pair.client.callTool('fails')
      expect(text.split(',').at(-1)).toBe('try 3')
      expect(tries).toBe(3)
      expect(await pair.client.callTool('ends')).toMatchObject({ isError: true, text: 'no way' })
    })
  }

  everyForm('refuses what JSON cannot hold, and names the key', async (wire) => {
    const server = serverOf()
    const circle: Record<string, unknown> = {}
    circle.self = circle
    const values: Record<string, unknown> = { function: () => 1, symbol: Symbol('a'), bigint: 1n, circle }
    server.registerTool('bad', { inputSchema: { kind: z.string() } }, async ({ kind }, ctx) => {
      await ctx.once(`the ${kind}`, () => values[kind])
      return 'never'
    })
    await using pair = await wire.connect(server, { handlers: echoing })
    for (const kind of Object.keys(values)) {
      const { isError, text } = await pair.client.callTool('bad', { kind })
      expect(isError, kind).toBe(true)
      expect(text, kind).toContain(`the ${kind}`)
    }
  })

  everyForm('gives what JSON keeps, before a question and after it', async (wire) => {
    const server = serverOf()
    const nothing = { runs: 0 }
    const seen: unknown[] = []
    server.registerTool('values', {}, async (_args, ctx) => {
      const undefinedValue = await ctx.once('undefined', () => {
        nothing.runs++
      })
      const rest = await ctx.once('rest', () => ({
        date: new Date(0),
        missing: undefined,
        list: [undefined, Number.NaN, -0],
        map: new Map([[1, 2]]),
        text: 'ä\u2028\ud800"',
        __proto__: { inherited: true },
      }))
      const plain = [
        await ctx.once('null', () => null),
        await ctx.once('zero', () => 0),
        await ctx.once('empty', () => ''),
      ]
      seen.push([undefinedValue, rest, plain])
      // What a handler does to the value stays with this run.
      ;(rest as { text: string }).text = 'changed'
      await namesFor(ctx, 'q')
      seen.push(await ctx.once('rest', () => 'never'))
      return 'done'
    })
    await using pair = await wire.connect(server, { handlers: echoing })
    expect((await pair.client.callTool('values')).text).toBe('done')
    expect(nothing.runs).toBe(1)
    const kept = { date: '1970-01-01T00:00:00.000Z', list: [null, null, 0], map: {}, text: 'ä\u2028\ud800"' }
    for (const [none, , plain] of seen.slice(0, -1) as [unknown, unknown, unknown][]) {
      expect(none).toBeUndefined()
      expect(plain).toStrictEqual([null, 0, ''])
    }
    expect(seen.at(-1)).toStrictEqual(kept)
  })

  everyForm('works where nothing is asked, and without a client that could answer', async (wire) => {
    const server = serverOf()
    server.registerTool('quiet', {}, async (_args, ctx) => ctx.once('k', () => 'value'))
    await using pair = await wire.connect(server)
    expect((await pair.client.callTool('quiet')).text).toBe('value')
  })
})

describe('results of rounds', () => {
  everyForm('are asked for anew each time, also where results may be kept [CACHE-006]', async (wire) => {
    const server = serverOf({ cache: { ttlMs: 600_000 } })
    let reads = 0
    server.registerResource('asks', 'note://asks', {}, async (_uri, ctx) => `${await namesFor(ctx, 'k')} ${++reads}`)
    server.registerResource('quiet', 'note://quiet', {}, () => `${++reads}`)
    let asked = 0
    await using pair = await wire.connect(server, {
      handlers: { elicit: ({ message }) => accepted({ name: `${message}${++asked}` }) },
    })
    const read = async (uri: string) => (await pair.client.readResource(uri)).contents[0] as { text: string }
    expect((await read('note://asks')).text).toBe('k?1 1')
    expect((await read('note://asks')).text).toBe('k?2 2')
    const isKept = wire.revision.id === modern
    expect((await read('note://quiet')).text).toBe('3')
    expect((await read('note://quiet')).text).toBe(isKept ? '3' : '4')
  })
})
