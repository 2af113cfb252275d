// Programs for the official SDK 1.x, each with another way to keep callers out. The same source runs on both SDKs: this file is
// copied next to the drop-in packages. Every program serves a tool with a secret, which only callers with `Bearer good` may call.
import { randomUUID } from 'node:crypto'
import { createServer as createHttpServer } from 'node:http'
import { getRequestListener } from '@hono/node-server'
import { requireBearerAuth } from '@modelcontextprotocol/sdk/server/auth/middleware/bearerAuth.js'
import { mcpAuthRouter } from '@modelcontextprotocol/sdk/server/auth/router.js'
import { Server } from '@modelcontextprotocol/sdk/server/index.js'
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { SSEServerTransport } from '@modelcontextprotocol/sdk/server/sse.js'
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js'
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js'
import { WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js'
import {
  InitializeRequestSchema,
  isInitializeRequest,
  LATEST_PROTOCOL_VERSION,
  ListToolsRequestSchema,
  SubscribeRequestSchema,
} from '@modelcontextprotocol/sdk/types.js'
import express from 'express'

/** Calls of handlers, which the test reads to see whether a request came through. */
let reached = 0

function createServer() {
  const server = new McpServer(
    { name: 'gated', version: '1.0.0' },
    { instructions: 'secret instructions', capabilities: { resources: { subscribe: true } } },
  )
  server.registerTool('secret', {}, (extra) => {
    reached++
    return { content: [{ type: 'text', text: `secret of ${extra.sessionId === undefined ? 'nobody' : 'a session'}` }] }
  })
  server.server.setRequestHandler(SubscribeRequestSchema, () => {
    reached++
    return {}
  })
  return server
}

/** The result of `initialize`, for programs that answer it themselves. */
function initializeResult({ params }) {
  if (params.clientInfo.version !== 'licensed') throw new Error('No licence')
  return {
    protocolVersion: params.protocolVersion === '2026-07-28' ? LATEST_PROTOCOL_VERSION : params.protocolVersion,
    capabilities: { tools: {} },
    serverInfo: { name: 'gated', version: '1.0.0' },
  }
}

/** A server that lets only clients with a licence in, and counts a request as reached even if it is refused later. */
function createLicensedServer() {
  const server = createServer()
  server.server.setRequestHandler(InitializeRequestSchema, initializeResult)
  return server
}

const requireAuth = (req, res, next) => {
  if (req.headers.authorization === 'Bearer good') return next()
  res.status(401).json({ jsonrpc: '2.0', error: { code: -32001, message: 'Unauthorized' }, id: null })
}

const noSession = (res) =>
  res.status(400).json({ jsonrpc: '2.0', error: { code: -32000, message: 'No valid session ID provided' }, id: null })

/** Serves sessions by a map, as the documentation of SDK 1.x shows it. */
function sessionMap(create = createServer) {
  const transports = new Map()
  const handle = async (req, res) => {
    const sessionId = req.headers['mcp-session-id']
    let transport = transports.get(sessionId)
    if (!transport && !sessionId && isInitializeRequest(req.body)) {
      transport = new StreamableHTTPServerTransport({
        sessionIdGenerator: () => randomUUID(),
        onsessioninitialized: (id) => void transports.set(id, transport),
      })
      transport.onclose = () => transports.delete(transport.sessionId)
      await create().connect(transport)
    }
    if (!transport) return noSession(res)
    await transport.handleRequest(req, res, req.body)
  }
  return { handle, transports }
}

/** Serves every request with a transport of its own and without sessions. */
function perRequest(create = createServer) {
  return async (req, res) => {
    const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: undefined })
    const server = create()
    res.on('close', () => void server.close())
    await server.connect(transport)
    await transport.handleRequest(req, res, req.body)
  }
}

function appWith(use) {
  const app = express()
  app.use(express.json())
  use(app)
  return app
}

async function oneTransport(create = createServer, options = {}) {
  const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: () => randomUUID(), ...options })
  await create().connect(transport)
  return (req, res) => transport.handleRequest(req, res, req.body)
}

