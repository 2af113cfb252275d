import { OAUTH_ERRORS, type OAuthError, ServerError } from '../../server/auth/errors.ts'
import { OAuthErrorResponseSchema } from '../../shared/auth.ts'
import { describeRedirect } from './same-origin-fetch.ts'

/** Converts an OAuth error response (RFC 6749, 5.2) to the error class of its code. Anything else becomes a `ServerError`. */
export async function parseErrorResponse(input: Response | string): Promise<OAuthError> {
  const response = input instanceof Response ? input : undefined
  const body = response ? await response.text() : (input as string)
  try {
    const { error, error_description, error_uri } = OAuthErrorResponseSchema.parse(JSON.parse(body))
    const ErrorClass = Object.hasOwn(OAUTH_ERRORS, error) ? OAUTH_ERRORS[error]! : ServerError
    return new ErrorClass(error_description ?? '', error_uri)
  } catch (cause) {
    return new ServerError(describeFailure(response, body, cause))
  }
}

/** Explains a response that is not an OAuth error. */
export function describeFailure(response: Response | undefined, body: string, cause: unknown): string {
  const status = response ? `HTTP ${response.status}: ` : ''
  const redirect = response && describeRedirect(response)
  return status + (redirect ?? `Invalid OAuth error response: ${cause}. Raw body: ${body}`)
}
