import { type InputRequest, UrlElicitationRequiredError } from 'tenon'
import { type Context, inputRequired } from 'tenon/server'
import { ScriptedClient } from 'tenon/testing'
import { describe, expect, it } from 'vitest'
import type { Said } from '../../kit/transcript.ts'
import { hello, nameForm, namesFor, sampled } from './round-trips-server-support.ts'
import { accept, everyRaw, keysOf, modern, serverOf, stateOf, textOf, withAnswers } from './round-trips-support.ts'

const calculator = { name: 'add', inputSchema: { type: 'object' as const } }

describe('a server of 2026-07-28 that requests input', () => {
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
    everyRaw(`does not ask for ${what}, awaited or returned [MRTR-007, META-016]`, async (open) => {
      const server = serverOf()
      server.registerTool('await', {}, async (_args, ctx) => {
        await ask(ctx)
      })
      server.registerTool('hand', {}, () => inputRequired({ inputRequests: { a: question }, requestState: 'b' }))
      server.registerTool('both', {}, async (_args, ctx) => {
        // Other work in the same run does not hide the missing capability.
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

  everyRaw('never sends an input request with an unknown method [MRTR-006]', async (open) => {
    const server = serverOf({ onError: () => {} })
    const stranger = { method: 'tools/list', params: {} } as unknown as InputRequest
    server.registerTool('hand', {}, () => inputRequired({ inputRequests: { a: stranger } }))
    await using peer = await open(server)
    const { error, result } = await peer.call('hand')
    expect(result).toBeUndefined()
    expect(error?.code).toBe(-32603)
  })

  everyRaw('never sends input_required without questions and without a state [MRTR-004]', async (open) => {
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

  it('answers only methods that allow it with input_required [MRTR-004]', async () => {
    const server = serverOf({ onError: () => {} })
    server.registerTool('page', {}, () => 'never')
    server.use(() => {
      throw new UrlElicitationRequiredError([{ message: 'Sign in', url: 'https://a.example', elicitationId: 'e' }])
    })
    const capabilities = { elicitation: { url: {} } }
    await using client = await ScriptedClient.connect(server, { revision: modern, capabilities })
    const answerTo = async (method: string, params = {}) => (await client.request(method, params)) as Said
    expect((await answerTo('tools/call', { name: 'page' })).result?.resultType).toBe('input_required')
    const listed = await answerTo('tools/list')
    expect([listed.result, listed.error?.code]).toEqual([undefined, -32603])
  })

  everyRaw('ignores answers to questions that it did not ask [MRTR-024]', async (open) => {
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
    everyRaw(`rejects malformed answers to ${what} with -32602 [MRTR-023]`, async (open) => {
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

  everyRaw('rejects content that does not match the form [MRTR-023]', async (open) => {
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

  everyRaw('rejects inputResponses and requestState of the wrong type with -32602 [MRTR-023]', async (open) => {
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
})
