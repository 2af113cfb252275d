import { jsonResponse } from '../../auth/http.ts'
import { OAuthError } from '../../auth/server/oauth-error.ts'
import { authenticate } from './client-auth.ts'
import type { Endpoint } from './state.ts'

/** RFC 7662. Whoever asks must be able to prove who it is, so that nobody can try tokens out. */
export const introspect: Endpoint = async (call, state) => {
  const asker = await authenticate(call, state)
  if (asker.token_endpoint_auth_method === 'none') {
    throw new OAuthError('invalid_client', 'Only a client that can prove who it is may ask about tokens', 401)
  }
  const found = await state.tokens.inspect(call.params.require('token'))
  if (!found) return jsonResponse({ active: false })
  const { claims, isRefreshToken } = found
  const kind = claims.cnf === undefined ? 'Bearer' : 'DPoP'
  return jsonResponse({ active: true, ...claims, username: claims.sub, ...(!isRefreshToken && { token_type: kind }) })
}
