import type { RequestListener } from 'node:http'
import { describe, expect, it } from 'vitest'
import { guardedFetch } from '../../src/net/guarded-fetch.ts'
import { json, local, refusal, site } from './guarded-fetch-support.ts'

/** Redirects every request to the same URL. */
const redirectTo =
  (location: string, status = 302): RequestListener =>
  (_, response) =>
    void response.writeHead(status, { location }).end('moved')

describe('redirects', () => {
  it('follows redirects within an origin and reports the final URL', async () => {
    const { origin, seen } = await site((request, response) =>
      request.url === '/old' ? redirectTo('/new', 308)(request, response) : json(request, response),
    )
    const init = { headers: { authorization: 'Bearer s3cret' } }
    const response = await guardedFetch(local)(`${origin}/old`, init)
    expect(response.url).toBe(`${origin}/new`)
    expect(seen[1]?.request.headers.authorization).toBe('Bearer s3cret')
  })

  it.each([
    'http://169.254.169.254/latest/meta-data/',
    'https://169.254.169.254/latest/meta-data/',
    'https://10.0.0.1/',
    'https://[::ffff:169.254.169.254]/',
    'https://2852039166/',
    'http://as.example/',
    'file:///etc/passwd',
    'https://me:s3cret@as.example/',
    'https://[oops',
  ])('refuses a redirect to %s [SEC-003]', async (target) => {
    const { origin, seen } = await site(redirectTo(target))
    const error = await refusal(guardedFetch(local)(origin))
    expect(['address', 'scheme', 'credentials', 'redirect']).toContain(error.rule)
    expect(error.message).not.toContain('s3cret')
    expect(seen).toHaveLength(1)
  })

  it('vercel/ai #20578: does not repeat a POST across a 307 to another origin', async () => {
    const other = await site(json)
    const { origin } = await site(redirectTo(`${other.origin}/token`, 307))
    const body = new URLSearchParams({ client_secret: 's3cret' })
    const error = await refusal(guardedFetch(local)(`${origin}/token`, { method: 'POST', body }))
    expect(error).toMatchObject({ rule: 'redirect', status: 307, outcome: 'refused' })
    expect(error.message).not.toContain('s3cret')
    expect(other.connections()).toBe(0)
  })

  it.each(['authorization', 'cookie', 'dpop'])(
    'GHSA-9g45-5xwm-f3wc: does not follow a request with %s to another origin',
    async (name) => {
      const other = await site(json)
      const { origin } = await site(redirectTo(other.origin))
      const error = await refusal(guardedFetch(local)(origin, { headers: { [name]: 's3cret' } }))
      expect(error.rule).toBe('redirect')
      expect(other.connections()).toBe(0)
    },
  )

  it('GHSA-9g45-5xwm-f3wc: sends the caller’s other headers only to their own origin', async () => {
    const other = await site(json)
    const { origin } = await site(redirectTo(other.origin))
    const headers = { accept: 'application/json', 'mcp-protocol-version': '2025-06-18', 'x-api-key': 's3cret' }
    await guardedFetch(local)(origin, { headers })
    expect(other.seen[0]?.request.headers).toMatchObject({
      accept: 'application/json',
      'mcp-protocol-version': '2025-06-18',
    })
    expect(other.seen[0]?.request.headers).not.toHaveProperty('x-api-key')
  })

  it('does not follow a redirect from https: to http:', async () => {
    const fetch = guardedFetch({
      ...local,
      fetch: async () => new Response(null, { status: 302, headers: { location: 'http://127.0.0.1/' } }),
    })
    expect((await refusal(fetch('https://as.example/'))).message).toContain('from https: to http:')
  })

  it('repeats a POST within an origin, unless the status turns it into a GET', async () => {
    const { origin, seen } = await site((request, response) =>
      request.url === '/kept'
        ? json(request, response)
        : redirectTo('/kept', Number(request.url?.slice(1)))(request, response),
    )
    const post = (status: number) => guardedFetch(local)(`${origin}/${status}`, { method: 'POST', body: 'a=b' })
    await post(307)
    await post(308)
    expect(seen.filter(({ request }) => request.url === '/kept').map(({ body }) => body)).toEqual(['a=b', 'a=b'])
    for (const status of [301, 302, 303]) expect((await refusal(post(status))).rule).toBe('redirect')
    expect(seen).toHaveLength(7)
  })

  it('stops after three redirects', async () => {
    const { origin, seen } = await site(redirectTo('/'))
    expect((await refusal(guardedFetch(local)(origin))).message).toContain('redirects more than 3 times')
    expect(seen).toHaveLength(4)
    expect((await refusal(guardedFetch({ ...local, maxRedirects: 0 })(origin))).rule).toBe('redirect')
    expect((await refusal(guardedFetch(local)(origin, { redirect: 'error' }))).rule).toBe('redirect')
    expect(seen).toHaveLength(6)
  })

  it('returns redirects to callers that ask for them', async () => {
    const { origin, seen } = await site(redirectTo('http://169.254.169.254/'))
    const response = await guardedFetch(local)(origin, { redirect: 'manual' })
    expect([response.status, response.headers.get('location')]).toEqual([302, 'http://169.254.169.254/'])
    expect(seen).toHaveLength(1)
  })

  it('refuses a response that the underlying fetch reached by a redirect', async () => {
    const other = await site(json)
    const { origin } = await site(redirectTo(other.origin))
    const careless = (url: string, init: object) => fetch(url, { ...init, redirect: 'follow' })
    expect((await refusal(guardedFetch({ ...local, fetch: careless })(origin))).rule).toBe('redirect')
  })
})
