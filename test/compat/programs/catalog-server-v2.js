// Returns everything that some revision does not have, as the other catalog server does, with the packages 2.x.
import { McpServer, ResourceTemplate } from '@modelcontextprotocol/server'
import { serveStdio } from '@modelcontextprotocol/server/stdio'
import * as z from 'zod'

const icons = [{ src: 'https://shop.example/icon.png', mimeType: 'image/png', sizes: ['48x48'], theme: 'light' }]
const annotations = { audience: ['user'], priority: 0.5, lastModified: '2025-01-01T00:00:00Z' }
const contents = [
  { type: 'text', text: 'one', annotations },
  { type: 'audio', data: 'AAAA', mimeType: 'audio/wav' },
  { type: 'resource_link', uri: 'shop://one', name: 'one', title: 'One', icons, annotations },
  { type: 'resource', resource: { uri: 'shop://two', text: 'two', _meta: { shelf: 2 } } },
]

function createServer() {
  const server = new McpServer(
    { name: 'shop', version: '1.0.0', title: 'Shop', description: 'Sells', icons, websiteUrl: 'https://shop.example' },
    { instructions: 'Buy.', capabilities: { logging: {} }, cacheHints: { 'tools/list': { ttlMs: 1_000 } } },
  )
  server.registerTool(
    'price',
    {
      title: 'Price',
      description: 'Price of an item',
      inputSchema: z.object({ item: z.string() }),
      outputSchema: z.object({ price: z.number(), currency: z.string().optional() }),
      annotations: { title: 'Price', readOnlyHint: true, idempotentHint: true },
      icons,
      _meta: { shelf: 1 },
    },
    ({ item }) => ({ content: [{ type: 'text', text: item }], structuredContent: { price: 3 }, _meta: { shelf: 1 } }),
  )
  server.registerTool('prices', { outputSchema: z.array(z.number()) }, () => ({
    content: [],
    structuredContent: [1, 2],
  }))
  server.registerTool('show', { description: 'Shows all kinds of content' }, () => ({ content: contents }))
  const described = { title: 'Note', description: 'A note', mimeType: 'text/plain', icons, annotations, size: 3 }
  server.registerResource('note', 'shop://note', described, () => ({
    contents: [{ uri: 'shop://note', text: 'one', _meta: { shelf: 3 } }],
    ttlMs: 5,
  }))
  const template = new ResourceTemplate('shop://items/{id}', {
    list: () => ({ resources: [{ uri: 'shop://items/1', name: 'first', title: 'First', icons }] }),
    complete: { id: (value) => ['1', '12', '2'].filter((id) => id.startsWith(value)) },
  })
  server.registerResource('item', template, described, ({ href }) => ({ contents: [{ uri: href, blob: 'AAAA' }] }))
  server.registerPrompt(
    'greet',
    { title: 'Greet', description: 'Greets', icons, argsSchema: z.object({ name: z.string().describe('Who') }) },
    ({ name }) => ({ description: name, messages: contents.map((content) => ({ role: 'user', content })) }),
  )
  return server
}

serveStdio(createServer)
