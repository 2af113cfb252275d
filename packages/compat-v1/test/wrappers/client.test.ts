import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { Client } from '../../src/client/index.ts'
import { InMemoryTransport } from '../../src/inMemory.ts'
import { Server } from '../../src/server/index.ts'
import {
  CallToolRequestSchema,
  CallToolResultSchema,
  CompleteRequestSchema,
  EmptyResultSchema,
  GetPromptRequestSchema,
  ListPromptsRequestSchema,
  ListResourcesRequestSchema,
  ListResourceTemplatesRequestSchema,
  ListRootsRequestSchema,
  ListToolsRequestSchema,
  ReadResourceRequestSchema,
  SubscribeRequestSchema,
  UnsubscribeRequestSchema,
} from '../../src/types.ts'
import { membersOf, outcomeOf, wrappers } from './wrappers.ts'

interface World {
  readonly server: Server
  readonly received: string[]
}

/** What `Client` declares as protected. Subclasses call these, so they are checked as well. */
interface Protected {
  assertCapability(capability: string, method: string): void
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

const inside = (client: Client) => client as unknown as Protected

/** One use of each member. It returns what can be seen of it. */
const uses: Record<string, (client: Client, world: World) => unknown> = {
  assertCanSetRequestHandler: (client) => client.assertCanSetRequestHandler('ping'),
  assertCapability: (client) => inside(client).assertCapability('logging', 'logging/setLevel'),
  assertCapabilityForMethod: (client) => inside(client).assertCapabilityForMethod('prompts/get'),
  assertNotificationCapability: (client) =>
    inside(client).assertNotificationCapability('notifications/roots/list_changed'),
  assertRequestHandlerCapability: (client) => inside(client).assertRequestHandlerCapability('sampling/createMessage'),
  assertTaskCapability: (client) => inside(client).assertTaskCapability('tools/call'),
  assertTaskHandlerCapability: (client) => inside(client).assertTaskHandlerCapability('sampling/createMessage'),
  callTool: async (client) => {
    await client.listTools()
    return client.callTool({ name: 'echo', arguments: { text: 'hi' } })
  },
  cancelTask: (client) => inside(client).cancelTask({ taskId: '1' }),
  close: async (client) => {
    const closed = new Promise<string>((resolve) => {
      client.onclose = () => resolve('onclose')
    })
    await client.close()
    return [await closed, client.transport === undefined]
  },
  complete: (client) =>
    client.complete({ ref: { type: 'ref/prompt', name: 'greet' }, argument: { name: 'a', value: 'b' } }),
  connect: (client) => client.connect(InMemoryTransport.createLinkedPair()[0]),
  experimental: (client) => client.experimental.tasks.getTask('1'),
  getInstructions: (client) => client.getInstructions(),
  getPrompt: (client) => client.getPrompt({ name: 'greet' }),
  getServerCapabilities: (client) => client.getServerCapabilities(),
  getServerVersion: (client) => client.getServerVersion(),
  getTask: (client) => inside(client).getTask({ taskId: '1' }),
  getTaskResult: (client) => inside(client).getTaskResult({ taskId: '1' }, CallToolResultSchema),
  listPrompts: (client) => client.listPrompts(),
  listResourceTemplates: (client) => client.listResourceTemplates(),
  listResources: (client) => client.listResources(),
  listTasks: (client) => inside(client).listTasks(),
  listTools: (client) => client.listTools(),
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
  removeRequestHandler: async (client, { server }) => {
    client.removeRequestHandler('ping')
    return server.ping()
  },
  request: (client) => client.request({ method: 'ping' }, EmptyResultSchema),
  requestStream: async (client) => {
    const messages = []
    for await (const message of inside(client).requestStream({ method: 'ping' }, EmptyResultSchema))
      messages.push(message)
    return messages
  },
  sendRootsListChanged: async (client, { received }) => {
    await client.sendRootsListChanged()
    return received
  },
  setLoggingLevel: (client) => client.setLoggingLevel('error'),
  setNotificationHandler: async (client, { server }) => {
    const schema = z.object({ method: z.literal('notifications/message'), params: z.object({ data: z.string() }) })
    const received = new Promise((resolve) => client.setNotificationHandler(schema, ({ params }) => resolve(params)))
    await server.sendLoggingMessage({ level: 'error', data: 'late' })
    return received
  },
  setRequestHandler: async (client, { server }) => {
    client.setRequestHandler(ListRootsRequestSchema, async (_request, extra) => {
      // The handler reaches the server through what it is given.
      await extra.sendRequest({ method: 'ping' }, EmptyResultSchema)
      return { roots: [{ uri: 'file:///a' }] }
    })
    return server.listRoots()
  },
  subscribeResource: (client) => client.subscribeResource({ uri: 'a:b' }),
  transport: (client) => client.transport !== undefined,
  unsubscribeResource: (client) => client.unsubscribeResource({ uri: 'a:b' }),
}

function createServer(received: string[]): Server {
  const capabilities = { tools: {}, prompts: {}, resources: { subscribe: true }, completions: {}, logging: {} }
  const server = new Server({ name: 'shop', version: '1.0.0' }, { capabilities, instructions: 'Ask.' })
  server.setRequestHandler(ListToolsRequestSchema, () => ({
    tools: [{ name: 'echo', inputSchema: { type: 'object' as const } }],
  }))
  server.setRequestHandler(CallToolRequestSchema, ({ params }) => ({
    content: [{ type: 'text' as const, text: JSON.stringify(params.arguments) }],
  }))
  server.setRequestHandler(ListPromptsRequestSchema, () => ({ prompts: [{ name: 'greet' }] }))
  server.setRequestHandler(GetPromptRequestSchema, () => ({ messages: [] }))
  server.setRequestHandler(ListResourcesRequestSchema, () => ({ resources: [{ uri: 'a:b', name: 'b' }] }))
  server.setRequestHandler(ListResourceTemplatesRequestSchema, () => ({ resourceTemplates: [] }))
  server.setRequestHandler(ReadResourceRequestSchema, () => ({ contents: [{ uri: 'a:b', text: 'text' }] }))
  server.setRequestHandler(SubscribeRequestSchema, () => ({}))
  server.setRequestHandler(UnsubscribeRequestSchema, () => ({}))
  server.setRequestHandler(CompleteRequestSchema, () => ({ completion: { values: ['bc'] } }))
  server.fallbackNotificationHandler = async ({ method }) => void received.push(method)
  return server
}

async function connect(client: Client, server: Server): Promise<void> {
  const [ours, theirs] = InMemoryTransport.createLinkedPair()
  await server.connect(theirs)
  await client.connect(ours)
}

async function outcomeWith(wrap: <T extends object>(held: T) => T, name: string): Promise<unknown> {
  const received: string[] = []
  const server = createServer(received)
  const client = wrap(
    new Client({ name: 'test', version: '1.0.0' }, { capabilities: { roots: { listChanged: true } } }),
  )
  await connect(client, server)
  try {
    return await outcomeOf(() => uses[name]!(client, { server, received }))
  } finally {
    await client.close()
  }
}

describe('Client', () => {
  it('has no member without a use in this file', () => {
    expect(Object.keys(uses).sort()).toEqual(membersOf(Client))
  })

  for (const [wrapper, wrap] of Object.entries(wrappers)) {
    it.each(Object.keys(uses))(`behaves the same behind ${wrapper}: %s`, async (name) => {
      expect(await outcomeWith(wrap, name)).toEqual(await outcomeWith((held) => held, name))
    })
  }
})
