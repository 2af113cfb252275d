import { describe, expect, it } from 'vitest'
import { AuthError } from '../../errors.ts'
import { AuthContext, type AuthFetch, Trace } from './context.ts'
import { type ClientIdentity, chooseMethod, findClient, isNative } from './registration.ts'

const issuer = 'https://as.example'
const redirectUrl = 'https://app.example/back'
const clientMetadataUrl = 'https://app.example/client.json'

async function find(identity: Partial<ClientIdentity>, server: object = {}, fetch?: AuthFetch, scope?: string) {
  const refuse: AuthFetch = () => Promise.reject(new Error('a request was sent'))
  const context = new AuthContext(new URL('https://mcp.example'), new Trace(), fetch ?? refuse)
  const client = await findClient(
    context,
    { issuer, ...server },
    { clientName: 'App', ...identity },
    redirectUrl,
    scope,
  )
  return { client, trace: String(context.trace) }
}

describe('the client at an authorization server', () => {
  it.each([
    ['without a secret', {}, {}, { token_endpoint_auth_method: 'none' }],
    [
      'with a secret',
      { clientSecret: 's' },
      {},
      { client_secret: 's', token_endpoint_auth_method: 'client_secret_basic' },
    ],
    [
      'with a secret for a server without Basic',
      { clientSecret: 's' },
      { token_endpoint_auth_methods_supported: ['client_secret_post'] },
      { client_secret: 's', token_endpoint_auth_method: 'client_secret_post' },
    ],
    ['with a key', { clientSecret: 's', privateKey: 'k' }, {}, { token_endpoint_auth_method: 'private_key_jwt' }],
  ])('is the given one %s, before all others [AUTH-046, AUTH-055]', async (_, more, server, expected) => {
    const everything = { client_id_metadata_document_supported: true, registration_endpoint: `${issuer}/r`, ...server }
    const { client, trace } = await find({ clientId: 'c', clientMetadataUrl, ...more }, everything)
    expect(client).toEqual({ client_id: 'c', origin: 'given', ...expected })
    expect(trace).toBe('+ registration: the given client id')
  })

  const documents = { client_id_metadata_document_supported: true }
  const signed = { token_endpoint_auth_methods_supported: ['private_key_jwt'] }

  it.each([
    ['without a key', {}, documents, 'none'],
    ['with a key', { privateKey: 'k' }, { ...documents, ...signed }, 'private_key_jwt'],
  ])('is that of a document %s [AUTH-046]', async (_, more, server, token_endpoint_auth_method) => {
    const { client, trace } = await find({ clientMetadataUrl, ...more }, { registration_endpoint: 'x', ...server })
    expect(client).toEqual({
      client_id: clientMetadataUrl,
      token_endpoint_auth_method,
      origin: 'document',
      redirectUrl,
    })
    expect(trace).toBe(`- registration: no clientId\n+ registration: with the document ${clientMetadataUrl}`)
  })

  it.each([
    ['there is no document', {}, documents, 'no clientMetadataUrl'],
    [
      'the server does not support documents',
      { clientMetadataUrl },
      {},
      'does not support client id metadata documents',
    ],
    [
      'the server does not support keys',
      { clientMetadataUrl, privateKey: 'k' },
      documents,
      'does not support private_key_jwt',
    ],
  ])(
    'is asked from the application if %s and the server registers none [AUTH-046]',
    async (_, identity, server, reason) => {
      const register = async (at: { issuer: string }) => ({ clientId: `at ${at.issuer}`, clientSecret: 's' })
      const { client, trace } = await find({ ...identity, register }, server)
      expect(client).toEqual({
        client_id: `at ${issuer}`,
        client_secret: 's',
        token_endpoint_auth_method: 'client_secret_basic',
        origin: 'given',
      })
      expect(trace).toContain(reason)
      expect(trace).toContain(`- registration: ${issuer} has no dynamic registration`)
      await expect(find(identity, server)).rejects.toThrow(
        `${issuer} does not know this client and has no dynamic registration. Register it there and pass clientId, or pass clientMetadataUrl`,
      )
    },
  )
})

