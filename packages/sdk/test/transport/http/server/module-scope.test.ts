import { afterEach, describe, expect, it, vi } from 'vitest'
import { broker, dpop, jwtVerifier, providers } from '../../../../src/entry/auth-server.ts'
import { createMcpHandler, McpServer, Server } from '../../../../src/entry/server.ts'
import { tasks } from '../../../../src/entry/tasks.ts'

// Cloudflare Workers forbid random values, timers and network access at module scope, where servers are defined.
describe('a server defined at module scope', () => {
  afterEach(() => {
    vi.restoreAllMocks()
    vi.unstubAllGlobals()
  })

  const definitions: Record<string, () => unknown> = {
    McpServer: () => new McpServer({ name: 'demo', version: '1.0.0' }),
    Server: () => new Server({ name: 'demo', version: '1.0.0' }),
    'McpServer with all features': () => defineServer(),
    createMcpHandler: () => createMcpHandler(defineServer()),
    'createMcpHandler with auth': () => createMcpHandler(defineServer(), { auth: protect() }),
    broker: () => defineBroker(),
  }

  for (const [name, define] of Object.entries(definitions)) {
    it(`uses no random values, timers or network: ${name}`, async () => {
      vi.stubGlobal('navigator', { userAgent: 'Cloudflare-Workers' })
      const forbidden = () => {
        throw new Error('Disallowed operation called within global scope')
      }
      const calls = [
        vi.spyOn(crypto, 'getRandomValues').mockImplementation(forbidden),
        vi.spyOn(crypto, 'randomUUID').mockImplementation(forbidden),
        vi.spyOn(globalThis, 'setTimeout').mockImplementation(forbidden),
        vi.spyOn(globalThis, 'setInterval').mockImplementation(forbidden),
        vi.spyOn(globalThis, 'fetch').mockImplementation(forbidden),
      ]
      define()
      // The module scope includes its microtasks.
      for (let turn = 0; turn < 100; turn++) await undefined
      for (const call of calls) expect(call).not.toHaveBeenCalled()
    })
  }
})

function defineServer(): McpServer {
  const server = new McpServer({ name: 'demo', version: '1.0.0' }, { tasks: tasks() })
  server.registerTool('hi', { execution: { taskSupport: 'optional' } }, () => 'hi')
  server.registerResource('note', 'note://one', {}, () => 'text')
  server.registerPrompt('ask', {}, () => 'Why?')
  return server
}

function protect() {
  const issuer = 'https://login.example.com'
  const resource = 'https://mcp.example.com/mcp'
  return {
    resource,
    authorizationServers: [issuer],
    verify: jwtVerifier({ issuer, audience: resource }),
    dpop: dpop({ nonce: true }),
  }
}

function defineBroker() {
  return broker({
    resource: 'https://mcp.example.com/mcp',
    upstream: providers.github({ clientId: 'id', clientSecret: 'secret' }),
  })
}
