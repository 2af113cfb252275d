import { describe, expect, it } from 'vitest'
import { AuthError } from '../../errors.ts'
import { AuthContext, type AuthFetch, Trace } from './context.ts'
import { authenticatingFetch, providerClient, registerProvider } from './provider-client.ts'
import type { OAuthClientProvider, ProviderClientInformation } from './provider-port.ts'

const issuer = 'https://as.example'
const endpoints = { issuer, token_endpoint: `${issuer}/token`, registration_endpoint: `${issuer}/register` }
const redirectUrl = 'https://app.example/back'

function noRequest(): never {
  throw new Error('a request was sent')
}

function contextWith(fetch: AuthFetch = noRequest): AuthContext {
  return new AuthContext(new URL('https://mcp.example/mcp'), new Trace(), fetch)
}

/** A provider that keeps what is saved, and saves it only after a turn, as a database does. */
function providerWith(more: Partial<OAuthClientProvider> = {}) {
  const saved: unknown[][] = []
  const provider: OAuthClientProvider = {
    redirectUrl,
    clientMetadata: { redirect_uris: [redirectUrl] },
    clientInformation: () => undefined,
    saveClientInformation: async (...given) => {
      await new Promise((resolve) => setImmediate(resolve))
      saved.push(given)
    },
    tokens: () => undefined,
    saveTokens: () => {},
    redirectToAuthorization: () => {},
    saveCodeVerifier: () => {},
    codeVerifier: () => '',
    ...more,
  }
  return { provider, saved }
}

describe('the client of a provider', () => {
  const given = (information: ProviderClientInformation, more: Partial<OAuthClientProvider> = {}, server = {}) =>
    providerClient(contextWith(), providerWith({ clientInformation: () => information, ...more }).provider, {
      ...endpoints,
      ...server,
    })

  it('is missing if the provider has none', async () => {
    expect(await providerClient(contextWith(), providerWith().provider, endpoints)).toBeUndefined()
  })

  it('is asked for by issuer [AUTH-060]', async () => {
    const asked: unknown[] = []
    const { provider } = providerWith({ clientInformation: (context) => void asked.push(context) })
    await providerClient(contextWith(), provider, endpoints)
    expect(asked).toEqual([{ issuer }])
  })

  it.each([
    ['without a secret does not authenticate', {}, {}, { token_endpoint_auth_method: 'none' }],
    [
      'without a secret does not authenticate, whatever it is registered for',
      { token_endpoint_auth_method: 'client_secret_post' },
      {},
      { token_endpoint_auth_method: 'none' },
    ],
    [
      'with a secret authenticates as it is registered',
      { client_secret: 's', token_endpoint_auth_method: 'client_secret_post' },
      {},
      { client_secret: 's', token_endpoint_auth_method: 'client_secret_post' },
    ],
    [
      'with a secret uses Basic if nothing is registered',
      { client_secret: 's' },
      {},
      { client_secret: 's', token_endpoint_auth_method: 'client_secret_basic' },
    ],
    [
      'with a secret uses the method of the server if nothing is registered',
      { client_secret: 's' },
      { token_endpoint_auth_methods_supported: ['client_secret_post'] },
      { client_secret: 's', token_endpoint_auth_method: 'client_secret_post' },
    ],
    [
      'with a secret sends it although it is registered without authentication',
      { client_secret: 's', token_endpoint_auth_method: 'none' },
      {},
      { client_secret: 's', token_endpoint_auth_method: 'client_secret_basic' },
    ],
  ])('%s', async (_, information, server, expected) => {
    expect(await given({ client_id: 'c', ...information }, {}, server)).toEqual({
      client_id: 'c',
      origin: 'given',
      ...expected,
    })
  })

  it('does not get the secret if the provider authenticates itself', async () => {
    const client = await given({ client_id: 'c', client_secret: 's' }, { addClientAuthentication: () => {} })
    expect(client).toEqual({ client_id: 'c', token_endpoint_auth_method: 'none', origin: 'given' })
  })

  it('is used with its own issuer [AUTH-061]', async () => {
    expect(await given({ client_id: 'c', issuer })).toMatchObject({ client_id: 'c' })
  })

  const foreign = { client_id: 'c', issuer: 'https://other.example' }

  it('is registered again for another issuer if there is a user [AUTH-061]', async () => {
    expect(await given(foreign)).toBeUndefined()
  })

  it.each([
    ['there is no user', { redirectUrl: undefined }],
    ['the provider cannot save another', { saveClientInformation: undefined as never }],
  ])('is refused for another issuer if %s [AUTH-062]', async (_, more) => {
    await expect(given(foreign, more)).rejects.toThrow(
      'The client id belongs to https://other.example, but the server requires tokens of https://as.example',
    )
  })
})

