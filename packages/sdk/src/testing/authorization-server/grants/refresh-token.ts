import { narrowedScope } from '../../../auth/server/params.ts'
import { narrowedResource } from '../asked.ts'
import { replyWithTokens } from '../token-reply.ts'
import { type GrantHandler, needClient } from './grant.ts'

/** OAuth 2.1 section 4.3. */
export const refreshToken: GrantHandler = async (asked, state) => {
  const { params, jkt } = asked
  const client = needClient(asked)
  const token = params.require('refresh_token')
  const family = state.tokens.findRefreshToken(token, client.client_id, jkt)
  // Validates the request before the token is used up.
  const scope = narrowedScope(params, family.grant.scope)
  const resource = narrowedResource(params, family.grant.resource, state.settings)
  state.tokens.markUsed(token)
  const withRefreshToken = state.settings.rotateRefreshTokens
  return replyWithTokens({ family, client, scope, resource, jkt, withRefreshToken }, state)
}
