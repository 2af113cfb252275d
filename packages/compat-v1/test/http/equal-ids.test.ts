import { randomUUID } from 'node:crypto'
import { expect, it } from 'vitest'
import { McpServer } from '../../src/server/mcp.ts'
import { StreamableHTTPServerTransport } from '../../src/server/streamableHttp.ts'
import { initialize, inSession, listen, messagesOf, post } from './support.ts'

type Send = StreamableHTTPServerTransport['send']

const call = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'wait', arguments: {} } } as const

/** A server with a tool that waits, on a transport whose `send` a program replaced. */
async function serve(replace: (send: Send) => Send) {
  const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: () => randomUUID() })
  const server = new McpServer({ name: 'demo', version: '1.0.0' })
  let release = () => {}
  let calls = 0
  const released = new Promise<void>((resolve) => {
    release = resolve
  })
  server.registerTool('wait', {}, async () => {
    calls++
    await released
    return { content: [{ type: 'text', text: 'done' }] }
  })
  await server.connect(transport)
  transport.send = replace(transport.send.bind(transport))
  const http = await listen((request, response) => transport.handleRequest(request, response))
  await (await post(http.url, initialize)).text()
  return { ...http, headers: inSession(transport.sessionId), release: () => release(), calls: () => calls }
}

const wrappers: [string, (send: Send) => Send][] = [
  ['passes everything on', (send) => (message, options) => send(message, options)],
  ['passes a copy without options', (send) => (message) => send({ ...message })],
  [
    'passes a copy later',
    (send) => async (message) => {
      await Promise.resolve()
      await send({ ...message })
    },
  ],
]

it.each(wrappers)('answers both requests with one id in a batch if send %s', async (_name, replace) => {
  await using http = await serve(replace)
  const response = await post(http.url, [call, call], http.headers)
  http.release()
  const answers = await messagesOf(response)
  expect(answers.map(({ id }) => id)).toEqual([1, 1])
  expect(answers.filter((answer) => 'result' in answer)).toHaveLength(1)
})

it('answers requests with one id in two POSTs each on its own stream, if send is replaced', async () => {
  await using http = await serve((send) => (message, options) => send({ ...message }, options))
  const first = post(http.url, call, http.headers)
  await expect.poll(() => http.calls()).toBe(1)
  const second = await messagesOf(await post(http.url, call, http.headers))
  expect(second).toMatchObject([{ id: 1, error: { code: -32600 } }])
  http.release()
  expect(await messagesOf(await first)).toMatchObject([{ id: 1, result: { content: [{ text: 'done' }] } }])
})
