import type { McpServer, ServingHttp } from 'tenon/server'
import { describe, expect, it, onTestFinished } from 'vitest'
import { eventually } from '../../../kit/eventually.ts'
import { RawConnection, RawStream, toBytes, toHead } from '../../../kit/raw-http.ts'
import { type HttpRevision, httpRevisions, modern, sessionRevisions } from '../../../kit/revisions.ts'
import { createServer, RawClient, serve } from './support.ts'

/** A server with a tool that sends nothing until it is released. */
async function serveSilent(options: Parameters<typeof serve>[1] = {}) {
  const server = createServer()
  const silent = registerSilent(server)
  const http = await serve(server, { streamAfterMs: 20, ...options })
  return { server, http, ...silent }
}

function registerSilent(server: McpServer) {
  const waiting: ((text: string) => void)[] = []
  let began = 0
  server.registerTool('silent', {}, () => {
    began++
    return new Promise<string>((resolve) => waiting.push(resolve))
  })
  return {
    began: () => began,
    release: (text: string) => {
      for (const resolve of waiting.splice(0)) resolve(text)
    },
  }
}

async function openConnection(port: number): Promise<RawConnection> {
  const connection = await RawConnection.open(port)
  onTestFinished(() => connection.destroy())
  return connection
}

function bytesOf(client: RawClient, id: number, name: string): Buffer {
  const body = client.call(id, name)
  return toBytes('POST', '/mcp', client.headers('tools/call', name, { 'Content-Length': String(body.length) }), body)
}

const isQuiet = ({ metrics }: ServingHttp) => metrics.streams === 0 && metrics.calls === 0

describe.each(httpRevisions)('requests that wait past streamAfterMs (%s)', (revision) => {
  it('use at most half of the streams of their address, and are all answered', async () => {
    const { http, began, release } = await serveSilent({ maxStreamsPerAddress: 40, maxStreamsPerSession: 1_000 })
    const client = await RawClient.open(http.port, revision)
    const connections = await Promise.all(Array.from({ length: 200 }, () => openConnection(http.port)))
    for (const [id, connection] of connections.entries()) connection.write(bytesOf(client, id, 'silent'))
    await eventually(() => began() === 200 && http.metrics.streams === 20)
    // The remaining streams are available to other requests.
    await client.stillServes()
    release('released')
    for (const [id, connection] of connections.entries()) {
      const { text } = await connection.response()
      expect(text).toContain('released')
      expect(text).toContain(`"id":${id},`)
    }
    await eventually(() => isQuiet(http))
  })

  it('leave nothing behind when their clients disconnect at once', async () => {
    const { http, began, release } = await serveSilent()
    const client = await RawClient.open(http.port, revision)
    const connections = await Promise.all(Array.from({ length: 100 }, () => openConnection(http.port)))
    for (const [id, connection] of connections.entries()) connection.write(bytesOf(client, id, 'silent'))
    await eventually(() => began() === 100)
    for (const connection of connections) connection.destroy()
    await eventually(() => http.metrics.streams === 0)
    release('too late')
    await eventually(() => isQuiet(http) && http.metrics.unsentBytes === 0)
    await client.stillServes()
  })

  it('are answered in order when they are pipelined on one connection', async () => {
    const { http, began, release } = await serveSilent()
    const client = await RawClient.open(http.port, revision)
    const connection = await openConnection(http.port)
    connection.write(
      Buffer.concat([
        bytesOf(client, 1, 'silent'),
        bytesOf(client, 2, 'echo'),
        bytesOf(client, 3, 'silent'),
        bytesOf(client, 4, 'echo'),
      ]),
    )
    const first = await RawStream.of(connection)
    await eventually(() => began() === 2 && http.metrics.streams === 2)
    release('released')
    expect((await first.rest()).at(-1)).toMatchObject({ id: 1, result: { content: [{ text: 'released' }] } })
    const second = await connection.response()
    expect([second.headers.get('content-type'), second.json.id]).toEqual(['application/json', 2])
    const third = await RawStream.of(connection)
    expect((await third.rest()).at(-1)).toMatchObject({ id: 3 })
    expect((await connection.response()).json.id).toBe(4)
    await eventually(() => isQuiet(http))
  })

  const stages: [string, (setup: Stage) => Promise<void> | void][] = [
    ['after the request line', ({ connection }) => void connection.write('POST /mcp HTTP/1.1\r\n')],
    ['within the headers', ({ connection, head }) => void connection.write(head.subarray(0, head.length - 10))],
    ['before the body', ({ connection, head }) => void connection.write(head)],
    ['within the body', ({ connection, bytes }) => void connection.write(bytes.subarray(0, bytes.length - 5))],
    ['with the last byte of the body', ({ connection, bytes }) => void connection.write(bytes)],
    [
      'while its tool runs',
      async ({ connection, bytes, began }) => {
        connection.write(bytes)
        await eventually(() => began() === 1)
      },
    ],
    [
      'when its stream has begun',
      async ({ connection, bytes }) => {
        connection.write(bytes)
        await connection.head()
      },
    ],
    [
      'when its tool answers',
      async ({ connection, bytes, release }) => {
        connection.write(bytes)
        await connection.head()
        release('just now')
      },
    ],
  ]

  interface Stage {
    connection: RawConnection
    head: Buffer
    bytes: Buffer
    began: () => number
    release: (text: string) => void
  }

  it.each(stages)('leave nothing behind when the connection is lost %s', async (_stage, reach) => {
    const { http, began, release } = await serveSilent()
    const client = await RawClient.open(http.port, revision)
    const connection = await openConnection(http.port)
    const bytes = bytesOf(client, 1, 'silent')
    const length = String(client.call(1, 'silent').length)
    const head = toHead('POST', '/mcp', client.headers('tools/call', 'silent', { 'Content-Length': length }))
    await reach({ connection, head, bytes, began, release })
    connection.socket.resetAndDestroy()
    await client.stillServes()
    release('too late')
    await eventually(() => isQuiet(http) && http.metrics.unsentBytes === 0)
    await client.stillServes()
  })
})

describe.each(sessionRevisions)(
  'a session whose request was lost after its stream began (%s)',
  (revision: HttpRevision) => {
    it('can still be used and ended', async () => {
      const { http, release } = await serveSilent()
      const client = await RawClient.open(http.port, revision)
      const connection = await openConnection(http.port)
      connection.write(bytesOf(client, 1, 'silent'))
      await connection.head()
      connection.destroy()
      await eventually(() => http.metrics.streams === 0)
      release('kept')
      await client.stillServes()
      expect((await client.delete()).status).toBe(200)
      expect(http.metrics.sessions.open).toBe(0)
    })
  },
)

describe('methods without a body of their own', () => {
  it.each(['HEAD', 'OPTIONS', 'TRACE', 'PUT'])(
    '%s is rejected with 405 and does not affect the connection',
    async (method) => {
      const { http } = await serveSilent()
      const client = new RawClient(http.port, modern)
      const connection = await openConnection(http.port)
      const headers = { ...client.headers(), 'Content-Type': undefined }
      connection.write(toHead(method, '/mcp', headers))
      const response = await connection.response(method)
      expect([response.status, response.headers.get('allow')]).toEqual([405, 'GET, POST, DELETE'])
      connection.write(bytesOf(client, 9, 'echo'))
      expect((await connection.response()).json.id).toBe(9)
    },
  )
})
