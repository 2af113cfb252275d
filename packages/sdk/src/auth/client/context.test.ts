import { customFetch } from 'oauth4webapi'
import { describe, expect, it } from 'vitest'
import { AuthError } from '../../errors.ts'
import { AuthContext, messageOf, redacted, requestOptions, Trace, wrapErrors } from './context.ts'

const url = new URL('https://mcp.example/.well-known/oauth-protected-resource')

/** A context whose `fetch` answers once, with what it was asked and whether the body was given up. */
function answering(status: number, body: string, revision?: string) {
  const sent: { url: string; headers: unknown }[] = []
  const state = { isCancelled: false }
  const stream = new ReadableStream({
    start(controller) {
      controller.enqueue(new TextEncoder().encode(body))
      if (status === 200) controller.close()
    },
    cancel() {
      state.isCancelled = true
    },
  })
  const fetch = async (at: string, { headers }: { headers?: unknown }) => {
    sent.push({ url: at, headers })
    return new Response(stream, { status })
  }
  const context = new AuthContext(new URL('https://mcp.example/mcp'), new Trace(), fetch as never, revision)
  return { sent, state, context }
}

describe('a metadata document', () => {
  it('is read if it is a JSON object', async () => {
    const { context, state } = answering(200, '{"a":1}')
    expect(await context.fetchJson(url, 'metadata')).toEqual({ a: 1 })
    expect(state.isCancelled).toBe(false)
  })

  it.each([
    ['is not JSON', 200, '<html>'],
    ['is not an object', 200, '[1]'],
  ])('counts as missing if it %s', async (_, status, body) => {
    expect(await answering(status, body).context.fetchJson(url, 'metadata')).toBeUndefined()
  })

  it('is not there after a 404, whose body is given up so that the connection is free', async () => {
    const { context, state } = answering(404, 'Not here')
    expect(await context.fetchJson(url, 'metadata')).toBeUndefined()
    expect(state.isCancelled).toBe(true)
  })

  it('is unknown if the server fails', async () => {
    await expect(answering(500, '').context.fetchJson(url, 'metadata')).rejects.toThrow(AuthError)
    await expect(answering(503, '').context.fetchJson(url, 'metadata')).rejects.toThrow('HTTP 503')
  })

  it('is requested with the revision from the server itself only', async () => {
    const own = answering(200, '{}', '2025-11-25')
    await own.context.fetchJson(url, 'metadata')
    const foreign = answering(200, '{}', '2025-11-25')
    await foreign.context.fetchJson(new URL('https://as.example/'), 'metadata')
    const unconnected = answering(200, '{}')
    await unconnected.context.fetchJson(url, 'metadata')
    const accept = 'application/json'
    expect([own, foreign, unconnected].map(({ sent }) => sent[0]?.headers)).toEqual([
      { accept, 'mcp-protocol-version': '2025-11-25' },
      { accept },
      { accept },
    ])
  })
})

describe('the trace of an authorization', () => {
  it('has the last 200 steps, without control characters, 500 characters each', () => {
    const trace = new Trace()
    for (let step = 0; step < 200; step++) trace.done('step', `${step}`)
    expect(trace.steps).toHaveLength(200)
    trace.failed('last', `a\n\u0007b${'x'.repeat(600)}`)
    expect(trace.steps).toHaveLength(200)
    expect(trace.steps[0]).toEqual({ step: 'step', outcome: 'done', detail: '1' })
    expect(trace.steps.at(-1)!.detail).toBe(`a b${'x'.repeat(497)}`)
    const short = new Trace()
    short.done('a', '1')
    short.skipped('b', '2')
    short.failed('c', '3')
    expect(String(short)).toBe('+ a: 1\n- b: 2\n! c: 3')
  })
})

describe('the message of an error', () => {
  it.each([
    ['text', 'text', 'unknown'],
    ['an error', new Error('e'), 'e'],
    ['its cause', new Error('e', { cause: new Error('c') }), 'e (c)'],
    ['no cause that is not an error', new Error('e', { cause: 'c' }), 'e'],
    [
      'an OAuth error',
      Object.assign(new Error('e', { cause: new Error('c') }), { error: 'x', error_description: 'd' }),
      'e (x: d)',
    ],
    ['only texts', Object.assign(new Error('e'), { error: 7, error_description: 'd' }), 'e (d)'],
    ['no control characters', new Error('a\r\nb'), 'a b'],
  ])('contains %s', (_, cause, message) => {
    expect(messageOf(cause)).toBe(message)
  })

  it('has at most 1,000 characters', () => {
    expect(messageOf(new Error('x'.repeat(2_000)))).toHaveLength(1_000)
  })
})

it('redacts errors of others, and keeps their name and codes [AUTH-094]', () => {
  const own = new AuthError('own', new Trace())
  expect(redacted(own)).toBe(own)
  const foreign = Object.assign(new TypeError('e'), { code: 'C', error: 'x', token: 'secret' })
  expect(redacted(foreign)).toMatchObject({ message: 'e (x)', name: 'TypeError', code: 'C', error: 'x' })
  expect(redacted(foreign)).not.toHaveProperty('token')
  expect(Object.keys(redacted(Object.assign(new Error('e'), { code: 7, error: {} })))).toEqual(['name'])
  expect(redacted(undefined).message).toBe('unknown')
})

it('wraps errors of others, with their message in the trace, and no others', async () => {
  const trace = new Trace()
  await expect(wrapErrors(trace, 'It failed', () => Promise.reject(new Error('e')))).rejects.toThrow('It failed: e')
  expect(String(trace)).toBe('! It failed: e')
  const own = new AuthError('own', trace)
  await expect(wrapErrors(trace, 'It failed', () => Promise.reject(own))).rejects.toBe(own)
  expect(trace.steps).toHaveLength(1)
  expect(await wrapErrors(trace, 'It failed', async () => 7)).toBe(7)
})

it('is an error that names the URL and the reason if the server cannot be reached', async () => {
  const fetch = () => Promise.reject(new Error('no route'))
  const context = new AuthContext(new URL('https://mcp.example/mcp'), new Trace(), fetch)
  await expect(context.fetchJson(url, 'metadata')).rejects.toThrow(
    `The metadata could not be fetched from ${url.href}: no route`,
  )
  expect(String(context.trace)).toBe(`! metadata: ${url.href}: no route`)
})

it('removes the challenge of a 401 of an authorization server only, because the error is in the body', async () => {
  const headersOf = async (status: number) => {
    const fetch = async () => new Response('{}', { status, headers: { 'www-authenticate': 'Basic', 'x-a': 'b' } })
    const { [customFetch]: send } = requestOptions(new AuthContext(url, new Trace(), fetch))
    const response = await send('https://as.example', {})
    return [response.status, response.headers.get('www-authenticate'), response.headers.get('x-a')]
  }
  expect(await headersOf(401)).toEqual([401, null, 'b'])
  expect(await headersOf(400)).toEqual([400, 'Basic', 'b'])
})
