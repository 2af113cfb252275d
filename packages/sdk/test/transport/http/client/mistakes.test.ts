import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import { createServer as createSecureServer } from 'node:https'
import { type AddressInfo, createServer as createTcpServer, type Server } from 'node:net'
import { connect, HttpError } from 'tenon/client'
import { createMcpHandler, McpServer, serveHttp } from 'tenon/server'
import { describe, expect, it } from 'vitest'
import { certificate } from './certificate.ts'

const page = '<!doctype html><html><head><title>Welcome</title></head></html>'

async function listening(server: Server) {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    host: `127.0.0.1:${port}`,
    [Symbol.asyncDispose]: () => new Promise<void>((resolve) => void server.close(() => resolve())),
  }
}

const plain = (listener: RequestListener) => listening(createServer({ keepAlive: false }, listener))

const answering = (status: number, type: string, body: string) =>
  plain((_request, response) => {
    response.writeHead(status, { 'content-type': type, connection: 'close' })
    response.end(body)
  })

async function failureOf(work: Promise<unknown>): Promise<HttpError> {
  const error = await work.then(
    () => undefined,
    (reason: unknown) => reason,
  )
  expect(error).toBeInstanceOf(HttpError)
  return error as HttpError
}

const ports: [string, object][] = [
  ['node:http', {}],
  ['fetch', { fetch: globalThis.fetch }],
]

