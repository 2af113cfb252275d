// Programs that relay messages between transports, and a server over HTTP, each started unmodified on both SDKs. They use the
// transports without a client or server object.
import assert from 'node:assert/strict'
import { on, once } from 'node:events'
import { describe, it } from 'node:test'
import { fileURLToPath } from 'node:url'
import { connect, SSEClientTransport } from 'tenon/client'
import { WebSocket } from 'ws'
import { freePort, pathOf, whileListening } from './http-programs.js'

const trees = {
  official: fileURLToPath(new URL('node_modules', import.meta.url)),
  ours: fileURLToPath(new URL('aliased/node_modules', import.meta.url)),
}
const handshake = { revision: '2025-11-25' }

/** Each resolves with what a client sees of the everything server through a program of `modules`. */
const directions = {
  'everything over Streamable HTTP': (modules) =>
    everythingOverHttp(modules, 'streamableHttp', (url) => talk(new URL('/mcp', url).href, handshake)),
  // The program has sessions, so that the client falls back to `initialize`.
  'everything over Streamable HTTP, with a client of any revision': (modules) =>
    everythingOverHttp(modules, 'streamableHttp', (url) => talk(new URL('/mcp', url).href)),
  'everything over HTTP+SSE': (modules) =>
    everythingOverHttp(modules, 'sse', (url) => talk(new SSEClientTransport(new URL('/sse', url)))),
  'supergateway, stdio to HTTP+SSE': (modules) =>
    gateway(modules, ['--outputTransport', 'sse'], (url) => talk(new SSEClientTransport(new URL('/sse', url)))),
  'supergateway, stdio to Streamable HTTP': (modules) =>
    gateway(modules, ['--outputTransport', 'streamableHttp'], (url) => talk(new URL('/mcp', url).href, handshake)),
  'supergateway, stdio to Streamable HTTP with sessions': (modules) =>
    gateway(modules, ['--outputTransport', 'streamableHttp', '--stateful'], (url) =>
      talk(new URL('/mcp', url).href, handshake),
    ),
  'supergateway, stdio to WebSocket': (modules) =>
    gateway(modules, ['--outputTransport', 'ws'], (url) => talkOverWebSocket(new URL('/message', url))),
  'supergateway, Streamable HTTP to stdio': (modules) =>
    everythingOverHttp(trees.official, 'streamableHttp', (url) =>
      talk(command(modules, ['--streamableHttp', new URL('/mcp', url).href]), handshake),
    ),
  'supergateway, HTTP+SSE to stdio': (modules) =>
    everythingOverHttp(trees.official, 'sse', (url) =>
      talk(command(modules, ['--sse', new URL('/sse', url).href]), handshake),
    ),
  'mcp-proxy, stdio to Streamable HTTP': (modules) =>
    proxy(modules, (url) => talk(new URL('/mcp', url).href, handshake)),
  'mcp-proxy, stdio to HTTP+SSE': (modules) =>
    proxy(modules, (url) => talk(new SSEClientTransport(new URL('/sse', url)))),
}

describe('programs that relay messages', () => {
  for (const [name, run] of Object.entries(directions)) {
    it(`${name}: the same on both SDKs`, async () => {
      const official = await run(trees.official)
      assert.ok(official.tools.length > 10)
      assert.deepEqual(await run(trees.ours), official)
    })
  }
})

describe('everything over Streamable HTTP, if the operator lets it answer without initialize', () => {
  const env = { TENON_COMPAT_ANSWER_WITHOUT_INITIALIZE: '1' }

  it('answers a client of 2026-07-28 as it answers others on the official SDK', async () => {
    const talkTo = (url) => talk(new URL('/mcp', url).href)
    const { revision: _revision, ...official } = await everythingOverHttp(trees.official, 'streamableHttp', talkTo, env)
    const { revision, ...ours } = await everythingOverHttp(trees.ours, 'streamableHttp', talkTo, env)
    assert.equal(revision, '2026-07-28')
    // 2026-07-28 does not have `execution`.
    const tools = official.tools.map(({ execution: _execution, ...tool }) => tool)
    assert.deepEqual(ours, { ...official, tools })
  })
})

async function everythingOverHttp(modules, transport, use, env = {}) {
  const port = await freePort()
  return whileListening([pathOf.everything(modules), transport], port, { PORT: String(port), ...env }, use)
}

async function gateway(modules, args, use) {
  const port = await freePort()
  // The server behind the gateway is the same for both, so that only the gateway differs.
  const stdio = `${process.execPath} ${pathOf.everything(trees.official)}`
  const command = [
    pathOf.supergateway(modules),
    '--stdio',
    stdio,
    '--port',
    String(port),
    '--logLevel',
    'none',
    ...args,
  ]
  return whileListening(command, port, {}, use)
}

async function proxy(modules, use) {
  const port = await freePort()
  const server = [process.execPath, pathOf.everything(trees.official)]
  const command = [pathOf.mcpProxy(modules), '--host', 'localhost', '--port', String(port), '--', ...server]
  return whileListening(command, port, {}, use)
}

function command(modules, args) {
  return { command: process.execPath, args: [pathOf.supergateway(modules), '--logLevel', 'none', ...args] }
}

async function talk(target, options) {
  const client = await connect(target, { ...options, cache: false })
  try {
    return {
      revision: client.revision,
      server: client.server.info,
      tools: await client.listTools().all(),
      prompts: await client.listPrompts().all(),
      echo: await contentOf(client.callTool('echo', { message: 'hello' })),
      invalid: await contentOf(client.callTool('get-sum', { a: 'two', b: 3 })),
      steps: await contentOf(client.callTool('trigger-long-running-operation', { duration: 0.1, steps: 2 })),
    }
  } finally {
    await client.close()
  }
}

async function contentOf(call) {
  const { content, isError } = await call
  return { content, isError }
}

/** The gateway speaks plain JSON-RPC over the socket. */
async function talkOverWebSocket(url) {
  url.protocol = 'ws'
  const socket = new WebSocket(url)
  // Keeps messages that arrive together, of which `once` would only see the first.
  const messages = on(socket, 'message', { close: ['close'] })
  await once(socket, 'open')
  const ask = async (id, method, params) => {
    socket.send(JSON.stringify({ jsonrpc: '2.0', id, method, params }))
    for (;;) {
      const { done, value } = await messages.next()
      if (done) throw new Error(`The gateway closed the connection before it answered ${method}`)
      const message = JSON.parse(value[0])
      if (message.id === id) return message.result
    }
  }
  try {
    const clientInfo = { name: 'recorder', version: '1.0.0' }
    const { serverInfo } = await ask(1, 'initialize', { protocolVersion: '2025-11-25', capabilities: {}, clientInfo })
    socket.send(JSON.stringify({ jsonrpc: '2.0', method: 'notifications/initialized' }))
    const { tools } = await ask(2, 'tools/list', {})
    return {
      server: serverInfo,
      tools,
      echo: await ask(3, 'tools/call', { name: 'echo', arguments: { message: 'hello' } }),
    }
  } finally {
    socket.close()
  }
}
