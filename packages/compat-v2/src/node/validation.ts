import type { IncomingMessage, ServerResponse } from 'node:http'
import { localhostAllowedHostnames, validateHostHeader } from '../server/middleware/host-validation.ts'
import { localhostAllowedOrigins, validateOriginHeader } from '../server/middleware/origin-validation.ts'
import { refusalBody } from '../server/middleware/refusal.ts'

/** Returns true if the request may pass. Otherwise the response was sent. */
export type RequestGuard = (req: IncomingMessage, res: ServerResponse) => boolean

/** Refuses requests for other hosts than these, which are names without ports. */
export function hostHeaderValidation(allowedHostnames: string[]): RequestGuard {
  return (req, res) => passes(validateHostHeader(req.headers.host, allowedHostnames), res)
}

export function localhostHostValidation(): RequestGuard {
  return hostHeaderValidation(localhostAllowedHostnames())
}

/** Refuses requests of web pages from other hosts than these. */
export function originValidation(allowedOriginHostnames: string[]): RequestGuard {
  return (req, res) => passes(validateOriginHeader(req.headers.origin, allowedOriginHostnames), res)
}

export function localhostOriginValidation(): RequestGuard {
  return originValidation(localhostAllowedOrigins())
}

function passes(result: { ok: true } | { ok: false; message: string }, res: ServerResponse): boolean {
  if (result.ok) return true
  res.writeHead(403, { 'Content-Type': 'application/json' })
  res.end(JSON.stringify(refusalBody(result.message)))
  return false
}
