import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { membersOf, outcomeOf, privateMembersOf, wrappers } from '../../../compat-v1/test/wrappers/wrappers.ts'
import * as clientExports from '../../src/client/index.ts'
import { Client, StreamableHTTPClientTransport } from '../../src/client/index.ts'
import * as clientStdio from '../../src/client/stdio.ts'
import { InMemoryTransport } from '../../src/core/in-memory.ts'
import type { Transport } from '../../src/core/transport.ts'
import * as nodeExports from '../../src/node/index.ts'
import { NodeStreamableHTTPServerTransport } from '../../src/node/index.ts'
import * as serverExports from '../../src/server/index.ts'
import { McpServer, ResourceTemplate, Server } from '../../src/server/index.ts'
import * as serverStdio from '../../src/server/stdio.ts'

type Wrap = <T extends object>(held: T) => T

interface World {
  readonly client: Client
  readonly server: Server
  readonly received: string[]
}

/** Calls a member that is protected in the types. Subclasses call these, so they are checked as well. */
function inner(held: object, name: string, ...args: unknown[]): unknown {
  return (held as Record<string, (...args: unknown[]) => unknown>)[name]!(...args)
}

async function closing(held: Client | Server): Promise<unknown> {
  const closed = new Promise<string>((resolve) => {
    held.onclose = () => resolve('onclose')
  })
  await held.close()
  return [await closed, held.transport === undefined]
}

/** One use of each member of `Client`. It returns what can be seen of it. */
const clientUses: Record<string, (client: Client, world: World) => unknown> = {
  assertCanSetRequestHandler: (client) => client.assertCanSetRequestHandler('ping'),
  assertCapability: (client) => inner(client, 'assertCapability', 'logging', 'logging/setLevel'),
  assertCapabilityForMethod: (client) => inner(client, 'assertCapabilityForMethod', 'completion/complete'),
  assertNotificationCapability: (client) =>
    inner(client, 'assertNotificationCapability', 'notifications/roots/list_changed'),
  assertRequestHandlerCapability: (client) => inner(client, 'assertRequestHandlerCapability', 'sampling/createMessage'),
  autoOpenedSubscription: (client) => client.autoOpenedSubscription,
  buildContext: (client) => inner(client, 'buildContext', {}),
  callTool: (client) => client.callTool({ name: 'echo', arguments: { text: 'hi' } }),
  close: closing,
  complete: (client) =>
    client.complete({ ref: { type: 'ref/prompt', name: 'greet' }, argument: { name: 'a', value: 'b' } }),
  connect: async (client, { server }) => {
    await client.close()
    await connect(client, server)
    return client.getServerVersion()
  },
  discover: (client) => client.discover(),
  getDiscoverResult: (client) => client.getDiscoverResult(),
  getInstructions: (client) => client.getInstructions(),
  getNegotiatedProtocolVersion: (client) => client.getNegotiatedProtocolVersion(),
  getPrompt: (client) => client.getPrompt({ name: 'greet' }),
  getProtocolEra: (client) => client.getProtocolEra(),
  getServerCapabilities: (client) => client.getServerCapabilities(),
  getServerVersion: (client) => client.getServerVersion(),
  listPrompts: (client) => client.listPrompts(),
  listResourceTemplates: (client) => client.listResourceTemplates(),
  listResources: (client) => client.listResources(),
  listTools: (client) => client.listTools(),
  listen: (client) => client.listen({ toolsListChanged: true }),
  notification: async (client, { received }) => {
    await client.notification({ method: 'notifications/roots/list_changed' })
    return received
  },
  ping: (client) => client.ping(),
  readResource: (client) => client.readResource({ uri: 'a:b' }),
  registerCapabilities: async (client, { server }) => {
    await client.close()
    client.registerCapabilities({ sampling: {} })
    await connect(client, server)
    return server.getClientCapabilities()
  },
  removeNotificationHandler: (client) => client.removeNotificationHandler('notifications/message'),
  removeRequestHandler: (client, { server }) => {
    client.removeRequestHandler('ping')
    return server.ping()
  },
  request: (client) => client.request({ method: 'ping' }),
  sendRootsListChanged: async (client, { received }) => {
    await client.sendRootsListChanged()
    return received
  },
  setLoggingLevel: (client) => client.setLoggingLevel('error'),
  setNotificationHandler: async (client, { server }) => {
    const received = new Promise((resolve) =>
      client.setNotificationHandler('notifications/message', ({ params }) => resolve(params)),
    )
    await server.sendLoggingMessage({ level: 'error', data: 'late' })
    return received
  },
  setRequestHandler: (client, { server }) => {
    client.setRequestHandler('roots/list', async (_request, ctx) => {
      // The handler reaches the server through what it is given.
      await ctx.mcpReq.send({ method: 'ping' })
      return { roots: [{ uri: 'file:///a' }] }
    })
    return server.listRoots()
  },
  setVersionNegotiation: (client) => client.setVersionNegotiation(undefined),
  subscribeResource: (client) => client.subscribeResource({ uri: 'a:b' }),
  transport: (client) => client.transport !== undefined,
  unsubscribeResource: (client) => client.unsubscribeResource({ uri: 'a:b' }),
}

