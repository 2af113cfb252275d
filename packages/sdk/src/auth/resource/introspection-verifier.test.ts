import { expect, it } from 'vitest'
import { movableDate } from '../../../test/kit/time.ts'
import { type IntrospectionVerifierOptions, introspectionVerifier } from './introspection-verifier.ts'

const resource = 'https://mcp.example/mcp'
const request = {
  method: 'POST',
  urls: [],
  header: () => undefined,
  isFor: (audience: unknown) => audience === resource,
}

/** A verifier whose endpoint answers with these claims, and the tokens that it was asked about. */
function start(claims: object, options: Partial<IntrospectionVerifierOptions> = {}) {
  const asked: string[] = []
  const state = { claims, status: 200 }
  const verify = introspectionVerifier({
    endpoint: 'https://as.example/introspect',
    clientId: 'c',
    clientSecret: 's',
    fetch: async (_url, init) => {
      asked.push(new URLSearchParams(String(init?.body)).get('token')!)
      return Response.json({ active: true, aud: resource, ...state.claims }, { status: state.status })
    },
    ...options,
  })
  return { asked, state, verify: async (token = 't') => verify(token, request) }
}

it('accepts a token in its time, with five seconds of tolerance on both sides [AUTH-012]', async () => {
  const time = movableDate()
  const exp = Math.floor(Date.now() / 1_000) + 60
  const ending = start({ exp }, { cacheMs: 0 })
  time.advance((exp + 5) * 1_000 - Date.now() - 1)
  expect(await ending.verify()).toMatchObject({ expiresAt: exp + 5 })
  time.advance(1)
  expect(await ending.verify()).toBeUndefined()
  const beginning = start({ nbf: Math.floor(Date.now() / 1_000) + 65 }, { cacheMs: 0 })
  expect(await beginning.verify()).toBeUndefined()
  const nbf = (beginning.state.claims as { nbf: number }).nbf
  time.advance((nbf - 5) * 1_000 - Date.now() - 1)
  expect(await beginning.verify()).toBeUndefined()
  time.advance(1)
  expect(await beginning.verify()).toBeDefined()
})

it.each([
  ['an inactive token', { active: false }, {}],
  ['a refresh token', { token_type: 'refresh_token' }, {}],
  ['an id token', { token_type: 'ID_TOKEN' }, {}],
  ['a token of another issuer', { iss: 'https://other' }, { issuer: 'https://as' }],
  ['a token for another server', { aud: 'https://other' }, {}],
  ['a token for another audience than configured', {}, { audience: ['api'] }],
])('refuses %s [AUTH-012, AUTH-013]', async (_, claims, options) => {
  expect(await start(claims, options).verify()).toBeUndefined()
})

it.each([
  ['without an issuer', {}, { issuer: 'https://as' }, 'https://as'],
  ['of its issuer', { iss: 'https://as' }, { issuer: 'https://as' }, 'https://as'],
  ['of any issuer if none is configured', { iss: 'https://other' }, {}, 'https://other'],
  ['without an issuer if none is configured', {}, {}, 'https://as.example'],
  ['for the configured audience', { aud: ['x', 'api'] }, { audience: 'api' }, 'https://as.example'],
  ['of type Bearer', { token_type: 'Bearer' }, {}, 'https://as.example'],
])('accepts a token %s', async (_, claims, options, issuer) => {
  expect(await start(claims, options).verify()).toMatchObject({ issuer })
})

it('caches a response for ten seconds, per token, and failures not at all', async () => {
  const time = movableDate()
  const { asked, verify, state } = start({})
  state.status = 500
  await expect(verify()).rejects.toThrow()
  state.status = 200
  await verify()
  await verify('other')
  time.advance(9_999)
  await verify()
  expect(asked).toEqual(['t', 't', 'other'])
  time.advance(1)
  await verify()
  expect(asked).toHaveLength(4)
})
