import { CapabilityError, McpError, PeerError } from 'tenon'
import type { ClientHandlers } from 'tenon/client'
import { inputRequired, McpServer } from 'tenon/server'
import { ScriptedClient } from 'tenon/testing'
import { describe, expect, it } from 'vitest'
import * as z from 'zod'
import { Peer } from '../../kit/http-peer.ts'
import type { Message } from '../../kit/message.ts'
import { serve } from '../../kit/serve-http.ts'
import { heard, said } from '../../kit/transcript.ts'

import { answers, asked, asking, filling } from './asked.ts'
import { everyAsking, everyForm, everyPage } from './support.ts'
import { declaredIn, modern, putTo } from './wire.ts'

const named = z.object({ name: z.string().min(2) })

const accept: NonNullable<ClientHandlers['elicit']> = () => ({ action: 'accept', content: { name: 'Ada' } })
const agree: NonNullable<ClientHandlers['elicitUrl']> = () => ({ action: 'accept' })
const form = { type: 'object', properties: { name: { type: 'string', minLength: 2 } }, required: ['name'] }
const formQuestion = { method: 'elicitation/create', params: { mode: 'form', message: 'Who?', requestedSchema: form } }
const pageQuestion = {
  method: 'elicitation/create',
  params: { mode: 'url', message: 'Go there', url: 'https://example.com/', elicitationId: 'e-1' },
}
const page = 'https://example.com/login'
const both = ['2025-11-25', modern] as const

describe('a client with input handlers', () => {
  const kinds: [string, ClientHandlers, object][] = [
    ['forms', { elicit: accept }, { form: {} }],
    ['pages', { elicitUrl: agree }, { url: {} }],
    ['both', { elicit: accept, elicitUrl: agree }, { form: {}, url: {} }],
  ]
  for (const [name, handlers, elicitation] of kinds) {
    everyPage(`declares ${name} in the handshake or with each request [ELIC-001, ELIC-002, ELIC-004]`, async (wire) => {
      await using pair = await wire.connect(
        asking(() => 'nothing'),
        { handlers },
      )
      await pair.client.callTool('ask')
      await pair.client.listTools()
      const declared = declaredIn(pair.transcript)
      expect(declared).toHaveLength(wire.revision.era === 'handshake' ? 1 : said(pair.transcript, 'client').length)
      for (const capabilities of declared) expect(capabilities).toEqual({ elicitation })
    })
  }

  everyAsking(
    'declares elicitation without modes on 2025-06-18 [ELIC-001]',
    async (wire) => {
      await using pair = await wire.connect(
        asking(() => 'nothing'),
        { handlers: { elicit: accept, elicitUrl: agree } },
      )
      expect(declaredIn(pair.transcript)).toEqual([{ elicitation: {} }])
    },
    { revisions: ['2025-06-18'] },
  )

  everyAsking(
    'declares nothing when the revision supports none of its handlers [ELIC-001, ELIC-004]',
    async (wire) => {
      const server = asking(async (ctx) => `${ctx.can('elicit')}`)
      await using pair = await wire.connect(server, { handlers: { elicitUrl: agree } })
      expect(declaredIn(pair.transcript)).toEqual([{}])
      expect((await pair.client.callTool('ask')).text).toBe('false')
    },
    { revisions: ['2025-06-18'] },
  )

  everyForm('declares nothing when it has no handler', async (wire) => {
    await using pair = await wire.connect(asking(() => 'nothing'))
    await pair.client.callTool('ask')
    for (const capabilities of declaredIn(pair.transcript)) expect(capabilities).toEqual({})
  })
})