describe('dynamic registration', () => {
  const server = { registration_endpoint: `${issuer}/register` }

  it('sends the metadata, and keeps what the server answers [AUTH-057]', async () => {
    const sent: unknown[] = []
    const fetch: AuthFetch = async (url, { body, ...init }) => {
      sent.push(url, init, JSON.parse(String(body)))
      return Response.json({ client_id: 'c', client_secret: 's', token_endpoint_auth_method: 'client_secret_post' })
    }
    const { client, trace } = await find({}, server, fetch, 'a b')
    expect(sent).toEqual([
      server.registration_endpoint,
      {
        method: 'POST',
        headers: { accept: 'application/json', 'content-type': 'application/json' },
        redirect: 'manual',
      },
      {
        client_name: 'App',
        redirect_uris: [redirectUrl],
        grant_types: ['authorization_code', 'refresh_token'],
        response_types: ['code'],
        token_endpoint_auth_method: 'none',
        application_type: 'web',
        scope: 'a b',
      },
    ])
    expect(client).toEqual({
      client_id: 'c',
      client_secret: 's',
      token_endpoint_auth_method: 'client_secret_post',
      origin: 'registered',
      redirectUrl,
    })
    expect(trace).toContain(`+ registration: dynamically at ${issuer}/register`)
  })

  it('requests no empty scope, and uses the requested method if the server answers none', async () => {
    let sent = ''
    const fetch: AuthFetch = async (_url, { body }) => {
      sent = String(body)
      return Response.json({ client_id: 'c' }, { status: 201 })
    }
    const { client } = await find({}, server, fetch, '')
    expect(JSON.parse(sent)).not.toHaveProperty('scope')
    expect(client.token_endpoint_auth_method).toBe('none')
  })

  it.each([
    [
      'an OAuth error',
      () => Response.json({ error: 'e', error_description: 'd\u0007' }, { status: 400 }),
      'HTTP 400, e, d ',
    ],
    ['a JSON-RPC error', () => Response.json({ error: { message: 'm' } }, { status: 404 }), 'HTTP 404, m'],
    ['no JSON', () => new Response('x', { status: 500 }), 'HTTP 500'],
    ['an error with a client id', () => Response.json({ client_id: 'c' }, { status: 400 }), 'HTTP 400'],
    ['a success without a client id', () => Response.json({ client_id: 7 }), 'HTTP 200'],
    ['a list', () => Response.json(['c']), 'HTTP 200'],
  ])('fails with %s, and says why [AUTH-059]', async (_, respond, why) => {
    const error = await find({}, server, async () => respond()).catch((reason) => reason)
    expect(error).toBeInstanceOf(AuthError)
    expect(error.message).toBe(`${issuer} did not register this client: ${why}`)
    expect(error.cause).toBeUndefined()
  })

  it('fails with at most 500 characters of the server', async () => {
    const fetch: AuthFetch = async () => Response.json({ error: 'x'.repeat(900) }, { status: 400 })
    const error = await find({}, server, fetch).catch((reason) => reason)
    expect(error.message.length).toBe(`${issuer} did not register this client: `.length + 500)
  })

  it('fails with the reason if the server cannot be reached', async () => {
    const cause = Object.assign(new Error('no route'), { code: 'EX' })
    const error = await find({}, server, () => Promise.reject(cause)).catch((reason) => reason)
    expect(error.message).toBe(`${issuer} did not register this client: no route`)
    expect(error.cause).toMatchObject({ message: 'no route', code: 'EX' })
  })

  it('at a default path that fails means that there is no login', async () => {
    const context = new AuthContext(
      new URL('https://mcp.example'),
      new Trace(),
      async () => new Response(null, { status: 404 }),
    )
    context.triesDefaultPaths = true
    await expect(findClient(context, { issuer, ...server }, { clientName: 'A' }, redirectUrl, '')).rejects.toThrow(
      `No login is offered: ${issuer} publishes no OAuth metadata, and did not register this client (HTTP 404). If its operator issues tokens, send one in the Authorization header`,
    )
    expect(String(context.trace)).toContain('! registration: HTTP 404')
  })
})

it.each([
  [undefined, 'none'],
  [['client_secret_post', 'client_secret_basic'], 'client_secret_basic'],
  [['client_secret_post', 'none'], 'none'],
  [['client_secret_post'], 'client_secret_post'],
  [['private_key_jwt'], 'none'],
])('registers for a method that the server supports: %o', (supported, method) => {
  expect(chooseMethod(supported)).toBe(method)
})

it.each([
  ['http://127.0.0.1:1/', true],
  ['https://localhost/', true],
  ['app:/back', true],
  ['https://app.example/', false],
  ['http://app.example/', false],
])('knows whether only an application on this machine receives the redirect: %s [AUTH-057]', (url, expected) => {
  expect(isNative(url)).toBe(expected)
})
