import { exportPKCS8, generateKeyPair, type JWTPayload, jwtVerify } from 'jose'
import { createClientAssertion } from 'tenon/auth/client'
import { startAuthorizationServer } from 'tenon/testing'
import { describe, expect, it } from 'vitest'

const audience = 'https://auth.example.com'
const secret = 'a secret of more than thirty-two characters'

describe('createClientAssertion', () => {
  it('signs an assertion of the client for the authorization server [AUTH-105]', async () => {
    const { privateKey, publicKey } = await generateKeyPair('ES256', { extractable: true })
    const assertion = await createClientAssertion({
      issuer: 'report',
      audience,
      privateKey: await exportPKCS8(privateKey),
      algorithm: 'ES256',
      lifetimeSeconds: 60,
    })
    const { payload, protectedHeader } = await jwtVerify(assertion, publicKey, { audience, issuer: 'report' })
    expect(protectedHeader).toEqual({ alg: 'ES256', typ: 'JWT' })
    expect(payload.sub).toBe('report')
    expect(payload.exp! - payload.iat!).toBe(60)
  })

  it('never signs the same assertion twice [AUTH-105]', async () => {
    const sign = () => createClientAssertion({ issuer: 'report', audience, privateKey: secret, algorithm: 'HS256' })
    expect(await sign()).not.toBe(await sign())
  })

  it('adds claims without replacing the registered ones [AUTH-105]', async () => {
    const claims = { tenant: 'blue', iss: 'another', exp: 9_999_999_999 }
    const payload = await signed({ issuer: 'report', audience, privateKey: secret, algorithm: 'HS256', claims })
    expect(payload).toMatchObject({ tenant: 'blue', iss: 'report', aud: audience })
    expect(payload.exp! - payload.iat!).toBe(300)
  })

  it('refuses an algorithm that does not sign [AUTH-105]', async () => {
    const options = { issuer: 'report', audience, privateKey: secret, algorithm: 'none' }
    await expect(createClientAssertion(options)).rejects.toThrow('Unsupported algorithm none')
  })

  it('is accepted at a token endpoint [AUTH-105]', async () => {
    const { privateKey, publicKey } = await generateKeyPair('ES256', { extractable: true })
    const { exportJWK } = await import('jose')
    await using as = await startAuthorizationServer({ requireResource: false })
    as.registerClient({
      client_id: 'report',
      token_endpoint_auth_method: 'private_key_jwt',
      grant_types: ['client_credentials'],
      jwks: { keys: [await exportJWK(publicKey)] },
    })
    const assertion = await createClientAssertion({
      issuer: 'report',
      audience: as.issuer,
      privateKey: (await exportJWK(privateKey)) as Record<string, unknown>,
      algorithm: 'ES256',
    })
    const response = await fetch(`${as.issuer}/token`, {
      method: 'POST',
      body: new URLSearchParams({
        grant_type: 'client_credentials',
        client_assertion: assertion,
        client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
      }),
    })
    expect(await response.json()).toMatchObject({ token_type: 'Bearer' })
  })
})

async function signed(options: Parameters<typeof createClientAssertion>[0]): Promise<JWTPayload> {
  const { payload } = await jwtVerify(await createClientAssertion(options), new TextEncoder().encode(secret))
  return payload
}
