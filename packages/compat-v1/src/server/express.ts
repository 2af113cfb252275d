import express, { type Express } from 'express'
import { hostHeaderValidation, localhostHostValidation } from './middleware/hostHeaderValidation.ts'

/** Options of `createMcpExpressApp`. */
export interface CreateMcpExpressAppOptions {
  /** The address that the program listens on. Default `127.0.0.1`, for which only local host names are accepted. */
  host?: string | undefined
  /** The host names that are accepted, without ports. Default: local ones if `host` is local, otherwise any. */
  allowedHosts?: string[] | undefined
}

/** Creates an Express application for MCP servers: it checks the `Host` header and parses JSON bodies. */
export function createMcpExpressApp({ host = '127.0.0.1', allowedHosts }: CreateMcpExpressAppOptions = {}): Express {
  const app = express()
  if (allowedHosts) app.use(hostHeaderValidation(allowedHosts))
  else if (['127.0.0.1', 'localhost', '::1'].includes(host)) app.use(localhostHostValidation())
  else if (host === '0.0.0.0' || host === '::') warnOpen(host)
  // After the check, so that the body of a refused request is not read.
  app.use(express.json())
  return app
}

function warnOpen(host: string): void {
  console.warn(
    `Warning: Server is binding to ${host} without DNS rebinding protection. ` +
      'Consider using the allowedHosts option to restrict allowed hosts, or use authentication to protect your server.',
  )
}
