import { OAuthError } from '../../../auth/server/oauth-error.ts'
import { askedResource, askedScope } from '../asked.ts'
import { replyWithTokens } from '../token-reply.ts'
import { type GrantHandler, needClient } from './grant.ts'

/** Issues a token to a client on its own behalf (OAuth 2.1 section 4.2). */
export const clientCredentials: GrantHandler = async (asked, state) => {
  const { params, jkt } = asked
  const client = needClient(asked)
  if (client.token_endpoint_auth_method === 'none') {
    throw new OAuthError('unauthorized_client', 'Public clients cannot use the grant type client_credentials')
  }
  const { client_id: clientId } = client
  const scope = askedScope(params, client.scope, state.settings)
  const grant = { sub: clientId, clientId, scope, resource: askedResource(params, state.settings) }
  return replyWithTokens({ family: { grant, isRevoked: false }, client, jkt }, state)
}
