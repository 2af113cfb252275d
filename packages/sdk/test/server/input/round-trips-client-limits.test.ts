import { McpError, type RevisionId } from 'tenon'
import type { Client, ClientHandlers } from 'tenon/client'
import { McpServer } from 'tenon/server'
import { describe, expect, it, vi } from 'vitest'
import { gate } from '../../kit/gate.ts'
import { handshakeRevisions } from '../../kit/revisions.ts'
import { scripted, scriptedClient } from '../../kit/scripted-server.ts'
import { type Said, said } from '../../kit/transcript.ts'
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
import { everyForm } from './support.ts'

describe('a client that receives input_required', () => {
  it.each([
    [undefined, 32],
    [3, 3],
  ])('ends the call when the server never stops asking: maxRounds %s', async (maxRounds, count) => {
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

  it('ends the call when the server returns only a state again and again', async () => {
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
  it.each(bad)('rejects %s without calling a handler', async (_what, more) => {
    const elicit = vi.fn(() => accepted())
    const { outcome, calls } = await play(() => inputRequired(more), { handlers: { elicit } })
    expect(outcome).toBeInstanceOf(McpError)
    expect(outcome).toMatchObject({ code: 'invalid-response', message: expect.stringContaining('tools/call') })
    expect(elicit).not.toHaveBeenCalled()
    expect(calls).toHaveLength(1)
  })

  it('answers 100 questions in one round trip', async () => {
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
  ])('rejects input_required as the result of %s', async (method, call) => {
    const elicit = vi.fn(() => accepted())
    const server = serverOf(() => inputRequired({ inputRequests: { a: form() }, requestState: 's' }), method)
    await using client = await scriptedClient(server, { revision: modern, handlers: { elicit } })
    const error = await Promise.resolve(call(client)).catch((reason: unknown) => reason)
    expect(error).toMatchObject({ code: 'invalid-response' })
    expect(elicit).not.toHaveBeenCalled()
    expect(said(server.transcript, 'client', method)).toHaveLength(1)
  })

  it.each(handshakeRevisions)('rejects input_required from a server of %s', async (revision) => {
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
    'ends the call when it is asked for %s and did not offer it [MRTR-026]',
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

  it('ends the call with the error of a failing handler, and aborts the other handlers [MRTR-010]', async () => {
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
    expect(await told.opened).toBe(failure)
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

  it('forwards the abort of a call to its handlers, and does not repeat the request', async () => {
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
    expect(await told.opened).toBe('enough')
    expect(said(server.transcript, 'client', 'tools/call')).toHaveLength(1)
  })

  it('ends an aborted call before it repeats the request', async () => {
    const controller = new AbortController()
    const server = serverOf((_params, round) => {
      if (round === 3) queueMicrotask(() => setImmediate(() => controller.abort('enough')))
      return inputRequired({ requestState: `${round}` })
    })
    await using client = await scriptedClient(server, { revision: modern, handlers })
    const call = client.callTool('ask', {}, { signal: controller.signal })
    await expect(call).rejects.toMatchObject({ code: 'cancelled' })
  })
})

describe('a call whose input handler has not answered', () => {
  const asking = () => {
    const server = new McpServer({ name: 'asker', version: '1.0.0' })
    server.registerTool('ask', {}, async (_args, ctx) => (await ctx.elicit('Well?')).action)
    return server
  }
  /** Creates a handler that never answers and ignores its signal. */
  const deaf = () => {
    const asked = gate<AbortSignal>()
    const elicit: NonNullable<ClientHandlers['elicit']> = (_form, { signal }) => {
      asked.open(signal)
      return new Promise(() => {})
    }
    return { asked: asked.opened, handlers: { elicit } }
  }

  everyForm('ends when it is aborted, and the handler is aborted', async (wire) => {
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

  everyForm('ends when the client is closed, and the handler is aborted', async (wire) => {
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
  it.each(cases)('is handled like a question sent as a request: %s [MRTR-026]', async (_what, question, given) => {
    const asEmbedded = await reaction(modern, question, given)
    const asRequest = await reaction(direct, question, given)
    expect(asEmbedded.asked).toEqual(asRequest.asked)
    expect(asEmbedded.isRefused).toBe(asRequest.isRefused)
    expect(asEmbedded.answer).toEqual(asRequest.answer)
  })
})

interface Reaction {
  /** The questions that reached the handlers. */
  asked: unknown[]
  isRefused: boolean
  answer: unknown
}

/** Returns how a client reacts to a question: in a result on 2026-07-28, as a request on handshake revisions. */
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

/** Wraps the handlers to record the questions they receive. */
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