describe.each(ports)('with %s, the error for', (_name, options) => {
  const failing = (url: string) => failureOf(connect(url, { ...options, reconnect: { maxRetries: 0 } }))

  it('https: to a server without TLS suggests the http: URL', async () => {
    await using server = await answering(200, 'text/plain', 'hello')
    const error = await failing(`https://${server.host}/mcp`)
    expect(error.message).toContain(
      `Cannot connect to https://${server.host}/mcp: the server does not use TLS on this port. Use http://${server.host}/mcp instead`,
    )
    expect(error.outcome).toBe('not-sent')
  })

  it('http: to a server with TLS suggests the https: URL', async () => {
    await using server = await listening(createSecureServer(certificate))
    const error = await failing(`http://${server.host}/mcp`)
    expect(error.message).toContain(`If it uses TLS, connect to https://${server.host}/mcp`)
  })

  it('http: to a TLS proxy that answers with an HTML page suggests the https: URL', async () => {
    const said = '<html><body>400 The plain HTTP request was sent to HTTPS port</body></html>'
    await using server = await answering(400, 'text/html', said)
    const error = await failing(`http://${server.host}/mcp`)
    expect(error.message).toContain(`If it uses TLS, connect to https://${server.host}/mcp`)
  })

  it('an untrusted certificate explains how to fix it', async () => {
    await using server = await listening(createSecureServer(certificate))
    const error = await failing(`https://${server.host}/mcp`)
    expect(error.message).toContain(
      `Cannot connect to https://${server.host}/mcp: the certificate of the server is not trusted`,
    )
    expect(error.message).toMatch(/NODE_EXTRA_CA_CERTS.* \([A-Z_]+\)$/)
    expect(error.outcome).toBe('not-sent')
  })

  it('a port where nothing listens says to start the server, without words of the protocol', async () => {
    const server = await answering(200, 'text/plain', 'hello')
    await server[Symbol.asyncDispose]()
    const error = await failing(`http://${server.host}/mcp`)
    expect(error.message).toBe(
      `Cannot connect to http://${server.host}/mcp: nothing is listening on ${server.host}. Start the server, or check the host and the port of the URL (ECONNREFUSED)`,
    )
  })

  it('a refusal with a JSON body quotes its message, not the JSON', async () => {
    const body = JSON.stringify({ error: 'invalid_token', error_description: 'The token is for another server' })
    await using server = await answering(403, 'application/json', body)
    expect((await failing(`http://${server.host}/mcp`)).message).toMatch(/HTTP 403: The token is for another server$/)
  })

  it('a server that does not speak HTTP names the cause', async () => {
    await using server = await listening(
      createTcpServer((socket) => {
        socket.on('error', () => {})
        socket.once('data', () => socket.end('SSH-2.0-OpenSSH_9.6\r\n'))
      }),
    )
    expect((await failing(`http://${server.host}/mcp`)).message).toContain('does not speak HTTP on this port')
  })

  it.each([200, 404])('a web page (HTTP %s) explains that it is not an MCP endpoint', async (status) => {
    await using server = await answering(status, 'text/html; charset=utf-8', page)
    const error = await failing(`http://${server.host}/`)
    expect(error.message).toContain('This is a web page, not an MCP endpoint: check the path of the URL')
    expect(error.message).toContain(`http://${server.host}/`)
    expect(error.message).toContain(`HTTP ${status}`)
  })

  it.each(['2025-11-25', '2026-07-28'] as const)(
    'a request that is too large names the limit (%s)',
    async (revision) => {
      const server = new McpServer({ name: 'small', version: '1' })
      server.registerTool('echo', {}, () => 'done')
      await using serving = await serveHttp(server, { port: 0, maxBodyBytes: 2_000 })
      await using client = await connect(serving.url, { ...options, revision })
      const error = await client.callTool('echo', { text: 'x'.repeat(5_000) }).catch((reason) => reason)
      expect(error.message).toContain('larger than 2000 bytes (maxBodyBytes)')
    },
  )

  it('a proxy that rejects a large request explains how to fix it', async () => {
    const handler = createMcpHandler(new McpServer({ name: 'behind', version: '1' }, { capabilities: { tools: {} } }))
    await using server = await plain((request, response) => {
      if (Number(request.headers['content-length']) < 2_000) return void handler.node(request, response)
      response.writeHead(413, { 'content-type': 'text/html', connection: 'close' })
      response.end('<html><h1>413 Request Entity Too Large</h1></html>')
    })
    const client = await connect(`http://${server.host}/mcp`, options)
    const error = await failureOf(client.callTool('echo', { text: 'x'.repeat(5_000) }))
    expect(error).toMatchObject({ status: 413, outcome: 'refused' })
    expect(error.message).toContain('The request is larger than the server accepts')
    await client.close()
    await handler.close(0)
  })

  it('a server that rejects a long name in a header explains what the header repeats [HDR-002]', async () => {
    const handler = createMcpHandler(
      new McpServer({ name: 'behind', version: '1' }, { capabilities: { resources: {} } }),
    )
    await using server = await plain((request, response) => {
      if ((request.headers['mcp-name'] ?? '').length < 2_000) return void handler.node(request, response)
      response.writeHead(431, { connection: 'close' })
      response.end()
    })
    const client = await connect(`http://${server.host}/mcp`, { ...options, revision: '2026-07-28' })
    const error = await failureOf(client.readResource(`note://${'x'.repeat(5_000)}`))
    expect(error).toMatchObject({ status: 431, outcome: 'refused' })
    expect(error.message).toContain('The headers are larger than the server accepts')
    expect(error.message).toContain('Mcp-Name')
    await client.close()
    await handler.close(0)
  })

  it('a server that rejects the first request as too large names the size as the cause', async () => {
    await using server = await answering(413, 'text/plain', 'no')
    const error = await failing(`http://${server.host}/mcp`)
    expect(error).toMatchObject({ status: 413 })
    expect(error.message).toContain('The request is larger than the server accepts')
  })
})

it('connect() rejects a test identity passed as auth and names the functions to use', async () => {
  const auth = { subject: 'alice', scopes: [] } as never
  await expect(connect('http://127.0.0.1:9/mcp', { auth })).rejects.toThrow('Pass oauth(), bearer(token)')
})

it('an unknown host name is reported as unreachable without retries', async () => {
  let attempts = 0
  const fetch = async () => {
    attempts++
    throw Object.assign(new TypeError('fetch failed'), { cause: { code: 'ENOTFOUND' } })
  }
  const error = await failureOf(connect('http://nowhere.example/mcp', { fetch }))
  expect(error).toMatchObject({
    outcome: 'not-sent',
    message: expect.stringContaining('there is no host named "nowhere.example"'),
  })
  expect(attempts).toBe(1)
})