describe('the elicitation modes of a client', () => {
  for (const revision of both) {
    it(`default to form only when it declares an empty object (${revision}) [ELIC-003, ELIC-005]`, async () => {
      const server = asking(async (ctx) => [ctx.can('elicit'), ctx.can('elicitUrl')])
      await using client = await ScriptedClient.connect(server, { revision, capabilities: { elicitation: {} } })
      await client.open()
      const { result } = await client.request('tools/call', { name: 'ask', arguments: {} })
      expect(result!.content).toEqual([{ type: 'text', text: '[true,false]' }])
    })

    it(`include form when it declares an empty object (${revision}) [ELIC-003]`, async () => {
      const server = asking((ctx) => ctx.elicit('Who?', named))
      await using client = await ScriptedClient.connect(server, { revision, capabilities: { elicitation: {} } })
      await client.open()
      const called = client.request('tools/call', { name: 'ask', arguments: {} })
      await Promise.race([called, heard(client.transcript, 'server', 'elicitation/create')])
      expect(asked(client.transcript)).toMatchObject([{ mode: 'form', message: 'Who?' }])
    })

    it(`are enforced by the client: others are rejected with -32602 (${revision}) [ELIC-003, ELIC-033]`, async () => {
      const seen: string[] = []
      const elicit: ClientHandlers['elicit'] = () => ({ action: 'cancel', ...(seen.push('form') && {}) })
      const elicitUrl: ClientHandlers['elicitUrl'] = () => ({ action: 'cancel', ...(seen.push('url') && {}) })
      const noPages = await putTo(revision, pageQuestion, { handlers: { elicit } })
      const noForms = await putTo(revision, formQuestion, { handlers: { elicitUrl } })
      const neither = { ...formQuestion, params: { ...formQuestion.params, mode: 'hologram' } }
      const noSuch = await putTo(revision, neither, { handlers: { elicit, elicitUrl } })
      expect([noPages, noForms, noSuch].map(({ error }) => error?.code)).toEqual([-32602, -32602, -32602])
      expect(noPages.error!.message).toContain('elicitation.url')
      expect(noForms.error!.message).toContain('elicitation.form')
      expect(seen).toEqual([])
    })

    it(`default to form when a request names none (${revision}) [ELIC-010]`, async () => {
      const { mode: _mode, ...params } = formQuestion.params
      const elicitUrl: ClientHandlers['elicitUrl'] = () => ({ action: 'cancel' })
      const { result } = await putTo(revision, { ...formQuestion, params }, { handlers: { elicit: accept, elicitUrl } })
      expect(result).toEqual({ action: 'accept', content: { name: 'Ada' } })
    })
  }

  everyPage('that were not declared are not requested [ELIC-005]', async (wire) => {
    const caught: unknown[] = []
    const server = asking(async (ctx) => {
      await (ctx.can('elicit') ? ctx.elicitUrl('Go there', page) : ctx.elicit('Who?', named)).catch((error) =>
        caught.push(error),
      )
      return 'went on'
    })
    for (const handlers of [{ elicit: accept }, { elicitUrl: agree }]) {
      await using pair = await wire.connect(server, { handlers })
      expect((await pair.client.callTool('ask')).text).toBe('went on')
      expect(asked(pair.transcript)).toEqual([])
    }
    for (const error of caught) expect(error).toBeInstanceOf(CapabilityError)
    expect(caught).toMatchObject([
      { capability: 'elicitUrl', required: { elicitation: { url: {} } } },
      { capability: 'elicit', required: { elicitation: { form: {} } } },
    ])
  })

  everyPage('that were not declared are not requested with inputRequired [ELIC-005]', async (wire) => {
    const server = new McpServer({ name: 'asker', version: '1.0.0' })
    server.registerTool('ask', {}, () =>
      inputRequired({ inputRequests: { go: inputRequired.elicitUrl({ message: 'Go there', url: page }) } }),
    )
    await using pair = await wire.connect(server, { handlers: { elicit: accept } })
    const failed = await pair.client.callTool('ask').then(
      ({ isError }) => isError,
      (error) => error instanceof PeerError,
    )
    expect(failed).toBe(true)
    expect(asked(pair.transcript)).toEqual([])
  })
})

describe('a question', () => {
  everyPage('is not sent without a message [ELIC-009]', async (wire) => {
    const nothing = undefined as unknown as string
    const server = asking(async (ctx) => {
      const failed: string[] = []
      const note = (error: Error) => failed.push(error.name)
      await ctx.elicit('', named).catch(note)
      await ctx.elicit(nothing, named).catch(note)
      await ctx.elicitUrl('', page).catch(note)
      await ctx.elicitUrl(nothing, page).catch(note)
      return failed
    })
    await using pair = await wire.connect(server, { handlers: { elicit: accept, elicitUrl: agree } })
    const { text } = await pair.client.callTool('ask')
    expect([asked(pair.transcript), JSON.parse(text)]).toEqual([[], new Array(4).fill('TypeError')])
  })

  it('that is returned with inputRequired requires a message [ELIC-009]', () => {
    const nothing = undefined as unknown as string
    expect(() => inputRequired.elicit({ message: nothing, requestedSchema: named })).toThrow(TypeError)
    expect(() => inputRequired.elicitUrl({ message: nothing, url: page })).toThrow(TypeError)
  })
})

