import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { Client } from '../../src/client/index.ts'
import { InMemoryTransport } from '../../src/inMemory.ts'
import { Server } from '../../src/server/index.ts'
import { McpServer, ResourceTemplate } from '../../src/server/mcp.ts'
import {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  EmptyResultSchema,
  ListRootsRequestSchema,
  ListToolsRequestSchema,
} from '../../src/types.ts'
import { membersOf, outcomeOf, wrappers } from './wrappers.ts'

interface World {
  readonly client: Client
  readonly received: string[]
}

/** What `Server` declares as protected. Subclasses call these, so they are checked as well. */
interface Protected {
  assertCapabilityForMethod(method: string): void
  assertNotificationCapability(method: string): void
  assertRequestHandlerCapability(method: string): void
  assertTaskCapability(method: string): void
  assertTaskHandlerCapability(method: string): void
  requestStream(request: object, schema: object): AsyncGenerator<unknown>
  getTask(params: object): Promise<unknown>
  getTaskResult(params: object, schema: object): Promise<unknown>
  listTasks(): Promise<unknown>
  cancelTask(params: object): Promise<unknown>
}

const inside = (server: Server) => server as unknown as Protected
const question = { message: 'Name?', requestedSchema: { type: 'object' as const, properties: {} } }

/** One use of each member. It returns what can be seen of it. */
const uses: Record<string, (server: Server, world: World) => unknown> = {
  assertCanSetRequestHandler: (server) => server.assertCanSetRequestHandler('ping'),
  assertCapabilityForMethod: (server) => inside(server).assertCapabilityForMethod('sampling/createMessage'),
  assertNotificationCapability: (server) => inside(server).assertNotificationCapability('notifications/message'),
  assertRequestHandlerCapability: (server) => inside(server).assertRequestHandlerCapability('prompts/get'),
  assertTaskCapability: (server) => inside(server).assertTaskCapability('sampling/createMessage'),
  assertTaskHandlerCapability: (server) => inside(server).assertTaskHandlerCapability('tools/call'),
  cancelTask: (server) => inside(server).cancelTask({ taskId: '1' }),
  close: async (server) => {
    const closed = new Promise<string>((resolve) => {
      server.onclose = () => resolve('onclose')
    })
    await server.close()
    return [await closed, server.transport === undefined]
  },
  connect: (server) => server.connect(InMemoryTransport.createLinkedPair()[0]),
  createElicitationCompletionNotifier: async (server, { received }) => {
    await server.createElicitationCompletionNotifier('1')()
    return received
  },
  createMessage: (server) => server.createMessage({ messages: [], maxTokens: 1 }),
  elicitInput: (server) => server.elicitInput(question),
  experimental: (server) => server.experimental.tasks.getTask('1'),
  getClientCapabilities: (server) => server.getClientCapabilities(),
  getClientVersion: (server) => server.getClientVersion(),
  getTask: (server) => inside(server).getTask({ taskId: '1' }),
  getTaskResult: (server) => inside(server).getTaskResult({ taskId: '1' }, EmptyResultSchema),
  listRoots: (server) => server.listRoots(),
  listTasks: (server) => inside(server).listTasks(),
  notification: async (server, { received }) => {
    await server.notification({ method: 'notifications/tools/list_changed' })
    return received
  },
  ping: (server) => server.ping(),
  registerCapabilities: (server) => server.registerCapabilities({ prompts: {} }),
  removeNotificationHandler: (server) => server.removeNotificationHandler('notifications/initialized'),
  removeRequestHandler: (server, { client }) => {
    server.removeRequestHandler('ping')
    return client.ping()
  },
  request: (server) => server.request({ method: 'ping' }, EmptyResultSchema),
  requestStream: async (server) => {
    const messages = []
    for await (const message of inside(server).requestStream({ method: 'ping' }, EmptyResultSchema))
      messages.push(message)
    return messages
  },
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
    const schema = z.object({ method: z.literal('notifications/roots/list_changed') })
    const received = new Promise((resolve) => server.setNotificationHandler(schema, ({ method }) => resolve(method)))
    await client.sendRootsListChanged()
    return received
  },
  setRequestHandler: (server, { client }) => {
    server.setRequestHandler(ListToolsRequestSchema, async (_request, extra) => {
      // The handler reaches the client through what it is given.
      await extra.sendRequest({ method: 'ping' }, EmptyResultSchema)
      return { tools: [] }
    })
    return client.listTools()
  },
  transport: (server) => server.transport !== undefined,
}

const ownText = (text: string) => ({ content: [{ type: 'text' as const, text }] })

