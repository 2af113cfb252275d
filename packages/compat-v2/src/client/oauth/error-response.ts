import { describeFailure } from '@tenon/compat-v1/client/oauth/error-response.js'
import { OAuthErrorResponseSchema } from '@tenon/compat-v1/shared/auth.js'
import { OAuthError, OAuthErrorCode } from '../../core/errors.ts'

/** Converts an OAuth error response (RFC 6749, 5.2). Anything else becomes a `server_error`. */
export async function parseErrorResponse(input: Response | string): Promise<OAuthError> {
  const response = input instanceof Response ? input : undefined
  const body = response ? await response.text() : (input as string)
  try {
    return OAuthError.fromResponse(OAuthErrorResponseSchema.parse(JSON.parse(body)))
  } catch (cause) {
    return new OAuthError(OAuthErrorCode.ServerError, describeFailure(response, body, cause))
  }
}
