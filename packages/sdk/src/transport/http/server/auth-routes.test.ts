import { describe, expect, it } from 'vitest'
import { listenWith } from '../../../../test/kit/serve-http.ts'
import type { AuthRoutes } from '../../../auth/http.ts'
import { routesFetch, toMiddleware } from './auth-routes.ts'

/** Routes that fail in a way that they did not foresee. */
const broken: AuthRoutes = {
  handles: (path) => path === '/mcp',
  respond: async () => {
    throw new Error('cannot open /home/me/keys')
  },
}

describe('an authorization endpoint that fails', () => {
  it('passes the error to the framework', async () => {
    const seen: unknown[] = []
    const middleware = toMiddleware({ routes: broken })
    await using http = await listenWith((request, response) =>
      middleware(request as never, response, (error) => {
        seen.push(error)
        response.writeHead(503).end()
      }),
    )
    expect((await fetch(http.url)).status).toBe(503)
    expect(seen).toEqual([new Error('cannot open /home/me/keys')])
  })

  it('answers 500 without details where there is no framework', async () => {
    const middleware = toMiddleware({ routes: broken })
    await using http = await listenWith((request, response) => middleware(request as never, response))
    for (const answer of [await fetch(http.url), await routesFetch(broken, new Request(http.url))]) {
      expect(answer.status).toBe(500)
      expect(await answer.json()).toMatchObject({ error: { message: 'Internal error' } })
    }
  })

  it('refuses a body that is too large itself, before the routes or the framework see it', async () => {
    const seen: unknown[] = []
    const middleware = toMiddleware({ routes: broken })
    await using http = await listenWith((request, response) =>
      middleware(request as never, response, (error) => seen.push(error)),
    )
    const init = { method: 'POST', body: 'x'.repeat(65_537) }
    for (const answer of [await fetch(http.url, init), await routesFetch(broken, new Request(http.url, init))]) {
      expect(answer.status).toBe(413)
    }
    expect(seen).toEqual([])
  })
})

describe('a path that no endpoint has', () => {
  it('goes to the framework, or is answered with 404 where there is none', async () => {
    const middleware = toMiddleware({ routes: { ...broken, handles: () => false } })
    const seen: unknown[] = []
    await using alone = await listenWith((request, response) => middleware(request as never, response))
    await using framed = await listenWith((request, response) =>
      middleware(request as never, response, (error) => {
        seen.push(error)
        response.writeHead(204).end()
      }),
    )
    expect((await fetch(alone.url)).status).toBe(404)
    expect((await fetch(framed.url)).status).toBe(204)
    expect(seen).toEqual([undefined])
    const elsewhere = new Request('http://localhost/elsewhere')
    expect((await routesFetch(broken, elsewhere)).status).toBe(404)
  })
})
