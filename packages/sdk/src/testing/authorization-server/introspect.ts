import { jsonResponse } from '../../auth/http.ts'
import { OAuthError } from '../../auth/server/oauth-error.ts'
import { authenticate } from './client-auth.ts'
import type { Endpoint } from './state.ts'

/** RFC 7662. Callers must be confidential clients, so that tokens cannot be guessed by trial. */
export const introspect: Endpoint = async (call, state) => {
  const asker = await authenticate(call, state)
  if (asker.token_endpoint_auth_method === 'none') {
    throw new OAuthError('invalid_client', 'Only confidential clients can introspect tokens', 401)
  }
  const found = await state.tokens.inspect(call.params.require('token'))
  if (!found) return jsonResponse({ active: false })
  const { claims, isRefreshToken } = found
  const kind = claims.cnf === undefined ? 'Bearer' : 'DPoP'
  return jsonResponse({ active: true, ...claims, username: claims.sub, ...(!isRefreshToken && { token_type: kind }) })
}
