import { randomUUID } from 'node:crypto'

/** A `node:http` listener with its own server and transport for every session, as in the official guides. */
export function serveSessions(createServer, Transport) {
  const transports = new Map()
  return async (request, response, parsedBody) => {
    const id = request.headers['mcp-session-id']
    const known = id === undefined ? await open() : transports.get(id)
    if (known) await known.handleRequest(request, response, parsedBody)
    else response.writeHead(404, { 'content-type': 'application/json' }).end(notFound)
  }

  async function open() {
    const transport = new Transport({
      sessionIdGenerator: () => randomUUID(),
      onsessioninitialized: (id) => {
        transports.set(id, transport)
      },
      onsessionclosed: (id) => {
        transports.delete(id)
      },
    })
    await createServer().connect(transport)
    return transport
  }
}

const notFound = '{"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"Session not found"}}'