const question = { message: 'Name?', requestedSchema: { type: 'object' as const, properties: {} } }

const serverUses: Record<string, (server: Server, world: World) => unknown> = {
  assertCanSetRequestHandler: (server) => server.assertCanSetRequestHandler('ping'),
  assertCapabilityForMethod: (server) => inner(server, 'assertCapabilityForMethod', 'sampling/createMessage'),
  assertNotificationCapability: (server) => inner(server, 'assertNotificationCapability', 'notifications/message'),
  assertRequestHandlerCapability: (server) => inner(server, 'assertRequestHandlerCapability', 'prompts/get'),
  buildContext: (server) => Object.keys(inner(server, 'buildContext', { mcpReq: {} }) as object),
  close: closing,
  connect: async (server, { client }) => {
    await client.close()
    await connect(client, server)
    return server.getClientVersion()
  },
  createElicitationCompletionNotifier: async (server, { received }) => {
    await server.createElicitationCompletionNotifier('1')()
    return received
  },
  createMessage: (server) => server.createMessage({ messages: [], maxTokens: 1 }),
  elicitInput: (server) => server.elicitInput(question),
  getCapabilities: (server) => server.getCapabilities(),
  getClientCapabilities: (server) => server.getClientCapabilities(),
  getClientVersion: (server) => server.getClientVersion(),
  getNegotiatedProtocolVersion: (server) => server.getNegotiatedProtocolVersion(),
  listRoots: (server) => server.listRoots(),
  notification: async (server, { received }) => {
    await server.notification({ method: 'notifications/tools/list_changed' })
    return received
  },
  ping: (server) => server.ping(),
  projectCallToolResult: (server) => inner(server, 'projectCallToolResult', { content: [] }),
  registerCapabilities: (server) => server.registerCapabilities({ prompts: {} }),
  removeNotificationHandler: (server) => server.removeNotificationHandler('notifications/initialized'),
  removeRequestHandler: (server, { client }) => {
    server.removeRequestHandler('ping')
    return client.ping()
  },
  request: (server) => server.request({ method: 'ping' }),
  sendLoggingMessage: async (server, { received }) => {
    await server.sendLoggingMessage({ level: 'error', data: 'late' })
    return received
  },
  sendPromptListChanged: (server) => server.sendPromptListChanged(),
  sendResourceListChanged: (server) => server.sendResourceListChanged(),
  sendResourceUpdated: (server) => server.sendResourceUpdated({ uri: 'a:b' }),
  sendToolListChanged: async (server, { received }) => {
    await server.sendToolListChanged()
    return received
  },
  setNotificationHandler: async (server, { client }) => {
    const received = new Promise((resolve) =>
      server.setNotificationHandler('notifications/roots/list_changed', ({ method }) => resolve(method)),
    )
    await client.sendRootsListChanged()
    return received
  },
  setRequestHandler: (server, { client }) => {
    server.setRequestHandler('tools/list', async (_request, ctx) => {
      await ctx.mcpReq.send({ method: 'ping' })
      return { tools: [] }
    })
    return client.listTools()
  },
  transport: (server) => server.transport !== undefined,
}

const mcpUses: Record<string, (server: McpServer, client: Client) => unknown> = {
  close: async (server) => {
    await server.close()
    return server.isConnected()
  },
  connect: (server) => server.isConnected(),
  isConnected: (server) => server.isConnected(),
  registerPrompt: (server, client) => {
    server.registerPrompt('greet', { title: 'Greet' }, () => ({ messages: [] })).update({ title: 'Hello' })
    return client.listPrompts()
  },
  registerResource: (server, client) => {
    const template = new ResourceTemplate('a:{id}', { list: undefined })
    server.registerResource('a', template, {}, (uri, { id }) => ({ contents: [{ uri: uri.href, text: String(id) }] }))
    return client.readResource({ uri: 'a:7' })
  },
  registerTool: async (server, client) => {
    const inputSchema = z.object({ a: z.number() })
    const tool = server.registerTool('add', { inputSchema }, ({ a }) => ({
      content: [{ type: 'text', text: String(a + 1) }],
    }))
    const result = await client.callTool({ name: 'add', arguments: { a: 1 } })
    tool.disable()
    return [result, await client.listTools()]
  },
  sendLoggingMessage: (server) => server.sendLoggingMessage({ level: 'error', data: 'late' }),
  sendPromptListChanged: (server) => server.sendPromptListChanged(),
  sendResourceListChanged: (server) => server.sendResourceListChanged(),
  sendToolListChanged: (server) => server.sendToolListChanged(),
  toolInputSchemaJson: (server) => {
    server.registerTool('add', { inputSchema: z.object({ a: z.number() }) }, () => ({ content: [] }))
    return server.toolInputSchemaJson('add')
  },
}

