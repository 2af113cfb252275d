import { metaKeys } from 'tenon'
import { acceptedContent, inputRequired, ResourceTemplate } from 'tenon/server'
import { describe, expect, it } from 'vitest'
import * as z from 'zod'
import { Peer } from '../../kit/http-peer.ts'
import { serve } from '../../kit/serve-http.ts'

import { hello, nameForm, namesFor, sampled } from './round-trips-server-support.ts'
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

describe('a server of 2026-07-28 that requests input', () => {
  everyRaw(
    'does so in the result of a tool, prompt or resource, never in a request [MRTR-001, MRTR-002, MRTR-004, MRTR-006]',
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

  everyRaw('can ask for a form, a URL, a completion and roots in one result [MRTR-001, MRTR-006]', async (open) => {
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

  everyRaw('gives every question a unique key [MRTR-005]', async (open) => {
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

  everyRaw('returns an error when any other request asks [MRTR-003]', async (open) => {
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

  everyRaw('ignores state and answers in other requests [MRTR-018, MRTR-024]', async (open) => {
    const server = serverOf()
    server.registerTool('tool', {}, () => 'a')
    await using peer = await open(server)
    const { result } = await peer.request('tools/list', { requestState: 'forged', inputResponses: { a: 1 } })
    expect(result?.tools).toHaveLength(1)
  })

  everyRaw('asks again only for questions without an answer [MRTR-025, MRTR-009]', async (open) => {
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

  everyRaw('starts over when answers arrive without state [MRTR-018, MRTR-025]', async (open) => {
    const server = serverOf()
    server.registerTool('one', {}, (_args, ctx) => namesFor(ctx, 'a'))
    await using peer = await open(server)
    const forged = await peer.call('one', {}, { inputResponses: { a: accept({ name: 'nobody asked yet' }) } })
    expect(keysOf(forged)).toEqual(['a'])
  })

  it('holds no resources for a call that is never continued [MRTR-008]', async () => {
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
    // A call can be continued later and from any connection.
    const second = await call(withAnswers(abandoned[117]!, { a: accept({ name: 'Ann' }) }))
    const last = await call(withAnswers(second, { b: accept({ name: 'Bob' }) }))
    expect(textOf(last)).toBe('Ann,Bob')
    expect(signals.every(({ aborted }) => !aborted)).toBe(true)
    await peer[Symbol.asyncDispose]()
    // Nothing is in flight, so close() does not use the grace period of a minute.
    await http.close()
  })

  everyRaw('asks again when the message or the fields of a question changed [MRTR-009]', async (open) => {
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

  everyRaw('sends cache hints with the final result and not with its questions [CACHE-002]', async (open) => {
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

  everyRaw('sends the progress and logs of every round trip to the current request', async (open) => {
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
