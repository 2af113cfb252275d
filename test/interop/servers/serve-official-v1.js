import { createServer as createHttpServer } from 'node:http'
import { parseArgs } from 'node:util'
import { SSEServerTransport } from '@modelcontextprotocol/sdk/server/sse.js'
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js'
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js'
import { serveSessions } from './sessions.js'

/** Serves over stdio, or as the command line says: `--http sessions`, `--http stateless` or `--http sse`. */
export async function serve(createServer) {
  const { http } = parseArgs({ options: { http: { type: 'string' } } }).values
  if (!http) return createServer().connect(new StdioServerTransport())
  createHttpServer(ways[http](createServer)).listen(0)
}

const ways = {
  sessions: (createServer) => serveSessions(createServer, StreamableHTTPServerTransport),

  stateless: (createServer) => async (request, response) => {
    if (request.method !== 'POST') return response.writeHead(405).end()
    const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: undefined })
    response.on('close', () => transport.close())
    await createServer().connect(transport)
    await transport.handleRequest(request, response)
  },

  sse: (createServer) => {
    const transports = new Map()
    return async (request, response) => {
      const { pathname, searchParams } = new URL(request.url, 'http://localhost')
      if (request.method === 'GET' && pathname === '/sse') {
        const transport = new SSEServerTransport('/messages', response)
        transports.set(transport.sessionId, transport)
        await createServer().connect(transport)
      } else if (request.method === 'POST' && pathname === '/messages') {
        await transports.get(searchParams.get('sessionId')).handlePostMessage(request, response)
      } else {
        response.writeHead(404).end()
      }
    }
  },
}
