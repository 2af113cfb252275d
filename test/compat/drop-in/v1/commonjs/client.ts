import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { type CallToolResult, CallToolResultSchema, type Tool } from '@modelcontextprotocol/sdk/types.js'
import { z } from 'zod'

const server = new McpServer({ name: 'shop', version: '1.0.0' })
server.registerTool('twice', { inputSchema: { a: z.number() } }, ({ a }) => ({
  content: [{ type: 'text', text: String(a * 2) }],
}))

async function main(): Promise<void> {
  const client = new Client({ name: 'cashier', version: '1.0.0' })
  await client.connect(new StdioClientTransport({ command: process.execPath, args: ['server.js'] }))
  const tools: Tool[] = (await client.listTools()).tools
  const params = { name: tools[0]!.name, arguments: { a: 1, b: 2 } }
  const { content }: CallToolResult = await client.request({ method: 'tools/call', params }, CallToolResultSchema)
  if (content[0]?.type === 'text') console.log(`${params.name}: ${content[0].text}`)
  await client.close()
}
main()
