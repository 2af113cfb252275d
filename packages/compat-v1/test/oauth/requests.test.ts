import {
  discoverAuthorizationServerMetadata,
  exchangeAuthorization,
  extractWWWAuthenticateParams,
  parseErrorResponse,
  registerClient,
  startAuthorization,
} from '@tenon/compat-v1/client/auth.js'
import { applyMiddlewares, createMiddleware, withLogging } from '@tenon/compat-v1/client/middleware.js'
import { InvalidGrantError, ServerError } from '@tenon/compat-v1/server/auth/errors.js'
import { describe, expect, it, vi } from 'vitest'

const issuer = 'https://auth.example.com'
const clientInformation = { client_id: 'program', client_secret: 'a secret' }
const code = { authorizationCode: 'code', codeVerifier: 'verifier', redirectUri: 'https://app.example/back' }

function redirectTo(location: string, status = 307): Response {
  return new Response(null, { status, headers: { location } })
}

describe('requests to an authorization server', () => {
  it('never follow a redirect with a code and a secret to another origin', async () => {
    const fetchFn = vi.fn(async () => redirectTo('https://evil.example/token?x=1'))
    await expect(exchangeAuthorization(issuer, { clientInformation, ...code, fetchFn })).rejects.toThrow(
      'Redirect to https://evil.example/token not followed',
    )
    expect(fetchFn).toHaveBeenCalledOnce()
  })

  it('follow a redirect within the origin with the same body', async () => {
    const bodies: unknown[] = []
    const fetchFn = vi.fn(async (url: string | URL, init?: RequestInit) => {
      bodies.push(String(init?.body))
      if (new URL(url).pathname === '/token') return redirectTo('/oauth/token')
      return Response.json({ access_token: 'token', token_type: 'Bearer', issuer: 'https://evil.example' })
    })
    const tokens = await exchangeAuthorization(issuer, { clientInformation, ...code, fetchFn })
    expect(tokens).toEqual({ access_token: 'token', token_type: 'Bearer' })
    expect(bodies[1]).toBe(bodies[0])
  })

  it('do not turn a POST into a GET, and stop after five redirects', async () => {
    const asGet = vi.fn(async () => redirectTo('/elsewhere', 302))
    await expect(registerClient(issuer, { clientMetadata: { redirect_uris: [] }, fetchFn: asGet })).rejects.toThrow(
      ServerError,
    )
    expect(asGet).toHaveBeenCalledOnce()
    const endless = vi.fn(async () => redirectTo('/again'))
    await expect(exchangeAuthorization(issuer, { clientInformation, ...code, fetchFn: endless })).rejects.toThrow()
    expect(endless).toHaveBeenCalledTimes(6)
  })

  it('try the next location when metadata redirects to another origin', async () => {
    const fetchFn = vi.fn(async () => redirectTo('https://evil.example/metadata'))
    expect(await discoverAuthorizationServerMetadata(issuer, { fetchFn })).toBeUndefined()
    expect(fetchFn).toHaveBeenCalledTimes(2)
  })
})

describe('startAuthorization', () => {
  it('sends the S256 challenge of the verifier', async () => {
    const redirectUrl = 'https://app.example/back'
    const { authorizationUrl, codeVerifier } = await startAuthorization(issuer, { clientInformation, redirectUrl })
    const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(codeVerifier))
    const challenge = Buffer.from(digest).toString('base64url')
    expect(authorizationUrl.searchParams.get('code_challenge')).toBe(challenge)
    expect(codeVerifier).toMatch(/^[\w-]{43}$/)
  })
})

describe('parseErrorResponse', () => {
  it('returns the class of the error code', async () => {
    const error = await parseErrorResponse('{"error":"invalid_grant","error_description":"expired"}')
    expect(error).toBeInstanceOf(InvalidGrantError)
    expect(error.message).toBe('expired')
  })

  it('is not misled by a code that is the name of an object member', async () => {
    expect(await parseErrorResponse('{"error":"constructor"}')).toBeInstanceOf(ServerError)
  })
})

describe('extractWWWAuthenticateParams', () => {
  it('finds the Bearer challenge among others', () => {
    const challenge = 'Basic realm="x", Bearer scope="a b", error="insufficient_scope"'
    const response = new Response(null, { headers: { 'WWW-Authenticate': challenge } })
    expect(extractWWWAuthenticateParams(response)).toEqual({ scope: 'a b', error: 'insufficient_scope' })
  })
})

describe('middleware', () => {
  it('runs from the last to the first, and logs failures of the network', async () => {
    const order: string[] = []
    const named = (name: string) =>
      createMiddleware((next, input, init) => {
        order.push(name)
        return next(input, init)
      })
    const logger = vi.fn()
    const failing = async () => Promise.reject(new Error('no route'))
    const send = applyMiddlewares(named('inner'), named('outer'), withLogging({ logger, statusLevel: 500 }))(failing)
    await expect(send('https://api.example/')).rejects.toThrow('no route')
    expect(order).toEqual(['outer', 'inner'])
    expect(logger.mock.calls[0]![0]).toMatchObject({ method: 'GET', status: 0, statusText: 'Network Error' })
  })
})
