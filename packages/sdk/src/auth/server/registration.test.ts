import { describe, expect, it } from 'vitest'
import { readRegistration } from './registration.ts'

const redirect_uris = ['https://app.example/back']

describe('the registration of a client', () => {
  it('gets the defaults of RFC 7591 [AUTH-044]', () => {
    expect(readRegistration(JSON.stringify({ redirect_uris }))).toEqual({
      redirect_uris,
      token_endpoint_auth_method: 'client_secret_basic',
      grant_types: ['authorization_code'],
      response_types: ['code'],
    })
  })

  it('loses what the server chooses or cannot verify, and what it does not support', () => {
    const body = {
      redirect_uris,
      client_id: 'mine',
      client_secret: 'mine',
      software_statement: 'x',
      client_name: 'App',
      client_uri: 'https://app.example',
      scope: 'a',
      jwks_uri: 'https://app.example/keys',
      jwks: { keys: [] },
      grant_types: ['password', 'refresh_token', 'authorization_code'],
      response_types: ['token', 'code'],
      token_endpoint_auth_method: 'none',
    }
    const { client_id: _, client_secret: __, software_statement: ___, ...rest } = body
    expect(readRegistration(JSON.stringify(body))).toEqual({
      ...rest,
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
    })
  })

  it.each([
    ['not JSON', '{', 'The body must be a JSON object.'],
    ['a list', '[]', 'The body must be a JSON object.'],
    [{ client_name: 1 }, 'client_name must be a string.'],
    [{ client_uri: {} }, 'client_uri must be a string.'],
    [{ scope: ['a'] }, 'scope must be a string.'],
    [{ jwks_uri: 1 }, 'jwks_uri must be a string.'],
    [{ jwks: 'x' }, 'jwks must be a JSON Web Key Set.'],
    [{ grant_types: 'authorization_code' }, 'grant_types must be an array of strings.'],
    [{ grant_types: ['refresh_token'] }, 'grant_types must include authorization_code.'],
    [{ response_types: { includes: 1 } }, 'response_types must be an array of strings.'],
    [{ response_types: ['token'] }, 'response_types must include code.'],
    [{ token_endpoint_auth_method: 'tls' }, 'token_endpoint_auth_method must be one of none, '],
    [{ token_endpoint_auth_method: ['none'] }, 'token_endpoint_auth_method must be one of none, '],
  ] as [...unknown[], string][])('is refused: %o %o', (...row) => {
    const [given] = row
    const body = typeof given === 'string' ? String(row[1]) : JSON.stringify({ redirect_uris, ...(given as object) })
    expect(() => readRegistration(body)).toThrow(
      expect.objectContaining({
        errorCode: 'invalid_client_metadata',
        message: expect.stringContaining(row.at(-1) as string),
      }),
    )
  })

  it.each([undefined, [], 'https://app.example/back', ['/back'], [1]])(
    'is refused with the redirect URIs %o',
    (uris) => {
      expect(() => readRegistration(JSON.stringify({ redirect_uris: uris }))).toThrow(/redirect_uris must/)
    },
  )

  it('may use the schemes that the operator allows', () => {
    const body = JSON.stringify({ redirect_uris: ['app:/back'] })
    expect(() => readRegistration(body)).toThrow(/redirect_uris/)
    expect(readRegistration(body, ['app']).redirect_uris).toEqual(['app:/back'])
  })
})
