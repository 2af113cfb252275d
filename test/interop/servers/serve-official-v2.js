import { createServer as createHttpServer } from 'node:http'
import { parseArgs } from 'node:util'
import { NodeStreamableHTTPServerTransport, toNodeHandler, toWebRequest } from '@modelcontextprotocol/node'
import { createMcpHandler, isLegacyRequest } from '@modelcontextprotocol/server'
import { serveStdio } from '@modelcontextprotocol/server/stdio'
import { serveSessions } from './sessions.js'

/**
 * Serves over stdio, or as the command line says: `--http sessions` or `--http stateless`. `--legacy reject` serves
 * 2026-07-28 only.
 *
 * @returns Functions that notify subscribers, if a single server cannot do that.
 */
export function serve(createServer) {
  const { http, legacy } = parseArgs({ options: { http: { type: 'string' }, legacy: { type: 'string' } } }).values
  if (!http) return void serveStdio(createServer, { legacy: legacy ?? 'serve' })
  const handler = createMcpHandler(createServer, { legacy: http === 'sessions' ? 'reject' : (legacy ?? 'stateless') })
  const listener = toNodeHandler(handler)
  createHttpServer(http === 'sessions' ? withSessions(createServer, listener) : listener).listen(0)
  return handler.notify
}

/** 2026-07-28 with the handler, earlier revisions with sessions, as in the documentation of isLegacyRequest. */
function withSessions(createServer, modern) {
  const legacy = serveSessions(() => createServer({ era: 'legacy' }), NodeStreamableHTTPServerTransport)
  return async (request, response) => {
    if (request.method !== 'POST') return legacy(request, response)
    const web = await toWebRequest(request)
    const isLegacy = await isLegacyRequest(web)
    const body = await web.json()
    await (isLegacy ? legacy : modern)(request, response, body)
  }
}
