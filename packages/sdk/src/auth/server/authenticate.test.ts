import { describe, expect, it } from 'vitest'
import { movableDate } from '../../../test/kit/time.ts'
import { authenticateClient } from './authenticate.ts'
import type { Backend } from './backend.ts'
import type { OAuthClient } from './client.ts'
import { Params } from './params.ts'

const encode = (part: object) => Buffer.from(JSON.stringify(part)).toString('base64url')
const assertionType = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'
const assertionOf = (sub?: string) => `${encode({ alg: 'ES256' })}.${encode({ sub })}.x`
const basic = (text: string) => `Basic ${btoa(text)}`

interface Attempt {
  params?: Record<string, string>
  authorization?: string | undefined
  client?: Partial<OAuthClient> | null
  backend?: Partial<Backend>
}

function authenticate({ params = {}, authorization, client = {}, backend = {} }: Attempt): Promise<OAuthClient> {
  const header = (name: string) => (name === 'authorization' ? authorization : undefined)
  const known = client && { client_id: 'c', redirect_uris: [], ...client }
  const findClient = async (id: string) => (known?.client_id === id ? known : undefined)
  return authenticateClient(
    { method: 'POST', url: '/token', body: '', header },
    new Params(new URLSearchParams(params)),
    { findClient, ...backend } as Backend,
  )
}

const problemOf = async (attempt: Attempt) => {
  const error = await authenticate(attempt).catch((reason) => reason)
  return `${error.status} ${error.errorCode}: ${error.message}`
}