describe('an answer', () => {
  everyForm('has content only when the form was accepted [ELIC-017, ELIC-018]', async (wire) => {
    const server = asking(async (ctx) => {
      const actions: unknown[] = []
      for (const key of ['a', 'b', 'c']) actions.push(await ctx.elicit(`${key}?`, named, { key }))
      return actions
    })
    const actions = { 'a?': 'accept', 'b?': 'decline', 'c?': 'cancel' } as const
    await using pair = await wire.connect(server, {
      handlers: {
        elicit: ({ message }) => ({ action: actions[message as 'a?'], content: { name: 'Ada' } }),
      },
    })
    expect(JSON.parse((await pair.client.callTool('ask')).text)).toEqual([
      { action: 'accept', content: { name: 'Ada' } },
      { action: 'decline' },
      { action: 'cancel' },
    ])
    expect(answers(pair.transcript)).toEqual([
      { action: 'accept', content: { name: 'Ada' } },
      { action: 'decline' },
      { action: 'cancel' },
    ])
  })

  everyForm('with an action other than accept, decline or cancel is not sent [ELIC-017]', async (wire) => {
    const server = asking((ctx) => ctx.elicit('Who?', named))
    const elicit = () => ({ action: 'yes', content: { name: 'Ada' } }) as never
    await using pair = await wire.connect(server, { handlers: { elicit } })
    await pair.client.callTool('ask').catch(() => {})
    expect(answers(pair.transcript)).toEqual([])
  })

  const wrong: [string, Record<string, unknown>][] = [
    ['lacks a field', {}],
    ['is too short', { name: 'A' }],
    ['has another type', { name: 5 }],
    ['holds an object', { name: 'Ada', more: { a: 1 } }],
  ]
  for (const [name, content] of wrong) {
    everyForm(`that ${name} is not sent by the client, which reports an error [ELIC-018, ELIC-019]`, async (wire) => {
      const server = asking((ctx) => ctx.elicit('Who?', named))
      const errors: unknown[] = []
      await using pair = await wire.connect(server, filling(content as { name: string }))
      pair.client.on('error', ({ error }) => errors.push(error))
      const outcome = await pair.client.callTool('ask').catch((error) => {
        errors.push(error)
        return undefined
      })
      expect(answers(pair.transcript)).toEqual([])
      expect(errors).toHaveLength(1)
      expect(errors[0]).toBeInstanceOf(McpError)
      expect(errors[0]).toMatchObject({
        code: 'invalid-argument',
        message: expect.stringContaining('does not match the form'),
      })
      if (wire.revision.era === 'handshake') expect(outcome!.isError).toBe(true)
    })

    for (const revision of ['2025-06-18', ...both] as const) {
      it(`that ${name} is rejected by the server (${revision}) [ELIC-019]`, async () => {
        const server = asking(async (ctx) => {
          const answer = await ctx.elicit('Who?', named).catch((error) => ({ refused: error.code }))
          return { answer }
        })
        const outcome = await answeredRaw(server, revision, { action: 'accept', content })
        const text = outcome.result?.content?.[0]?.text
        expect(text).toMatch(/^{"answer":{"refused":"(invalid-response|protocol)"}}$/)
      })
    }
  }

  for (const revision of both) {
    it(`that is malformed is rejected, and the next call is served (${revision}) [ELIC-019]`, async () => {
      const server = asking((ctx) => ctx.elicit('Who?', named))
      for (const answer of [
        {},
        { action: 'maybe' },
        { action: 'accept', content: [] },
        { action: 'accept', content: null },
      ]) {
        const outcome = await answeredRaw(server, revision, answer)
        expect(outcome.error?.code === -32602 || outcome.result?.isError === true, JSON.stringify(outcome)).toBe(true)
      }
      const sound = await answeredRaw(server, revision, { action: 'accept', content: { name: 'Ada' } })
      expect(sound.result!.content![0]!.text).toBe('{"action":"accept","content":{"name":"Ada"}}')
    })
  }
})

