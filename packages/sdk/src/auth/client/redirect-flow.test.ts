import { describe, expect, it } from 'vitest'
import { MemoryTokenStore } from '../token-store.ts'
import type { AuthFetch } from './context.ts'
import { AuthContext, Trace } from './context.ts'
import { enterpriseManaged } from './grants.ts'
import { beginAuthorization, completeAuthorization } from './redirect-flow.ts'

const url = 'https://mcp.example/mcp'
const issuer = 'https://as.example'
const redirectUrl = 'https://app.example/back'

const fetch: AuthFetch = async (at) => {
  if (at === `${issuer}/token`) return Response.json({ access_token: 't', token_type: 'Bearer' })
  if (at.startsWith(issuer)) {
    return Response.json({
      issuer,
      authorization_endpoint: `${issuer}/authorize`,
      token_endpoint: `${issuer}/token`,
      code_challenge_methods_supported: ['S256'],
    })
  }
  return Response.json({ resource: url, authorization_servers: [issuer], scopes_supported: ['r'] })
}
const options = { redirectUrl, clientId: 'c', fetch }

describe('the arguments of beginAuthorization', () => {
  it.each(['', 'mcp.example', 'https://['])('must have the URL of a server: %j', async (server) => {
    await expect(beginAuthorization(server, options)).rejects.toMatchObject({
      code: 'invalid-argument',
      message: 'Not a URL: pass the URL of the server to beginAuthorization',
    })
  })

  it.each(['http://app.example/back', 'back', ''])('must have a safe redirect URL: %j [AUTH-089]', async (redirect) => {
    await expect(beginAuthorization(url, { ...options, redirectUrl: redirect })).rejects.toMatchObject({
      code: 'invalid-argument',
      message: 'redirectUrl must be an https: URL, or a URL on this machine',
    })
  })

  it.each([
    ['by option', { dpop: true }],
    ['by challenge', { challenge: 'DPoP algs="ES256"' }],
  ])('must have a store for a key that is needed %s', async (_, more) => {
    await expect(beginAuthorization(url, { ...options, ...more })).rejects.toMatchObject({
      code: 'invalid-argument',
      message: 'beginAuthorization({ dpop }) requires a `store` for the key',
    })
    const begun = await beginAuthorization(url, { ...options, ...more, store: new MemoryTokenStore() })
    await expect(completeAuthorization(new URLSearchParams(), begun.flow, { fetch })).rejects.toThrow(
      'The token must be bound to a key, which is in the store. Pass `store`',
    )
  })

  it('need no key if the option says so', async () => {
    const begun = await beginAuthorization(url, { ...options, challenge: 'DPoP algs="ES256"', dpop: false })
    expect(JSON.parse(begun.flow)).toMatchObject({ version: 1, serverUrl: url, bindsToKey: false })
  })
})

describe('the tokens of completeAuthorization', () => {
  it('have the requested scopes, and are stored with their client only if there is a store', async () => {
    const { url: page, flow } = await beginAuthorization(`${url}?key=1`, { ...options, scopes: ['x'] })
    const back = new URL(`${redirectUrl}?code=k&state=${page.searchParams.get('state')}`)
    const expected = { accessToken: 't', expiresAt: undefined, scopes: ['r', 'x'], issuer }
    expect(await completeAuthorization(back, flow, { fetch })).toEqual(expected)
    const store = new MemoryTokenStore()
    expect(await completeAuthorization(back.searchParams, flow, { fetch, store })).toEqual(expected)
    expect(JSON.parse(store.get(`tokens ${url}`)!)).toMatchObject({
      accessToken: 't',
      clientId: 'c',
      scopes: ['r', 'x'],
    })
    expect(JSON.parse(store.get(`client ${issuer}`)!)).toMatchObject({ client_id: 'c' })
  })

  it.each(['', '{', '[]', '{"version":2}', '{"version":1}', '{"version":1,"flow":{"server":{}}}'])(
    'need the flow that was begun: %s',
    async (flow) => {
      await expect(completeAuthorization(new URLSearchParams(), flow)).rejects.toMatchObject({
        code: 'invalid-argument',
        message: 'Invalid flow: pass the `flow` that beginAuthorization returned',
      })
    },
  )
})

describe('an enterprise identity provider', () => {
  const jag = 'urn:ietf:params:oauth:token-type:id-jag'

  async function obtain(issued: string, more: object = {}) {
    const sent: [string, string | null, Record<string, string>][] = []
    const send: AuthFetch = async (at, { headers, body }) => {
      const params = Object.fromEntries(new URLSearchParams(String(body)))
      sent.push([at, new Headers(headers).get('authorization'), params])
      const isProvider = at.startsWith('https://idp.example')
      return Response.json(
        isProvider
          ? { access_token: 'assertion', token_type: 'N_A', issued_token_type: issued }
          : { access_token: 't', token_type: 'Bearer' },
      )
    }
    const identityProvider = {
      tokenEndpoint: 'https://idp.example/token',
      clientId: 'at idp',
      idToken: async () => 'id token',
      ...more,
    }
    const grant = enterpriseManaged({ clientId: 'c', identityProvider })
    const context = new AuthContext(new URL(url), new Trace(), send)
    const server = { issuer, token_endpoint: `${issuer}/token` }
    const response = await grant.obtain({ context, server, resource: url, scopes: ['a', 'b'], dpop: undefined })
    return { sent, response }
  }

  it('issues an assertion for the authorization server, which issues the token [AUTH-107, AUTH-108]', async () => {
    const { sent, response } = await obtain(jag)
    expect(response.access_token).toBe('t')
    expect(sent).toEqual([
      [
        'https://idp.example/token',
        null,
        {
          grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
          client_id: 'at idp',
          requested_token_type: jag,
          audience: issuer,
          subject_token: 'id token',
          subject_token_type: 'urn:ietf:params:oauth:token-type:id_token',
          resource: url,
          scope: 'a b',
        },
      ],
      [
        `${issuer}/token`,
        null,
        {
          grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer',
          client_id: 'c',
          assertion: 'assertion',
          resource: url,
          scope: 'a b',
        },
      ],
    ])
  })

  it('knows this client by its secret, if it has one', async () => {
    const { sent } = await obtain(jag, { clientSecret: 's', idToken: 'plain' })
    expect(sent[0]![1]).toBe(`Basic ${btoa('at+idp:s')}`)
    expect(sent[0]![2].subject_token).toBe('plain')
  })

  it('must issue an ID-JAG, and nothing else is sent to the authorization server', async () => {
    await expect(obtain('urn:ietf:params:oauth:token-type:access_token')).rejects.toThrow(
      'The identity provider did not issue an ID-JAG',
    )
  })
})
