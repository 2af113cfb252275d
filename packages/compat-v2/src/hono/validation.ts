import type { MiddlewareHandler } from 'hono'
import { localhostAllowedHostnames, validateHostHeader } from '../server/middleware/host-validation.ts'
import { localhostAllowedOrigins, validateOriginHeader } from '../server/middleware/origin-validation.ts'
import { refusalBody } from '../server/middleware/refusal.ts'

/** Refuses requests for other hosts than these, which are names without ports. */
export function hostHeaderValidation(allowedHostnames: string[]): MiddlewareHandler {
  return async (c, next) => {
    const result = validateHostHeader(c.req.header('host'), allowedHostnames)
    return result.ok ? next() : c.json(refusalBody(result.message), 403)
  }
}

export function localhostHostValidation(): MiddlewareHandler {
  return hostHeaderValidation(localhostAllowedHostnames())
}

/** Refuses requests of web pages from other hosts than these. */
export function originValidation(allowedOriginHostnames: string[]): MiddlewareHandler {
  return async (c, next) => {
    const result = validateOriginHeader(c.req.header('origin'), allowedOriginHostnames)
    return result.ok ? next() : c.json(refusalBody(result.message), 403)
  }
}

export function localhostOriginValidation(): MiddlewareHandler {
  return originValidation(localhostAllowedOrigins())
}
