import type { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js'
import { Server } from '@modelcontextprotocol/sdk/server/index.js'
import { McpServer, ResourceTemplate } from '@modelcontextprotocol/sdk/server/mcp.js'
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js'
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js'
import type { RequestHandlerExtra } from '@modelcontextprotocol/sdk/shared/protocol.js'
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import {
  CallToolRequestSchema,
  type CallToolResult,
  CallToolResultSchema,
  ErrorCode,
  ListToolsRequestSchema,
  McpError,
  type ServerNotification,
  type ServerRequest,
  type Tool,
} from '@modelcontextprotocol/sdk/types.js'
import { z } from 'zod'

const server = new McpServer({ name: 'shop', version: '1.0.0' }, { capabilities: { logging: {} } })

server.registerTool(
  'add',
  { inputSchema: { a: z.number(), b: z.number() }, outputSchema: { sum: z.number() } },
  async ({ a, b }, { sendNotification, requestId, authInfo }) => {
    const sum: number = a + b
    const token: string | undefined = authInfo?.token
    await sendNotification({ method: 'notifications/message', params: { level: 'info', data: [requestId, token] } })
    return { content: [{ type: 'text', text: String(sum) }], structuredContent: { sum } }
  },
)
server.tool('old', 'An old call shape', { city: z.string() }, async ({ city }): Promise<CallToolResult> => {
  const answer = await server.server.elicitInput({
    message: `Really ${city.toUpperCase()}?`,
    requestedSchema: { type: 'object', properties: { ok: { type: 'boolean' } }, required: ['ok'] },
  })
  if (answer.action !== 'accept') throw new McpError(ErrorCode.InvalidRequest, 'Declined')
  return { content: [{ type: 'text', text: String(answer.content?.ok) }] }
})
server.registerResource(
  'hours',
  new ResourceTemplate('shop://{day}/hours', { list: undefined }),
  { mimeType: 'text/plain' },
  async (uri, { day }) => ({ contents: [{ uri: uri.href, text: String(day) }] }),
)
server.registerPrompt('greet', { argsSchema: { name: z.string() } }, ({ name }) => ({
  messages: [{ role: 'user', content: { type: 'text', text: `Greet ${name.trim()}.` } }],
}))

const low = new Server({ name: 'low', version: '1.0.0' }, { capabilities: { tools: {} } })
const tools: Tool[] = [{ name: 'add', inputSchema: { type: 'object', properties: { a: { type: 'number' } } } }]
low.setRequestHandler(ListToolsRequestSchema, async () => ({ tools }))
low.setRequestHandler(
  CallToolRequestSchema,
  async (request, extra: RequestHandlerExtra<ServerRequest, ServerNotification>): Promise<CallToolResult> => {
    extra.signal.throwIfAborted()
    return { content: [{ type: 'text', text: request.params.name }], isError: request.params.arguments === undefined }
  },
)

export const notFound: ErrorCode.MethodNotFound = ErrorCode.MethodNotFound

export const transports: Transport[] = [
  new StdioServerTransport(),
  new StreamableHTTPServerTransport({ sessionIdGenerator: () => crypto.randomUUID() }),
  new StdioClientTransport({ command: 'node' }),
  new StreamableHTTPClientTransport(new URL('http://localhost:3000/mcp')),
  ...InMemoryTransport.createLinkedPair(),
]

export async function call(client: Client): Promise<string> {
  client.onerror = (error) => console.error(error.message)
  const { tools: listed } = await client.listTools()
  const names: string[] = listed.map((tool) => tool.name)
  const result = await client.callTool({ name: names[0]!, arguments: { a: 1 } })
  const raw = await client.request({ method: 'tools/call', params: { name: 'add' } }, CallToolResultSchema)
  const [block] = raw.content
  return block?.type === 'text' ? block.text : JSON.stringify(result.structuredContent)
}
