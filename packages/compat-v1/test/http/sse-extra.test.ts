import { expect, it } from 'vitest'
import { SSEServerTransport } from '../../src/server/sse.ts'
import { listen } from './support.ts'

it('passes messages of HTTP+SSE to onmessage with what the request says, and nothing else', async () => {
  const seen: unknown[] = []
  let transport: SSEServerTransport | undefined
  await using http = await listen(async (request, response) => {
    if (request.method === 'POST') return transport!.handlePostMessage(request, response)
    transport = new SSEServerTransport('/messages', response)
    transport.onmessage = (_message, extra) => seen.push(...Object.keys(extra ?? {}))
    await transport.start()
  })
  const stream = await fetch(http.url)
  const body = JSON.stringify({ jsonrpc: '2.0', method: 'notifications/initialized' })
  const posted = await fetch(http.url, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
  expect(posted.status).toBe(202)
  expect(seen.toSorted()).toEqual(['authInfo', 'requestInfo'])
  await stream.body?.cancel()
})
