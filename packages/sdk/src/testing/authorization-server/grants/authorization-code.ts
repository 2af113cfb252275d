import { narrowedResource } from '../asked.ts'
import { replyWithTokens } from '../token-reply.ts'
import { type GrantHandler, needClient } from './grant.ts'

/** OAuth 2.1 section 4.1.3. */
export const authorizationCode: GrantHandler = async (asked, state) => {
  const { params, jkt } = asked
  const client = needClient(asked)
  const { family, request } = state.requests.useCode(params.require('code'), {
    clientId: client.client_id,
    redirectUri: params.get('redirect_uri'),
    codeVerifier: params.require('code_verifier'),
    jkt,
  })
  const resource = narrowedResource(params, family.grant.resource, state.settings)
  return replyWithTokens({ family, client, resource, jkt, nonce: request.nonce, withRefreshToken: true }, state)
}
