import { describe, expect, it } from 'vitest'
import { connect } from '../../src/connect/connect.ts'
import { serveHttp } from '../../src/serve/http.ts'
import { McpServer } from '../../src/server/mcp-server.ts'
import { deferred } from '../../src/util/deferred.ts'
import { eventually } from '../kit/eventually.ts'
import { serveGateway } from './gateway-support.ts'

const size = { type: 'object' as const, properties: { size: { type: 'string' } }, required: ['size'] }

describe('calls of many callers to one shared server', () => {
  it('are cancelled one by one, and report progress to their own caller', async () => {
    const server = new McpServer({ name: 'n', version: '1' }, { revisions: ['2026-07-28'] })
    const cancelled: string[] = []
    const gate = deferred<void>()
    let begun = 0
    server.registerTool('run', { inputSchema: size }, async ({ size }, ctx) => {
      ctx.signal.addEventListener('abort', () => cancelled.push(String(size)))
      ctx.progress(Number(size), { message: String(size) })
      begun++
      await gate.promise
      return String(size)
    })
    await using upstream = await serveHttp(server, { port: 0, exit: false })
    await using gateway = await serveGateway({ n: { url: upstream.url } })
    const callers = await Promise.all(
      Array.from({ length: 20 }, async (_, index) => {
        const client = await connect(gateway.url, { revision: index % 2 ? '2026-07-28' : '2025-11-25' })
        const abort = new AbortController()
        const seen: unknown[] = []
        const call = client
          .callTool(
            'n_run',
            { size: String(index) },
            { signal: abort.signal, onProgress: ({ message }) => seen.push(message) },
          )
          .then(
            ({ text }) => text,
            () => 'cancelled',
          )
        return { client, abort, seen, call, index }
      }),
    )
    await eventually(() => begun === 20)
    for (const { abort, index } of callers) if (index % 5 === 0) abort.abort()
    await eventually(() => cancelled.length === 4)
    gate.resolve()
    for (const { call, index, seen, client } of callers) {
      expect(await call).toBe(index % 5 === 0 ? 'cancelled' : String(index))
      if (index % 5) expect(seen).toEqual([String(index)])
      await client.close()
    }
    expect(new Set(cancelled)).toEqual(new Set(['0', '5', '10', '15']))
  })
})