/** Each makes what listens for requests. */
const gates = {
  'middleware by body, session map': () =>
    appWith((app) => {
      const gate = (req, res, next) => (isInitializeRequest(req.body) ? next() : requireAuth(req, res, next))
      app.all('/mcp', gate, sessionMap().handle)
    }),
  'middleware by body, a server for each request': () =>
    appWith((app) => {
      const gate = (req, res, next) => (isInitializeRequest(req.body) ? next() : requireAuth(req, res, next))
      app.all('/mcp', gate, perRequest())
    }),
  'middleware by method, one transport': async () => {
    const handle = await oneTransport()
    return appWith((app) => {
      const isOpen = ({ body }) => body?.method !== 'tools/call' && !Array.isArray(body)
      app.all('/mcp', (req, res, next) => (isOpen(req) ? next() : requireAuth(req, res, next)), handle)
    })
  },
  'middleware by session header, a transport for each request without one': () =>
    appWith((app) => {
      const transports = new Map()
      // Without a session only `initialize` is possible, which anybody may send.
      const gate = (req, res, next) => (req.headers['mcp-session-id'] ? requireAuth(req, res, next) : next())
      app.all('/mcp', gate, async (req, res) => {
        const sessionId = req.headers['mcp-session-id']
        if (sessionId && !transports.has(sessionId)) return noSession(res)
        if (sessionId) return transports.get(sessionId).handleRequest(req, res, req.body)
        const transport = new StreamableHTTPServerTransport({
          sessionIdGenerator: () => randomUUID(),
          onsessioninitialized: (id) => void transports.set(id, transport),
        })
        await createServer().connect(transport)
        await transport.handleRequest(req, res, req.body)
      })
    }),
  'middleware by version header, session map': () =>
    appWith((app) => {
      const gate = (req, res, next) => (req.headers['mcp-protocol-version'] ? requireAuth(req, res, next) : next())
      app.all('/mcp', gate, sessionMap().handle)
    }),
  'route of its own for sessions': () =>
    appWith((app) => {
      const { handle } = sessionMap()
      app.post('/mcp', (req, res, next) => {
        if (req.headers['mcp-session-id']) return requireAuth(req, res, next)
        if (isInitializeRequest(req.body)) return next()
        noSession(res)
      })
      app.all('/mcp', handle)
    }),
  'session map': () => appWith((app) => app.all('/mcp', sessionMap().handle)),
  // The branch that the documentation of the drop-in package shows.
  'session map, with a branch for 2026-07-28 behind a token': () =>
    appWith((app) => {
      const answer = perRequest()
      app.post('/mcp', (req, res, next) => {
        if (req.headers['mcp-protocol-version'] !== '2026-07-28') return next()
        requireAuth(req, res, () => answer(req, res))
      })
      app.all('/mcp', sessionMap().handle)
    }),
  'session map, registered early': () =>
    appWith((app) => {
      const sessions = new Map()
      app.all('/mcp', async (req, res) => {
        const sessionId = req.headers['mcp-session-id']
        if (sessionId) {
          const known = sessions.get(sessionId)
          return known ? known.handleRequest(req, res, req.body) : noSession(res)
        }
        if (!isInitializeRequest(req.body)) return noSession(res)
        const id = randomUUID()
        const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: () => id })
        sessions.set(id, transport)
        transport.onclose = () => sessions.delete(id)
        await createServer().connect(transport)
        await transport.handleRequest(req, res, req.body)
      })
    }),
  'session map, web standard': () => {
    const transports = new Map()
    const answer = async (request) => {
      const body = request.method === 'POST' ? await request.json().catch(() => undefined) : undefined
      const sessionId = request.headers.get('mcp-session-id')
      let transport = transports.get(sessionId)
      if (!transport && !sessionId && isInitializeRequest(body)) {
        transport = new WebStandardStreamableHTTPServerTransport({
          sessionIdGenerator: () => randomUUID(),
          onsessioninitialized: (id) => void transports.set(id, transport),
        })
        await createServer().connect(transport)
      }
      if (!transport) return Response.json({ error: 'No session' }, { status: 400 })
      return transport.handleRequest(request, { parsedBody: body })
    }
    return getRequestListener(answer)
  },
  'one transport with a session generator': async () => {
    const handle = await oneTransport()
    return appWith((app) => app.all('/mcp', handle))
  },
  'one transport with a session generator, JSON responses': async () => {
    const handle = await oneTransport(createServer, { enableJsonResponse: true })
    return appWith((app) => app.all('/mcp', handle))
  },
  'one transport with a session generator, web standard': async () => {
    const transport = new WebStandardStreamableHTTPServerTransport({ sessionIdGenerator: () => randomUUID() })
    await createServer().connect(transport)
    return getRequestListener((request) => transport.handleRequest(request))
  },
  'initialize handler, session map': () => appWith((app) => app.all('/mcp', sessionMap(createLicensedServer).handle)),
  'initialize handler, a server for each request': () =>
    appWith((app) => app.all('/mcp', perRequest(createLicensedServer))),
  'initialize handler set after connect, a server for each request': () =>
    appWith((app) =>
      app.all('/mcp', async (req, res) => {
        const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: undefined })
        const server = createServer()
        await server.connect(transport)
        server.server.setRequestHandler(InitializeRequestSchema, initializeResult)
        await transport.handleRequest(req, res, req.body)
      }),
    ),
  'initialize handler put into the map, a server for each request': () =>
    appWith((app) => {
      const create = () => {
        const server = createServer()
        server.server._requestHandlers.set('initialize', async (request) => initializeResult(request))
        return server
      }
      app.all('/mcp', perRequest(create))
    }),
  'initialize overridden in a subclass, a server for each request': () =>
    appWith((app) => {
      class Licensed extends Server {
        async _oninitialize(request) {
          return initializeResult(request)
        }
      }
      const create = () => {
        const server = new Licensed({ name: 'gated', version: '1.0.0' }, { capabilities: { tools: {} } })
        server.setRequestHandler(ListToolsRequestSchema, () => {
          reached++
          return { tools: [] }
        })
        return server
      }
      app.all('/mcp', perRequest(create))
    }),
  'onmessage in place of a server': () =>
    appWith((app) =>
      app.all('/mcp', async (req, res) => {
        const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: undefined })
        transport.onmessage = async (message) => {
          if (message.id === undefined) return
          reached++
          const isLicensed = message.method !== 'initialize' || message.params.clientInfo.version === 'licensed'
          const outcome = isLicensed ? { result: {} } : { error: { code: -32000, message: 'No licence' } }
          await transport.send({ jsonrpc: '2.0', id: message.id, ...outcome })
        }
        await transport.start()
        await transport.handleRequest(req, res, req.body)
      }),
    ),
  'wrapped transport, a server for each request': () =>
    appWith((app) =>
      app.all('/mcp', async (req, res) => {
        const inner = new StreamableHTTPServerTransport({ sessionIdGenerator: undefined })
        const wrapper = {
          start: () => {
            inner.onmessage = (message, extra) => wrapper.onmessage?.(message, extra)
            inner.onclose = () => wrapper.onclose?.()
            return inner.start()
          },
          send: (message, options) => inner.send(message, options),
          close: () => inner.close(),
        }
        await createServer().connect(wrapper)
        await inner.handleRequest(req, res, req.body)
      }),
    ),
  'onmessage wrapper, a server for each request': () =>
    appWith((app) =>
      app.all('/mcp', async (req, res) => {
        const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: undefined })
        const server = createServer()
        await server.connect(transport)
        const { onmessage } = transport
        transport.onmessage = (message, extra) => {
          const isOpen = message.method === 'initialize' || message.method === 'notifications/initialized'
          if (isOpen || req.headers.authorization === 'Bearer good') return onmessage.call(transport, message, extra)
          throw new Error('Unauthorized')
        }
        await transport.handleRequest(req, res, req.body)
      }),
    ),
  'auth router, session map': () =>
    appWith((app) => {
      const issuerUrl = new URL('https://auth.example.com')
      app.use(mcpAuthRouter({ provider, issuerUrl }))
      app.all('/mcp', requireBearerAuth({ verifier: provider }), sessionMap().handle)
    }),
  'auth router that lets initialize through, session map': () =>
    appWith((app) => {
      const bearer = requireBearerAuth({ verifier: provider })
      app.all('/mcp', (req, res, next) => (isInitializeRequest(req.body) ? next() : bearer(req, res, next)))
      app.all('/mcp', sessionMap().handle)
    }),
  'auth router, a server for each request': () =>
    appWith((app) => app.all('/mcp', requireBearerAuth({ verifier: provider }), perRequest())),
  'HTTP+SSE': () => sseApp(createServer),
  'initialize handler, HTTP+SSE': () => sseApp(createLicensedServer),
  'no gate, a server for each request': () => appWith((app) => app.all('/mcp', perRequest())),
}

