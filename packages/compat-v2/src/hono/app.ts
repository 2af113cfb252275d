import { type Context, Hono } from 'hono'
import { localAddresses, warnIfOpen } from '../server/middleware/refusal.ts'
import { isJsonContentType } from '../server/request-body.ts'
import {
  hostHeaderValidation,
  localhostHostValidation,
  localhostOriginValidation,
  originValidation,
} from './validation.ts'

export interface CreateMcpHonoAppOptions {
  /** The address that the program listens on. Default `127.0.0.1`, for which only local hosts and origins are accepted. */
  host?: string
  /** The host names that are accepted, without ports. */
  allowedHosts?: string[]
  /** The host names of web pages that are accepted. */
  allowedOrigins?: string[]
}

/** Creates a Hono application for MCP servers: it checks host and origin, and leaves parsed JSON in `c.get('parsedBody')`. */
export function createMcpHonoApp(options: CreateMcpHonoAppOptions = {}): Hono {
  const { host = '127.0.0.1', allowedHosts, allowedOrigins } = options
  const isLocal = localAddresses.includes(host)
  const app = new Hono()
  if (allowedHosts) app.use('*', hostHeaderValidation(allowedHosts))
  else if (isLocal) app.use('*', localhostHostValidation())
  else warnIfOpen(host)
  if (allowedOrigins) app.use('*', originValidation(allowedOrigins))
  else if (isLocal) app.use('*', localhostOriginValidation())
  // After the checks, so that the body of a refused request is not read.
  app.use('*', parseJson)
  return app
}

async function parseJson(c: Context, next: () => Promise<void>): Promise<Response | undefined> {
  if (c.get('parsedBody') === undefined && isJsonContentType(c.req.header('content-type'))) {
    try {
      // A copy is read, because handlers may read the request themselves.
      c.set('parsedBody', await c.req.raw.clone().json())
    } catch {
      return c.text('Invalid JSON', 400)
    }
  }
  await next()
  return undefined
}