const mcpUses: Record<string, (server: McpServer, world: World) => unknown> = {
  close: async (server) => {
    await server.close()
    return server.isConnected()
  },
  connect: (server) => server.connect(InMemoryTransport.createLinkedPair()[0]),
  experimental: (server) => Object.keys(server.experimental),
  isConnected: (server) => server.isConnected(),
  prompt: (server, { client }) => {
    server.prompt('greet', { name: z.string() }, ({ name }) => ({
      messages: [{ role: 'user', content: { type: 'text', text: name } }],
    }))
    return client.getPrompt({ name: 'greet', arguments: { name: 'Ada' } })
  },
  registerPrompt: (server, { client }) => {
    server.registerPrompt('greet', { title: 'Greet' }, () => ({ messages: [] })).update({ title: 'Hello' })
    return client.listPrompts()
  },
  registerResource: (server, { client }) => {
    server.registerResource('a', 'a:b', { title: 'A' }, () => ({ contents: [{ uri: 'a:b', text: 'text' }] }))
    return client.readResource({ uri: 'a:b' })
  },
  registerTool: async (server, { client }) => {
    const tool = server.registerTool('add', { inputSchema: { a: z.number() } }, ({ a }) => ownText(String(a + 1)))
    const result = await client.callTool({ name: 'add', arguments: { a: 1 } })
    tool.disable()
    return [result, await client.listTools()]
  },
  resource: (server, { client }) => {
    server.resource('a', new ResourceTemplate('a:{id}', { list: undefined }), (uri, { id }) => ({
      contents: [{ uri: uri.href, text: String(id) }],
    }))
    return client.readResource({ uri: 'a:7' })
  },
  sendLoggingMessage: async (server, { received }) => {
    await server.sendLoggingMessage({ level: 'error', data: 'late' })
    return received
  },
  sendPromptListChanged: (server) => server.sendPromptListChanged(),
  sendResourceListChanged: (server) => server.sendResourceListChanged(),
  sendToolListChanged: (server) => server.sendToolListChanged(),
  setCompletionRequestHandler: (server) => inner(server, 'setCompletionRequestHandler'),
  setPromptRequestHandlers: (server) => inner(server, 'setPromptRequestHandlers'),
  setResourceRequestHandlers: (server) => inner(server, 'setResourceRequestHandlers'),
  setToolRequestHandlers: (server) => inner(server, 'setToolRequestHandlers'),
  tool: (server, { client }) => {
    server.tool('add', { a: z.number() }, ({ a }) => ownText(String(a + 1)))
    return client.callTool({ name: 'add', arguments: { a: 'one' } })
  },
  validateToolInput: (server) => inner(server, 'validateToolInput', {}, { a: 1 }, 'add'),
  validateToolOutput: (server) => inner(server, 'validateToolOutput', {}, {}, 'add'),
}

/** Calls a member that is private in the types, and that programs call. */
function inner(server: McpServer, name: string, ...args: unknown[]): unknown {
  return (server as unknown as Record<string, (...args: unknown[]) => unknown>)[name]!(...args)
}

async function connectClient(held: Server | McpServer): Promise<World> {
  const received: string[] = []
  const capabilities = { roots: { listChanged: true }, sampling: {}, elicitation: { form: {}, url: {} } }
  const client = new Client({ name: 'test', version: '1.0.0' }, { capabilities })
  client.setRequestHandler(ListRootsRequestSchema, () => ({ roots: [] }))
  client.setRequestHandler(ElicitRequestSchema, () => ({ action: 'decline' as const }))
  client.setRequestHandler(CreateMessageRequestSchema, () => ({
    model: 'none',
    role: 'assistant' as const,
    content: { type: 'text' as const, text: 'hi' },
  }))
  client.fallbackNotificationHandler = async ({ method }) => void received.push(method)
  const [ours, theirs] = InMemoryTransport.createLinkedPair()
  await held.connect(theirs)
  await client.connect(ours)
  return { client, received }
}

const info = { name: 'shop', version: '1.0.0' }
const lists = { tools: { listChanged: true }, prompts: {}, resources: {}, completions: {}, logging: {} }
const same = <T extends object>(held: T): T => held

async function outcomeWith(wrap: typeof same, name: string): Promise<unknown> {
  const server = wrap(new Server(info, { capabilities: { tools: { listChanged: true }, logging: {} } }))
  const world = await connectClient(server)
  const outcome = await outcomeOf(() => uses[name]!(server, world))
  await world.client.close()
  return outcome
}

async function mcpOutcomeWith(wrap: typeof same, name: string): Promise<unknown> {
  const server = wrap(new McpServer(info, { capabilities: lists }))
  const world = await connectClient(server)
  const outcome = await outcomeOf(() => mcpUses[name]!(server, world))
  await world.client.close()
  return outcome
}

describe('Server', () => {
  it('has no member without a use in this file', () => {
    expect(Object.keys(uses).sort()).toEqual(membersOf(Server))
  })

  for (const [wrapper, wrap] of Object.entries(wrappers)) {
    it.each(Object.keys(uses))(`behaves the same behind ${wrapper}: %s`, async (name) => {
      expect(await outcomeWith(wrap, name)).toEqual(await outcomeWith(same, name))
    })
  }
})

describe('McpServer', () => {
  it('has no member without a use in this file', () => {
    expect(Object.keys(mcpUses).sort()).toEqual(membersOf(McpServer))
  })

  for (const [wrapper, wrap] of Object.entries(wrappers)) {
    it.each(Object.keys(mcpUses))(`behaves the same behind ${wrapper}: %s`, async (name) => {
      expect(await mcpOutcomeWith(wrap, name)).toEqual(await mcpOutcomeWith(same, name))
    })
  }
})
