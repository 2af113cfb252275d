import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, it } from 'vitest'
import { StreamableHTTPClientTransport } from '../../src/client/streamableHttp.ts'

const reconnectionOptions = {
  initialReconnectionDelay: 1,
  maxReconnectionDelay: 1,
  reconnectionDelayGrowFactor: 1,
  maxRetries: 2,
}
const initialized = { jsonrpc: '2.0', method: 'notifications/initialized' } as const
const call = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'x' } } as const

type Answer = (response: ServerResponse, count: number) => void

/** A server that answers GET and the POST of a request as told, and a transport that opened a session with it. */
async function connectTo({ get, post }: { get: Answer; post?: Answer }) {
  let gets = 0
  const server = createServer(async (request, response) => {
    if (request.method === 'GET') return get(response, ++gets)
    let text = ''
    for await (const chunk of request) text += chunk
    if ('id' in JSON.parse(text)) return post?.(response, 1)
    response.writeHead(202).end()
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const transport = new StreamableHTTPClientTransport(new URL(`http://127.0.0.1:${port}/mcp`), { reconnectionOptions })
  const errors: string[] = []
  transport.onerror = ({ message }) => errors.push(message)
  await transport.start()
  await transport.send(initialized)
  const close = async () => {
    await transport.close()
    server.closeAllConnections()
    server.close()
  }
  return { transport, errors, [Symbol.asyncDispose]: close }
}

const endedStream: Answer = (response) =>
  response.writeHead(200, { 'content-type': 'text/event-stream' }).end('id: 7\ndata:\n\n')
const refuse = (status: number) => (response: ServerResponse) => response.writeHead(status).end()

const refused = (text: string) => `Streamable HTTP error: Failed to open SSE stream: ${text}`
const exceeded = 'Maximum reconnection attempts (2) exceeded.'
const attempt = (text: string) => [text, `Failed to reconnect SSE stream: ${text}`]

it('reports every attempt to open the stream of the server again', async () => {
  const get: Answer = (response, count) => (count === 1 ? endedStream : refuse(503))(response, count)
  await using session = await connectTo({ get })
  const attempts = attempt(refused('Service Unavailable'))
  await expect.poll(() => session.errors).toEqual([...attempts, ...attempts, exceeded])
})

it('reports every attempt that fails without a response', async () => {
  const get: Answer = (response, count) => (count === 1 ? endedStream(response, 1) : response.destroy())
  await using session = await connectTo({ get })
  const attempts = attempt('fetch failed')
  await expect.poll(() => session.errors).toEqual([...attempts, ...attempts, exceeded])
})

it('reports every attempt to resume the stream of a request', async () => {
  const get: Answer = (response, count) => refuse(count === 1 ? 405 : 404)(response)
  await using session = await connectTo({ get, post: endedStream })
  await session.transport.send(call)
  const attempts = attempt(refused('Not Found'))
  await expect.poll(() => session.errors).toEqual([...attempts, ...attempts, exceeded])
})

it('leaves a stream that the server no longer has', async () => {
  let gets = 0
  const get: Answer = (response, count) => {
    gets = count
    return (count === 1 ? endedStream : refuse(405))(response, count)
  }
  await using session = await connectTo({ get, post: refuse(500) })
  await expect.poll(() => gets).toBe(2)
  await session.transport.send(call).catch(() => {})
  expect(session.errors).toEqual(['Streamable HTTP error: Error POSTing to endpoint: '])
})
