// Returns everything that some revision does not have: titles, icons, annotations, output schemas, structured content, audio, links
// and tasks. SDK 1.x sends it to clients of every revision.
import {
  InMemoryTaskMessageQueue,
  InMemoryTaskStore,
} from '@modelcontextprotocol/sdk/experimental/tasks/stores/in-memory.js'
import { McpServer, ResourceTemplate } from '@modelcontextprotocol/sdk/server/mcp.js'
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js'
import * as z from 'zod'

const icons = [{ src: 'https://shop.example/icon.png', mimeType: 'image/png', sizes: ['48x48'], theme: 'light' }]
const annotations = { audience: ['user'], priority: 0.5, lastModified: '2025-01-01T00:00:00Z' }
const contents = [
  { type: 'text', text: 'one', annotations },
  { type: 'audio', data: 'AAAA', mimeType: 'audio/wav' },
  { type: 'resource_link', uri: 'shop://one', name: 'one', title: 'One', icons, annotations },
  { type: 'resource', resource: { uri: 'shop://two', text: 'two', _meta: { shelf: 2 } } },
]

const server = new McpServer(
  { name: 'shop', version: '1.0.0', title: 'Shop', description: 'Sells', icons, websiteUrl: 'https://shop.example' },
  {
    instructions: 'Buy.',
    capabilities: { logging: {}, tasks: { list: {}, cancel: {}, requests: { tools: { call: {} } } } },
    taskStore: new InMemoryTaskStore(),
    taskMessageQueue: new InMemoryTaskMessageQueue(),
  },
)
server.registerTool(
  'price',
  {
    title: 'Price',
    description: 'Price of an item',
    inputSchema: { item: z.string() },
    outputSchema: { price: z.number(), currency: z.string().optional() },
    annotations: { title: 'Price', readOnlyHint: true, idempotentHint: true },
    _meta: { shelf: 1 },
  },
  ({ item }) => ({ content: [{ type: 'text', text: item }], structuredContent: { price: 3 }, _meta: { shelf: 1 } }),
)
server.registerTool('show', { description: 'Shows all kinds of content' }, () => ({ content: contents }))
server.registerTool('broken', { outputSchema: { price: z.number() } }, () => ({ content: [], structuredContent: {} }))
server.experimental.tasks.registerToolTask(
  'wrap',
  { title: 'Wrap', execution: { taskSupport: 'optional' } },
  {
    createTask: async ({ taskStore }) => {
      const task = await taskStore.createTask({ ttl: 60_000, pollInterval: 10 })
      await taskStore.storeTaskResult(task.taskId, 'completed', { content: contents, structuredContent: { paper: 1 } })
      return { task }
    },
    getTask: (_args, { taskId, taskStore }) => taskStore.getTask(taskId),
    getTaskResult: (_args, { taskId, taskStore }) => taskStore.getTaskResult(taskId),
  },
)
const described = { title: 'Note', description: 'A note', mimeType: 'text/plain', icons, annotations, size: 3 }
server.registerResource('note', 'shop://note', described, () => ({
  contents: [{ uri: 'shop://note', text: 'one', _meta: { shelf: 3 } }],
}))
const template = new ResourceTemplate('shop://items/{id}', {
  list: () => ({ resources: [{ uri: 'shop://items/1', name: 'first', title: 'First', icons }] }),
  complete: { id: (value) => ['1', '12', '2'].filter((id) => id.startsWith(value)) },
})
server.registerResource('item', template, described, ({ href }) => ({ contents: [{ uri: href, blob: 'AAAA' }] }))
server.registerPrompt(
  'greet',
  { title: 'Greet', description: 'Greets', argsSchema: { name: z.string().describe('Who') } },
  ({ name }) => ({
    description: name,
    messages: contents.map((content) => ({ role: 'user', content })),
  }),
)

await server.connect(new StdioServerTransport())
