import express, { type Express } from 'express'
import { localAddresses, warnIfOpen } from '../server/middleware/refusal.ts'
import {
  hostHeaderValidation,
  localhostHostValidation,
  localhostOriginValidation,
  originValidation,
} from './validation.ts'

export interface CreateMcpExpressAppOptions {
  /** The address that the program listens on. Default `127.0.0.1`, for which only local hosts and origins are accepted. */
  host?: string
  /** The host names that are accepted, without ports. */
  allowedHosts?: string[]
  /** The host names of web pages that are accepted. */
  allowedOrigins?: string[]
  /** The largest JSON body, such as `1mb`. Default `100kb`. */
  jsonLimit?: string
}

/** Creates an Express application for MCP servers: it checks host and origin, and parses JSON bodies. */
export function createMcpExpressApp(options: CreateMcpExpressAppOptions = {}): Express {
  const { host = '127.0.0.1', allowedHosts, allowedOrigins, jsonLimit } = options
  const isLocal = localAddresses.includes(host)
  const app = express()
  if (allowedHosts) app.use(hostHeaderValidation(allowedHosts))
  else if (isLocal) app.use(localhostHostValidation())
  else warnIfOpen(host)
  if (allowedOrigins) app.use(originValidation(allowedOrigins))
  else if (isLocal) app.use(localhostOriginValidation())
  // After the checks, so that the body of a refused request is not read.
  app.use(express.json(jsonLimit ? { limit: jsonLimit } : undefined))
  return app
}
