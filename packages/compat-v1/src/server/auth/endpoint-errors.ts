import type { Response } from 'express'
import { OAuthError, ServerError } from './errors.ts'

/** Answers with an error. Those that are not OAuth errors stay hidden. */
export function sendError(res: Response, error: unknown): void {
  const known = toOAuthError(error)
  res.status(known instanceof ServerError ? 500 : 400).json(known.toResponseObject())
}

/** Returns the error that clients see. */
export function toOAuthError(error: unknown): OAuthError {
  return error instanceof OAuthError ? error : new ServerError('Internal Server Error')
}