const info = { name: 'shop', version: '1.0.0' }

function createPlainServer(): Server {
  const capabilities = { tools: { listChanged: true }, resources: { subscribe: true }, completions: {}, logging: {} }
  const server = new Server(info, { capabilities: { ...capabilities, prompts: {} }, instructions: 'Ask.' })
  server.setRequestHandler('tools/list', () => ({
    tools: [{ name: 'echo', inputSchema: { type: 'object' as const } }],
  }))
  server.setRequestHandler('tools/call', ({ params }) => ({
    content: [{ type: 'text' as const, text: JSON.stringify(params.arguments) }],
  }))
  server.setRequestHandler('prompts/list', () => ({ prompts: [{ name: 'greet' }] }))
  server.setRequestHandler('prompts/get', () => ({ messages: [] }))
  server.setRequestHandler('resources/list', () => ({ resources: [{ uri: 'a:b', name: 'b' }] }))
  server.setRequestHandler('resources/templates/list', () => ({ resourceTemplates: [] }))
  server.setRequestHandler('resources/read', () => ({ contents: [{ uri: 'a:b', text: 'text' }] }))
  server.setRequestHandler('resources/subscribe', () => ({}))
  server.setRequestHandler('resources/unsubscribe', () => ({}))
  server.setRequestHandler('completion/complete', () => ({ completion: { values: ['bc'] } }))
  return server
}

function createPlainClient(): Client {
  const capabilities = { roots: { listChanged: true }, elicitation: { form: {}, url: {} } }
  const client = new Client({ name: 'test', version: '1.0.0' }, { capabilities })
  client.setRequestHandler('roots/list', () => ({ roots: [] }))
  client.setRequestHandler('elicitation/create', () => ({ action: 'decline' as const }))
  return client
}

async function connect(client: Client, server: { connect(transport: Transport): Promise<void> }): Promise<void> {
  const [ours, theirs] = InMemoryTransport.createLinkedPair()
  await server.connect(theirs)
  await client.connect(ours)
}

const none: Wrap = (held) => held

/** Uses one member of a class behind a wrapper, with a plain other side. */
const runs: Record<string, (wrap: Wrap, name: string) => Promise<unknown>> = {
  Client: async (wrap, name) => {
    const received: string[] = []
    const [client, server] = [wrap(createPlainClient()), createPlainServer()]
    server.fallbackNotificationHandler = async ({ method }) => void received.push(method)
    await connect(client, server)
    return outcomeOf(() => clientUses[name]!(client, { client, server, received }))
  },
  Server: async (wrap, name) => {
    const received: string[] = []
    const [client, server] = [createPlainClient(), wrap(createPlainServer())]
    client.fallbackNotificationHandler = async ({ method }) => void received.push(method)
    await connect(client, server)
    return outcomeOf(() => serverUses[name]!(server, { client, server, received }))
  },
  McpServer: async (wrap, name) => {
    const lists = { tools: {}, prompts: {}, resources: {}, logging: {} }
    const [client, server] = [createPlainClient(), wrap(new McpServer(info, { capabilities: lists }))]
    await connect(client, server)
    return outcomeOf(() => mcpUses[name]!(server, client))
  },
}

const classes = { Client: [Client, clientUses], Server: [Server, serverUses], McpServer: [McpServer, mcpUses] } as const

for (const [className, [held, uses]] of Object.entries(classes)) {
  describe(className, () => {
    it('has no member without a use in this file', () => {
      expect(Object.keys(uses).sort()).toEqual(membersOf(held))
    })

    for (const [wrapper, wrap] of Object.entries(wrappers)) {
      it.each(Object.keys(uses))(`behaves the same behind ${wrapper}: %s`, async (name) => {
        expect(await runs[className]!(wrap, name)).toEqual(await runs[className]!(none, name))
      })
    }
  })
}

describe('transports', () => {
  it.each(Object.keys(wrappers))('carry a conversation over HTTP behind %s', async (wrapper) => {
    const wrap = wrappers[wrapper]!
    const transport = wrap(new NodeStreamableHTTPServerTransport({ sessionIdGenerator: () => 'session' }))
    await createPlainServer().connect(transport)
    const http = createServer((request, response) => void transport.handleRequest(request, response))
    await once(http.listen(0, '127.0.0.1'), 'listening')
    const url = new URL(`http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`)
    const client = createPlainClient()
    await client.connect(wrap(new StreamableHTTPClientTransport(url)))
    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(['echo'])
    await client.close()
    http.closeAllConnections()
    http.close()
  })
})

it('exports no class with a #private member', () => {
  const exports = { ...clientExports, ...clientStdio, ...nodeExports, ...serverExports, ...serverStdio }
  const found = Object.entries(exports).flatMap(([name, value]) => {
    const members = typeof value === 'function' ? privateMembersOf(value as never) : []
    return members.length > 0 ? [`${name}: ${members.join(' ')}`] : []
  })
  expect(found).toEqual([])
})