describe('the authentication of a client', () => {
  it.each<[string, Attempt]>([
    ['without a secret', { params: { client_id: 'c' } }],
    [
      'registered without authentication',
      { params: { client_id: 'c' }, client: { token_endpoint_auth_method: 'none' } },
    ],
    [
      'registered without authentication, although it has a secret',
      { params: { client_id: 'c' }, client: { client_secret: 's', token_endpoint_auth_method: 'none' } },
    ],
    ['with its secret in the form', { params: { client_id: 'c', client_secret: 's' }, client: { client_secret: 's' } }],
    ['with its secret in the header', { authorization: basic('c:s'), client: { client_secret: 's' } }],
    [
      'with its id in both places',
      { params: { client_id: 'c' }, authorization: basic('c:s'), client: { client_secret: 's' } },
    ],
    ['with a colon in its secret', { authorization: basic('c:s:t'), client: { client_secret: 's:t' } }],
    ['with a form-encoded secret', { authorization: basic('c:s+%2B%C3%A4'), client: { client_secret: 's +ä' } }],
    [
      'with a secret that never expires',
      { authorization: basic('c:s'), client: { client_secret: 's', client_secret_expires_at: 0 } },
    ],
    [
      'with a secret that the backend knows',
      { authorization: basic('c:s'), client: { client_secret: 'sealed' }, backend: { hasSecret: async () => true } },
    ],
  ])('accepts a client %s [AUTH-008]', async (_, attempt) => {
    expect(await authenticate(attempt)).toMatchObject({ client_id: 'c' })
  })

  it.each<[string, Attempt, string]>([
    ['no client', {}, '401 invalid_client: The client_id is missing.'],
    ['an unknown client', { params: { client_id: 'd' } }, '401 invalid_client: Client not found.'],
    [
      'a client that leaves out its secret',
      { params: { client_id: 'c' }, client: { client_secret: 's' } },
      '401 invalid_client: The client secret is missing.',
    ],
    [
      'a public client with a secret',
      { params: { client_id: 'c', client_secret: 's' } },
      '401 invalid_client: Wrong client authentication method: the client is registered for none, not for client_secret_post.',
    ],
    [
      'a secret at the wrong place',
      {
        params: { client_id: 'c', client_secret: 's' },
        client: { client_secret: 's', token_endpoint_auth_method: 'client_secret_basic' },
      },
      '401 invalid_client: Wrong client authentication method: the client is registered for client_secret_basic, not for client_secret_post.',
    ],
    [
      'a wrong secret',
      { authorization: basic('c:t'), client: { client_secret: 's' } },
      '401 invalid_client: The client secret is not valid.',
    ],
    [
      'a secret that the backend refuses',
      { authorization: basic('c:s'), client: { client_secret: 's' }, backend: { hasSecret: async () => false } },
      '401 invalid_client: The client secret is not valid.',
    ],
    [
      'a secret where none was issued',
      { authorization: basic('c:undefined'), client: { token_endpoint_auth_method: 'client_secret_basic' } },
      '401 invalid_client: The client secret is not valid.',
    ],
    [
      'an assertion, although its signature cannot be checked',
      {
        params: { client_assertion: assertionOf('c'), client_assertion_type: assertionType },
        client: { client_secret: assertionOf('c'), token_endpoint_auth_method: 'private_key_jwt' },
      },
      '401 invalid_client: private_key_jwt is not supported.',
    ],
    [
      'an assertion of an unknown type',
      { params: { client_assertion: assertionOf('c'), client_assertion_type: 'saml' } },
      `401 invalid_client: The client_assertion_type must be ${assertionType}.`,
    ],
    [
      'an assertion without a type',
      { params: { client_assertion: assertionOf('c') } },
      '400 invalid_request: The client_assertion_type is missing.',
    ],
    [
      'an assertion that is not a JWT',
      { params: { client_assertion: 'x', client_assertion_type: assertionType } },
      '401 invalid_client: The client assertion is not a JWT.',
    ],
    [
      'an assertion of another client',
      { params: { client_id: 'c', client_assertion: assertionOf('d'), client_assertion_type: assertionType } },
      '400 invalid_request: The client_id does not match the client that authenticates.',
    ],
    [
      'an assertion without a subject',
      { params: { client_assertion: assertionOf(), client_assertion_type: assertionType } },
      '401 invalid_client: Client not found.',
    ],
    [
      'two methods at once',
      { params: { client_id: 'c', client_secret: 's' }, authorization: basic('c:s'), client: { client_secret: 's' } },
      '400 invalid_request: Use only one client authentication method per request.',
    ],
    [
      'a header of another client',
      { params: { client_id: 'c' }, authorization: basic('d:s') },
      '400 invalid_request: The client_id does not match the client that authenticates.',
    ],
    [
      'a header that is not base64',
      { authorization: 'Basic abcde' },
      '401 invalid_client: The client credentials are not valid base64.',
    ],
    [
      'a header that is not form-encoded',
      { authorization: basic('c:%zz') },
      '401 invalid_client: The client credentials are not form-encoded.',
    ],
  ])('refuses %s [AUTH-008]', async (_, attempt, problem) => {
    expect(await problemOf(attempt)).toBe(problem)
  })

  it('accepts a secret until the second in which it expires', async () => {
    const time = movableDate()
    const until = Math.floor(Date.now() / 1_000) + 60
    const attempt = { authorization: basic('c:s'), client: { client_secret: 's', client_secret_expires_at: until } }
    time.advance(until * 1_000 - Date.now() - 1)
    expect(await authenticate(attempt)).toMatchObject({ client_id: 'c' })
    time.advance(1)
    expect(await problemOf(attempt)).toBe(
      '401 invalid_client: The client secret has expired. Register the client again.',
    )
  })

  it('asks for Basic credentials only if the client used the header', async () => {
    const challengeOf = async (attempt: Attempt) => (await authenticate(attempt).catch((error) => error)).headers
    expect(await challengeOf({ authorization: basic('d:s') })).toEqual({ 'www-authenticate': 'Basic realm="clients"' })
    expect(await challengeOf({ params: { client_id: 'd' } })).toEqual({})
    expect(await challengeOf({ params: { client_id: 'c' }, authorization: basic('d:s') })).toEqual({})
  })

  it('passes on failures of the backend', async () => {
    const findClient = () => Promise.reject(new Error('no database'))
    await expect(authenticate({ authorization: basic('c:s'), backend: { findClient } })).rejects.toThrow('no database')
  })
})