const provider = {
  clientsStore: { getClient: () => undefined },
  verifyAccessToken: async (token) => {
    if (token !== 'good') throw Object.assign(new Error('Invalid token'), { name: 'InvalidTokenError' })
    return { token, clientId: 'a', scopes: [], expiresAt: Date.now() / 1000 + 3_600 }
  },
}

/** The client gets the answers to its POSTs on the stream of its GET. */
function sseApp(create) {
  return appWith((app) => {
    const transports = new Map()
    app.get('/mcp', async (_req, res) => {
      const transport = new SSEServerTransport('/messages', res)
      transports.set(transport.sessionId, transport)
      await create().connect(transport)
    })
    app.post('/messages', async (req, res) => {
      const transport = transports.get(req.query.sessionId)
      if (!transport) return noSession(res)
      await transport.handlePostMessage(req, res, req.body)
    })
  })
}

const [name] = process.argv.slice(2)
if (name === 'stdio') await createServer().connect(new StdioServerTransport())
else if (name === 'stdio with an initialize handler') await createLicensedServer().connect(new StdioServerTransport())
else if (name === 'http') await serveAll()

async function serveAll() {
  const urls = {}
  for (const [gate, create] of Object.entries(gates)) urls[gate] = await serve(await create())
  const control = await serve((_request, response) => {
    response.end(String(reached))
    reached = 0
  })
  // A program that goes on after a rejected promise, as with a logger for them.
  process.on('unhandledRejection', () => {})
  // The parent is gone.
  process.stdin.on('close', () => process.exit()).resume()
  process.stdout.write(`${JSON.stringify({ urls, control })}\n`)
}

async function serve(listener) {
  const server = createHttpServer(listener)
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  return `http://127.0.0.1:${server.address().port}/mcp`
}
