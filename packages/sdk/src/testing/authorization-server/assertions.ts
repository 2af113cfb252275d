import { createLocalJWKSet, type JSONWebKeySet, type JWTPayload, type JWTVerifyOptions, jwtVerify } from 'jose'
import { fetchDocument } from '../../auth/server/client-documents.ts'
import { guarded } from './guarded.ts'
import { signingAlgorithms } from './keys.ts'
import type { Settings } from './options.ts'

/** Returns the claims of a JWT of another issuer. Throws if it has expired or does not match the expected claims. */
export async function verifyAssertion(
  assertion: string,
  keys: JSONWebKeySet | string,
  settings: Settings,
  expected: JWTVerifyOptions,
): Promise<JWTPayload> {
  const jwks = typeof keys === 'string' ? (await fetchDocument(keys, guarded(settings))).document : keys
  const { payload } = await jwtVerify(assertion, createLocalJWKSet(jwks as unknown as JSONWebKeySet), {
    ...expected,
    algorithms: signingAlgorithms,
    requiredClaims: ['exp', ...(expected.requiredClaims ?? [])],
    currentDate: new Date(settings.now()),
  })
  return payload
}
