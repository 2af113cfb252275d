import type { JWTPayload } from 'jose'
import { jsonResponse } from '../../../auth/http.ts'
import { invalidGrant, OAuthError } from '../../../auth/server/oauth-error.ts'
import { random } from '../../../util/random.ts'
import { askedScope } from '../asked.ts'
import type { State } from '../state.ts'
import { type GrantHandler, needClient } from './grant.ts'
import { idJagType } from './jwt-bearer.ts'

const idJag = 'urn:ietf:params:oauth:token-type:id-jag'
const idToken = 'urn:ietf:params:oauth:token-type:id_token'
const idJagSeconds = 300

/**
 * Exchanges, as an identity provider, the ID token of a user for an assertion for another authorization server (RFC
 * 8693, as enterprise-managed authorization uses it).
 */
export const tokenExchange: GrantHandler = async (asked, state) => {
  const { params } = asked
  const { client_id: clientId, scope: ownScope } = needClient(asked)
  if (params.require('requested_token_type') !== idJag)
    throw new OAuthError('invalid_request', `requested_token_type must be ${idJag}`)
  if (params.require('subject_token_type') !== idToken)
    throw new OAuthError('invalid_request', `subject_token_type must be ${idToken}`)
  if (params.get('actor_token') !== undefined) throw new OAuthError('invalid_request', 'actor_token is not supported')
  const audience = params.require('audience')
  const resource = params.get('resource')
  const { sub } = await verify(params.require('subject_token'), clientId, state)
  const scope = askedScope(params, ownScope, state.settings).join(' ')
  const iat = state.tokens.now
  const claims = {
    iss: state.issuer,
    sub,
    aud: audience,
    client_id: state.settings.clientIdAt(audience, clientId),
    ...(resource !== undefined && { resource }),
    ...(scope !== '' && { scope }),
    jti: random.uuid(),
    iat,
    exp: iat + idJagSeconds,
  }
  return jsonResponse({
    issued_token_type: idJag,
    access_token: await state.keys.sign(claims, { typ: idJagType }),
    token_type: 'N_A',
    expires_in: idJagSeconds,
    ...(scope !== '' && { scope }),
  })
}

/** Verifies that this server issued the token to the same client. */
async function verify(subjectToken: string, clientId: string, { keys, issuer, settings }: State): Promise<JWTPayload> {
  const currentDate = new Date(settings.now())
  const expected = { issuer, audience: clientId, currentDate, requiredClaims: ['sub', 'exp'] }
  return keys.verify(subjectToken, expected).catch((error: Error) => {
    throw invalidGrant(`Invalid subject token: ${error.message}`)
  })
}