describe('registering the client of a provider', () => {
  const clientMetadataUrl = 'https://app.example/client.json'

  it('uses the metadata document where the server supports it, and saves it [AUTH-046]', async () => {
    const { provider, saved } = providerWith({ clientMetadataUrl })
    const server = { ...endpoints, client_id_metadata_document_supported: true }
    const context = contextWith()
    expect(await registerProvider(context, provider, server, redirectUrl, 'read')).toEqual({
      client_id: clientMetadataUrl,
      token_endpoint_auth_method: 'none',
      origin: 'document',
    })
    expect(saved).toEqual([[{ client_id: clientMetadataUrl, issuer }, { issuer }]])
    expect(String(context.trace)).toBe(`+ registration: by the document ${clientMetadataUrl}`)
  })

  it('uses the metadata document although the provider saves nothing', async () => {
    const { provider } = providerWith({ clientMetadataUrl, saveClientInformation: undefined as never })
    const server = { issuer, client_id_metadata_document_supported: true }
    expect(await registerProvider(contextWith(), provider, server, redirectUrl, '')).toMatchObject({
      client_id: clientMetadataUrl,
    })
  })

  /** Registers at a server that issues `answer`, and returns the metadata that was sent. */
  async function register(options: {
    provider?: Partial<OAuthClientProvider>
    server?: object
    redirect?: string
    scope?: string
    answer?: object
  }) {
    const sent: unknown[] = []
    const context = contextWith(async (url, init) => {
      sent.push([url, JSON.parse(String(init.body))])
      return Response.json({ client_id: 'c', ...options.answer }, { status: 201 })
    })
    const { provider, saved } = providerWith(options.provider)
    const server = { ...endpoints, ...options.server }
    const { redirect = redirectUrl, scope = '' } = options
    const client = await registerProvider(context, provider, server, redirect, scope)
    return { client, sent, saved, trace: String(context.trace) }
  }

  it('registers dynamically, and saves the answer with its issuer [AUTH-057, AUTH-060]', async () => {
    const answer = { client_secret: 's', token_endpoint_auth_method: 'client_secret_post' }
    const { client, sent, saved, trace } = await register({ answer, scope: 'read' })
    expect(sent).toEqual([
      [
        `${issuer}/register`,
        {
          grant_types: ['authorization_code', 'refresh_token'],
          response_types: ['code'],
          token_endpoint_auth_method: 'none',
          application_type: 'web',
          redirect_uris: [redirectUrl],
          scope: 'read',
        },
      ],
    ])
    expect(client).toEqual({ client_id: 'c', ...answer, origin: 'registered' })
    expect(saved).toEqual([[{ client_id: 'c', ...answer, issuer }, { issuer }]])
    expect(trace).toBe(`+ registration: dynamically at ${issuer}/register`)
  })

  it.each([
    ['the server does not support documents', { provider: { clientMetadataUrl } }],
    ['there is no document', { server: { client_id_metadata_document_supported: true } }],
  ])('registers dynamically if %s', async (_, options) => {
    const { client } = await register(options)
    expect(client).toMatchObject({ client_id: 'c', origin: 'registered' })
  })

  it('registers a loopback redirect as native, requests no empty scope, and prefers the metadata [AUTH-057]', async () => {
    const clientMetadata = { redirect_uris: ['http://127.0.0.1:1/'], scope: 'own', response_types: ['own'] }
    const { sent } = await register({ provider: { clientMetadata }, redirect: 'http://127.0.0.1:1/' })
    expect(sent).toMatchObject([[expect.any(String), { application_type: 'native', ...clientMetadata }]])
  })

  it.each([
    [{}, { registration_endpoint: undefined }, `${issuer} has no dynamic registration`],
    [{ saveClientInformation: undefined as never }, {}, 'the provider has no saveClientInformation()'],
  ])('explains why the client cannot be registered: %o %o', async (provider, server, why) => {
    const work = registerProvider(
      contextWith(),
      providerWith(provider).provider,
      { ...endpoints, ...server } as never,
      redirectUrl,
      '',
    )
    await expect(work).rejects.toThrow(AuthError)
    await expect(work).rejects.toThrow(`The client cannot be registered: ${why}. Return one from clientInformation()`)
  })
})

it('lets the provider authenticate before the token request is sent', async () => {
  const sent: unknown[] = []
  const { provider } = providerWith({
    addClientAuthentication: async (headers, params, url, metadata) => {
      await new Promise((resolve) => setImmediate(resolve))
      headers.set('authorization', `Basic for ${url} of ${(metadata as { issuer: string }).issuer}`)
      params.set('client_assertion', 'a')
    },
  })
  const fetch: AuthFetch = async (url, init) => {
    sent.push([url, init.method, init.headers, String(init.body)])
    return new Response()
  }
  const body = new URLSearchParams({ grant_type: 'x', client_id: 'c' })
  const init = { method: 'POST', headers: { accept: 'a' }, body }
  await authenticatingFetch(fetch, provider, endpoints)(endpoints.token_endpoint, init)
  expect(sent).toEqual([
    [
      endpoints.token_endpoint,
      'POST',
      { accept: 'a', authorization: `Basic for ${endpoints.token_endpoint} of ${issuer}` },
      'grant_type=x&client_assertion=a',
    ],
  ])
  expect(String(body)).toBe('grant_type=x&client_id=c')
})
