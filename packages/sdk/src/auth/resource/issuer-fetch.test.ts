import { describe, expect, it } from 'vitest'
import { movableDate } from '../../../test/kit/time.ts'
import { checkIssuerUrl, type Fetch, IssuerFetch } from './issuer-fetch.ts'

const url = 'https://as.example/keys?token=secret#x'
const answering = (response: () => Response) => new IssuerFetch(async () => response())

/** A response of this many bytes, in pieces, and whether it was cancelled. */
function streamed(pieces: number, bytes: number) {
  const state = { isCancelled: false }
  let left = pieces
  const body = new ReadableStream({
    pull(controller) {
      if (left-- > 0) controller.enqueue(new Uint8Array(bytes))
      else controller.close()
    },
    cancel() {
      state.isCancelled = true
    },
  })
  return { state, response: new Response(body) }
}

describe('a request to an issuer', () => {
  it('passes on the request, and the response whatever its status', async () => {
    const seen: unknown[] = []
    const fetch: Fetch = async (...given) => {
      seen.push(given)
      return new Response('body', { status: 418, headers: { 'x-a': 'b' } })
    }
    const init = { method: 'POST' }
    const response = await new IssuerFetch(fetch).send(url, init)
    expect([response.status, response.headers.get('x-a'), await response.text()]).toEqual([418, 'b', 'body'])
    expect(seen).toEqual([[url, init]])
  })

  it.each([204, 205, 304])('accepts status %i, which has no body', async (status) => {
    expect((await answering(() => new Response(null, { status })).send(url, {})).status).toBe(status)
  })

  it('accepts a response without a body', async () => {
    expect(await (await answering(() => new Response(null)).send(url, {})).text()).toBe('')
  })

  it('accepts a response of one mebibyte, and gives up on a longer one', async () => {
    const fits = streamed(16, 65_536)
    expect((await (await answering(() => fits.response).send(url, {})).arrayBuffer()).byteLength).toBe(1_048_576)
    expect(fits.state.isCancelled).toBe(false)
    const large = streamed(20, 65_536)
    await expect(answering(() => large.response).send(url, {})).rejects.toThrow(
      'https://as.example/keys could not be reached: the response is longer than 1048576 bytes',
    )
    expect(large.state.isCancelled).toBe(true)
  })

  it('names the address without its query if it fails, and the cause', async () => {
    const cause = new Error('no route')
    const failing = new IssuerFetch(() => Promise.reject(cause))
    const error = await failing.send(url, {}).catch((reason) => reason)
    expect(error.message).toBe('https://as.example/keys could not be reached: no route')
    expect(error.cause).toBe(cause)
    await expect(new IssuerFetch(() => Promise.reject('text')).send(url, {})).rejects.toThrow(/reached: text$/)
  })

  it('for a document requires status 200', async () => {
    expect(await (await answering(() => new Response('x')).get(url, {})).text()).toBe('x')
    await expect(answering(() => new Response('x', { status: 201 })).get(url, {})).rejects.toThrow(
      'https://as.example/keys responded with HTTP 201',
    )
  })
})

it('does not call an issuer again within a second of a failure', async () => {
  const time = movableDate()
  let calls = 0
  let status = 500
  const issuer = answering(() => {
    calls++
    return new Response('x', { status })
  })
  await expect(issuer.getWithCooldown(url, {})).rejects.toThrow('HTTP 500')
  status = 200
  time.advance(999)
  await expect(issuer.getWithCooldown(url, {})).rejects.toThrow('https://as.example/keys failed a moment ago')
  expect(calls).toBe(1)
  time.advance(1)
  expect((await issuer.getWithCooldown(url, {})).status).toBe(200)
  expect((await issuer.getWithCooldown(url, {})).status).toBe(200)
  expect(calls).toBe(3)
})

it('requires https, or http on a loopback address [AUTH-089]', () => {
  for (const value of ['https://as.example', 'http://localhost:1', new URL('http://127.0.0.1/x')]) {
    expect(checkIssuerUrl('issuer', value).href).toBe(new URL(value).href)
  }
  for (const value of ['http://as.example', 'as.example', '', 'ftp://localhost', new URL('http://as.example/')]) {
    expect(() => checkIssuerUrl('issuer', value)).toThrow(
      `issuer must be an https: URL (http: only on loopback addresses), not ${JSON.stringify(String(value))}.`,
    )
  }
})
