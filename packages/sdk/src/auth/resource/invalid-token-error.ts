/** Throw this in your own token verifier to reject a token. Returning undefined does the same. */
export class InvalidTokenError extends Error {
  override name = 'InvalidTokenError'
  readonly errorCode = 'invalid_token'
}
