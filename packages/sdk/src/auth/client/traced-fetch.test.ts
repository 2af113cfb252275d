import { expect, it } from 'vitest'
import type { Tracer } from '../../protocol/trace.ts'
import { tracedFetch } from './traced-fetch.ts'

/** A tracer that keeps its events, and a `fetch` that reports to it. */
function traced(fetch: () => Promise<Response>) {
  const events: object[] = []
  let count = 0
  const tracer = { nextHttp: () => ++count, emit: (event: object) => void events.push(event) } as unknown as Tracer
  return { events, send: tracedFetch(fetch as never, tracer) }
}

const common = { http: 1, purpose: 'auth' }

it('reports a request, its response and its end, and leaves the response readable', async () => {
  const { events, send } = traced(async () => new Response('ok', { status: 201, headers: { 'x-a': '1' } }))
  const body = new URLSearchParams({ grant_type: 'refresh_token' })
  const response = await send('https://as.example/token', { method: 'POST', headers: { 'X-B': '2' }, body } as never)
  expect(await response.text()).toBe('ok')
  const url = 'https://as.example/token'
  expect(events).toEqual([
    { type: 'http-request', ...common, method: 'POST', url, headers: { 'x-b': '2' }, body: 'grant_type=refresh_token' },
    {
      type: 'http-response',
      ...common,
      method: 'POST',
      url,
      status: 201,
      headers: expect.objectContaining({ 'x-a': '1' }),
      durationMs: expect.any(Number),
      body: 'ok',
    },
    { type: 'http-end', ...common, outcome: 'complete', durationMs: expect.any(Number) },
  ])
})

it('reports a failure and throws it', async () => {
  const { events, send } = traced(async () => {
    throw new Error('no route')
  })
  await expect(send('https://as.example/', { body: '{}' } as never)).rejects.toThrow('no route')
  expect(events).toEqual([
    { type: 'http-request', ...common, method: 'GET', url: 'https://as.example/', headers: {}, body: '{}' },
    { type: 'http-end', ...common, outcome: 'failed', error: 'no route', durationMs: expect.any(Number) },
  ])
})
