// Programs for the official packages 2.x, which answer 2026-07-28 themselves where they want to. Copied next to the drop-in
// packages, like `gate-programs.js`.
import { randomUUID } from 'node:crypto'
import { createServer as createHttpServer } from 'node:http'
import { NodeStreamableHTTPServerTransport, toNodeHandler } from '@modelcontextprotocol/node'
import { createMcpHandler, isInitializeRequest, McpServer } from '@modelcontextprotocol/server'
import express from 'express'

let reached = 0

function createServer() {
  const server = new McpServer(
    { name: 'gated', version: '1.0.0' },
    { instructions: 'secret instructions', capabilities: { resources: { subscribe: true } } },
  )
  server.registerTool('secret', {}, () => {
    reached++
    return { content: [{ type: 'text', text: 'secret of the server' }] }
  })
  return server
}

function createLicensedServer() {
  const server = createServer()
  server.server.setRequestHandler('initialize', ({ params }) => {
    if (params.clientInfo.version !== 'licensed') throw new Error('No licence')
    return {
      protocolVersion: params.protocolVersion === '2026-07-28' ? '2025-11-25' : params.protocolVersion,
      capabilities: { tools: {} },
      serverInfo: { name: 'gated', version: '1.0.0' },
    }
  })
  return server
}

const requireAuth = (req, res, next) => {
  if (req.headers.authorization === 'Bearer good') return next()
  res.status(401).json({ jsonrpc: '2.0', error: { code: -32001, message: 'Unauthorized' }, id: null })
}

function sessionMap(create = createServer) {
  const transports = new Map()
  return async (req, res) => {
    const sessionId = req.headers['mcp-session-id']
    let transport = transports.get(sessionId)
    if (!transport && !sessionId && isInitializeRequest(req.body)) {
      transport = new NodeStreamableHTTPServerTransport({
        sessionIdGenerator: () => randomUUID(),
        onsessioninitialized: (id) => void transports.set(id, transport),
      })
      await create().connect(transport)
    }
    if (!transport) return res.status(400).json({ error: 'No session' })
    await transport.handleRequest(req, res, req.body)
  }
}

function perRequest(create = createServer) {
  return async (req, res) => {
    const transport = new NodeStreamableHTTPServerTransport({ sessionIdGenerator: undefined })
    const server = create()
    res.on('close', () => void server.close())
    await server.connect(transport)
    await transport.handleRequest(req, res, req.body)
  }
}

function appWith(...handlers) {
  const app = express()
  app.use(express.json())
  app.all('/mcp', ...handlers)
  return app
}

const handlerOf = (options, create = createServer) => {
  const listener = toNodeHandler(createMcpHandler(create, options))
  return (req, res) => listener(req, res, req.body)
}

const gates = {
  '2.x, session map': () => appWith(sessionMap()),
  '2.x, middleware by body, session map': () =>
    appWith((req, res, next) => (isInitializeRequest(req.body) ? next() : requireAuth(req, res, next)), sessionMap()),
  '2.x, initialize handler, session map': () => appWith(sessionMap(createLicensedServer)),
  '2.x, one transport with a session generator': async () => {
    const transport = new NodeStreamableHTTPServerTransport({ sessionIdGenerator: () => randomUUID() })
    await createServer().connect(transport)
    return appWith((req, res) => transport.handleRequest(req, res, req.body))
  },
  '2.x, a server for each request': () => appWith(perRequest()),
  '2.x, initialize handler, a server for each request': () => appWith(perRequest(createLicensedServer)),
  '2.x, createMcpHandler': () => appWith(handlerOf({})),
  '2.x, createMcpHandler that rejects earlier revisions': () => appWith(handlerOf({ legacy: 'reject' })),
  '2.x, createMcpHandler behind a token': () => appWith(requireAuth, handlerOf({})),
  '2.x, createMcpHandler behind middleware by body': () =>
    appWith((req, res, next) => (isInitializeRequest(req.body) ? next() : requireAuth(req, res, next)), handlerOf({})),
  '2.x, initialize handler, createMcpHandler': () => appWith(handlerOf({}, createLicensedServer)),
}

const urls = {}
for (const [gate, create] of Object.entries(gates)) urls[gate] = await serve(await create())
const control = await serve((_request, response) => {
  response.end(String(reached))
  reached = 0
})
process.on('unhandledRejection', () => {})
// The parent is gone.
process.stdin.on('close', () => process.exit()).resume()
process.stdout.write(`${JSON.stringify({ urls, control })}\n`)

async function serve(listener) {
  const server = createHttpServer(listener)
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  return `http://127.0.0.1:${server.address().port}/mcp`
}