describe('a question without an accepted answer', () => {
  everyForm('distinguishes decline, cancel and failure [ELIC-020, ELIC-021]', async (wire) => {
    const server = asking(async (ctx) => {
      const { action } = await ctx.elicit('Who?', named)
      return { accept: 'done', decline: 'not wanted', cancel: 'another time' }[action]
    })
    const outcomes: unknown[] = []
    for (const action of ['accept', 'decline', 'cancel'] as const) {
      const content = { name: 'Ada' }
      await using pair = await wire.connect(server, { handlers: { elicit: () => ({ action, content }) } })
      outcomes.push((await pair.client.callTool('ask')).text)
    }
    expect(outcomes).toEqual(['done', 'not wanted', 'another time'])
    const failing = () => {
      throw new Error('The window is gone')
    }
    await using pair = await wire.connect(server, { handlers: { elicit: failing } })
    const failed = await pair.client.callTool('ask').then(
      ({ isError, text }) => isError && text,
      (error) => error.message,
    )
    // The client does not send the details of its internal error to the server.
    expect(failed).toBe(wire.revision.era === 'handshake' ? 'Internal error' : 'The window is gone')
    expect(JSON.stringify(said(pair.transcript, 'client'))).not.toContain('The window is gone')
  })

  it('is asked again when the answer is missing, and is an error when the answer is invalid [ELIC-021]', async () => {
    const server = asking((ctx) => ctx.elicit('Who?', named))
    const capabilities = { elicitation: { form: {} } }
    await using client = await ScriptedClient.connect(server, { capabilities })
    const call = { name: 'ask', arguments: {} }
    const first = (await client.request('tools/call', call)).result!
    expect(first.resultType).toBe('input_required')
    const [key] = Object.keys(first.inputRequests as object) as [string]
    const { requestState } = first
    const forgot = (await client.request('tools/call', { ...call, requestState, inputResponses: {} })).result!
    expect(forgot.inputRequests).toEqual(first.inputRequests)
    const wrong = await client.request('tools/call', {
      ...call,
      requestState,
      inputResponses: { [key]: { action: 'perhaps' } },
    })
    expect(wrong.error!.code).toBe(-32602)
    const cancelled = await client.request('tools/call', {
      ...call,
      requestState: forgot.requestState,
      inputResponses: { [key]: { action: 'cancel' } },
    })
    expect(cancelled.result).toMatchObject({ resultType: 'complete', content: [{ text: '{"action":"cancel"}' }] })
  })
})

describe('the user who is asked', () => {
  const capabilities = { elicitation: { form: {} } }
  const principal = ({ headers }: { headers: Headers | Record<string, string | string[] | undefined> }) =>
    String(headers instanceof Headers ? headers.get('x-user') : headers['x-user'])
  const call = { name: 'ask', arguments: {} }
  const answerOf = (name: string) => ({ action: 'accept', content: { name } }) as never

  it('is the caller: the state is rejected for another user (2026-07-28) [ELIC-034, ELIC-038, ELIC-039]', async () => {
    const server = asking((ctx) => ctx.elicit('Who?', named))
    await using http = await serve(server, { principal })
    await using ada = await Peer.open(http.url, modern, { capabilities, headers: { 'x-user': 'ada' } })
    await using eve = await Peer.open(http.url, modern, { capabilities, headers: { 'x-user': 'eve' } })
    const { result } = await (await ada.request('tools/call', call)).response()
    const { requestState, inputRequests } = result as { requestState: string; inputRequests: object }
    const [key] = Object.keys(inputRequests) as [string]
    const answered = { ...call, requestState, inputResponses: { [key]: { action: 'decline' } } }
    // Eve claims to be Ada in every field that a client controls.
    const claims = { _meta: { 'example.com/user': 'ada', principal: 'ada', sub: 'ada' } }
    const stolen = await (await eve.request('tools/call', { ...answered, ...claims })).response()
    expect(stolen.error!.code).toBe(-32602)
    const own = await (await ada.request('tools/call', answered)).response()
    expect(own.result!.content![0]!.text).toBe('{"action":"decline"}')
  })

  it('is the session owner: another user cannot answer (2025-11-25) [ELIC-034, ELIC-038, ELIC-039]', async () => {
    const server = asking((ctx) => ctx.elicit('Who?', named))
    await using http = await serve(server, { principal })
    await using ada = await Peer.open(http.url, '2025-11-25', { capabilities, headers: { 'x-user': 'ada' } })
    await using eve = ada.at(http.url, { 'x-user': 'eve' })
    const called = await ada.request('tools/call', call)
    const { id } = await called.notified('elicitation/create')
    const forged = await eve.post({ jsonrpc: '2.0', id, result: answerOf('Eve') })
    expect(forged.status).toBe(404)
    await ada.post({ jsonrpc: '2.0', id, result: answerOf('Ada') })
    expect((await called.response()).result!.content![0]!.text).toBe('{"action":"accept","content":{"name":"Ada"}}')
  })
})

/** Calls `ask` as a raw client that answers the first question with `answer`. */
async function answeredRaw(
  server: McpServer,
  revision: (typeof both)[number] | '2025-06-18',
  answer: object,
): Promise<Message> {
  const client = await ScriptedClient.connect(server, { revision, capabilities: { elicitation: { form: {} } } })
  await using _client = client
  await client.open()
  const call = { name: 'ask', arguments: {} }
  const called = client.request('tools/call', call)
  if (revision !== modern) {
    const { id } = await heard(client.transcript, 'server', 'elicitation/create')
    client.say({ jsonrpc: '2.0', id, result: answer })
    return (await called) as Message
  }
  const { requestState, inputRequests } = (await called).result as { requestState: string; inputRequests: object }
  const inputResponses = Object.fromEntries(Object.keys(inputRequests).map((key) => [key, answer]))
  return (await client.request('tools/call', { ...call, requestState, inputResponses })) as Message
}
