import type { RequestHandler, Response } from 'express'
import { localhostAllowedHostnames, validateHostHeader } from '../server/middleware/host-validation.ts'
import { localhostAllowedOrigins, validateOriginHeader } from '../server/middleware/origin-validation.ts'
import { refusalBody } from '../server/middleware/refusal.ts'

/** Refuses requests for other hosts than these, which are names without ports. */
export function hostHeaderValidation(allowedHostnames: string[]): RequestHandler {
  return (req, res, next) => decide(validateHostHeader(req.headers.host, allowedHostnames), res, next)
}

export function localhostHostValidation(): RequestHandler {
  return hostHeaderValidation(localhostAllowedHostnames())
}

/** Refuses requests of web pages from other hosts than these. */
export function originValidation(allowedOriginHostnames: string[]): RequestHandler {
  return (req, res, next) => decide(validateOriginHeader(req.headers.origin, allowedOriginHostnames), res, next)
}

export function localhostOriginValidation(): RequestHandler {
  return originValidation(localhostAllowedOrigins())
}

function decide(result: { ok: true } | { ok: false; message: string }, res: Response, next: () => void): void {
  if (result.ok) next()
  else res.status(403).json(refusalBody(result.message))
}
