import type { EndpointResponse } from '../../auth/http.ts'
import { OAuthError } from '../../auth/server/oauth-error.ts'
import { findClient } from './client-auth.ts'
import { authorizationCode } from './grants/authorization-code.ts'
import { clientCredentials } from './grants/client-credentials.ts'
import type { GrantHandler } from './grants/grant.ts'
import { jwtBearer } from './grants/jwt-bearer.ts'
import { refreshToken } from './grants/refresh-token.ts'
import { tokenExchange } from './grants/token-exchange.ts'
import type { Call } from './http.ts'
import { addressOf } from './metadata.ts'
import type { Endpoint, State } from './state.ts'

const grants: ReadonlyMap<string, GrantHandler> = new Map([
  ['authorization_code', authorizationCode],
  ['refresh_token', refreshToken],
  ['client_credentials', clientCredentials],
  ['urn:ietf:params:oauth:grant-type:jwt-bearer', jwtBearer],
  ['urn:ietf:params:oauth:grant-type:token-exchange', tokenExchange],
])

export const token: Endpoint = async (call, state) => {
  const reply = await answer(call, state).catch((error) => {
    if (error instanceof OAuthError) return error.toResponse()
    throw error
  })
  const { nonce } = state.proofs
  return nonce === undefined ? reply : { ...reply, headers: { ...reply.headers, 'dpop-nonce': nonce } }
}

async function answer(call: Call, state: State): Promise<EndpointResponse> {
  const { params } = call
  const grantType = params.require('grant_type')
  const handler = state.settings.grantTypes.includes(grantType) ? grants.get(grantType) : undefined
  if (!handler) throw new OAuthError('unsupported_grant_type', `Unsupported grant type: ${grantType}`)
  const client = await findClient(call, state)
  if (client && !client.grant_types.includes(grantType)) {
    throw new OAuthError('unauthorized_client', `The client is not registered for the grant type ${grantType}`)
  }
  const jkt = await state.proofs.check(call, addressOf('token', state.issuer))
  if (jkt === undefined && (state.settings.dpop === 'required' || client?.dpop_bound_access_tokens)) {
    throw new OAuthError('invalid_dpop_proof', 'The request has no DPoP proof')
  }
  return handler({ params, client, jkt }, state)
}
