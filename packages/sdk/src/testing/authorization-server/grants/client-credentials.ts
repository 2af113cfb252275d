import { OAuthError } from '../../../auth/server/oauth-error.ts'
import { askedResource, askedScope } from '../asked.ts'
import { replyWithTokens } from '../token-reply.ts'
import { type GrantHandler, needClient } from './grant.ts'

/** A client on its own account (OAuth 2.1 section 4.2). */
export const clientCredentials: GrantHandler = async (asked, state) => {
  const { params, jkt } = asked
  const client = needClient(asked)
  if (client.token_endpoint_auth_method === 'none') {
    throw new OAuthError('unauthorized_client', 'Only a client that can prove who it is may ask for a token of its own')
  }
  const { client_id: clientId } = client
  const scope = askedScope(params, client.scope, state.settings)
  const grant = { sub: clientId, clientId, scope, resource: askedResource(params, state.settings) }
  return replyWithTokens({ family: { grant, isRevoked: false }, client, jkt }, state)
}
