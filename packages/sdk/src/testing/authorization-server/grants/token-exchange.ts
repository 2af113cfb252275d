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
 * As an identity provider: turns the ID token of a user into an assertion for another authorization server (RFC 8693, as
 * enterprise-managed authorization uses it).
 */
export const tokenExchange: GrantHandler = async (asked, state) => {
  const { params } = asked
  const { client_id: clientId, scope: ownScope } = needClient(asked)
  if (params.require('requested_token_type') !== idJag)
    throw new OAuthError('invalid_request', `Only ${idJag} can be had`)
  if (params.require('subject_token_type') !== idToken)
    throw new OAuthError('invalid_request', `Only ${idToken} is taken`)
  if (params.get('actor_token') !== undefined)
    throw new OAuthError('invalid_request', 'There is no actor in this exchange')
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

/** It has to be one of ours, given to this very client. */
async function verify(subjectToken: string, clientId: string, { keys, issuer, settings }: State): Promise<JWTPayload> {
  const currentDate = new Date(settings.now())
  const expected = { issuer, audience: clientId, currentDate, requiredClaims: ['sub', 'exp'] }
  return keys.verify(subjectToken, expected).catch((error: Error) => {
    throw invalidGrant(`The subject token is not good: ${error.message}`)
  })
}
