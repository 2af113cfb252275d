import { randomUUID } from 'node:crypto'
import { readBody } from './stand.js'

// Serves both lines of the official packages with `node:http` on 2025-11-25, as in their examples.

/** A server and a transport for every request. */
export function perRequest(createServer, Transport) {
  return (request, response) =>
    readBody(request, async (body) => {
      const server = createServer()
      const transport = new Transport({ sessionIdGenerator: undefined, enableJsonResponse: true })
      response.on('close', () => {
        transport.close()
        server.close()
      })
      await server.connect(transport)
      await transport.handleRequest(request, response, body)
    })
}

/** A server and a transport for every session. */
export function perSession(createServer, Transport) {
  const transports = new Map()
  const open = async () => {
    const transport = new Transport({
      sessionIdGenerator: () => randomUUID(),
      enableJsonResponse: true,
      onsessioninitialized: (id) => transports.set(id, transport),
    })
    transport.onclose = () => transports.delete(transport.sessionId)
    await createServer().connect(transport)
    return transport
  }
  return (request, response) => {
    const known = transports.get(request.headers['mcp-session-id'])
    if (request.method !== 'POST') return known.handleRequest(request, response)
    readBody(request, async (body) => (known ?? (await open())).handleRequest(request, response, body))
  }
}
