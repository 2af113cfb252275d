import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { type ToNodeHandlerOptions, toNodeHandler, toWebRequest } from '../../src/node/index.ts'

/** Serves a handler that answers with the length of the body. */
async function listen(options?: ToNodeHandlerOptions) {
  const handler = toNodeHandler({ fetch: async (req) => new Response(String((await req.text()).length)) }, options)
  const server = createServer((req, res) => void handler(req, res))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    port: (server.address() as AddressInfo).port,
    [Symbol.asyncDispose]: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

describe('toNodeHandler', () => {
  it('stops reading a body without a length when it is too long', async () => {
    await using http = await listen({ maxRequestBodySize: 1000 })
    const chunk = Buffer.alloc(600, 'a')
    const status = await new Promise<number | undefined>((resolve, reject) => {
      const req = request({ port: http.port, host: '127.0.0.1', method: 'POST' }, (res) => resolve(res.statusCode))
      req.on('error', reject)
      // The body never ends.
      req.write(chunk)
      req.write(chunk)
    })
    expect(status).toBe(413)
  })

  it('refuses a body by its length, and takes others', async () => {
    await using http = await listen()
    const url = `http://127.0.0.1:${http.port}/`
    const long = await fetch(url, { method: 'POST', body: 'a'.repeat(4 * 1024 * 1024 + 1) })
    expect(long.status).toBe(413)
    expect(await long.json()).toMatchObject({
      error: { code: -32000, message: 'Payload Too Large: Request body must not exceed 4194304 bytes' },
    })
    const short = await fetch(url, { method: 'POST', body: 'a'.repeat(100) })
    expect(await short.text()).toBe('100')
  })

  it('refuses a limit that is not a positive number', () => {
    expect(() => toNodeHandler({ fetch: async () => new Response() }, { maxRequestBodySize: 0 })).toThrow(RangeError)
  })
})

it('toWebRequest rejects a body that is too long', async () => {
  const req = Object.assign(Readable.from([Buffer.alloc(11)]), { method: 'POST', headers: {} })
  await expect(toWebRequest(req, undefined, { maxRequestBodySize: 10 })).rejects.toMatchObject({
    name: 'RequestBodyTooLargeError',
    status: 413,
  })
})
