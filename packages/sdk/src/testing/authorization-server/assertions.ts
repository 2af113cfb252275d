import { createLocalJWKSet, type JSONWebKeySet, type JWTPayload, type JWTVerifyOptions, jwtVerify } from 'jose'
import { fetchDocument } from '../../auth/server/client-documents.ts'
import { guarded } from './guarded.ts'
import { signingAlgorithms } from './keys.ts'
import type { Settings } from './options.ts'

/** The claims of a JWT that somebody else signed; throws unless it is in time and all that is expected of it. */
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
