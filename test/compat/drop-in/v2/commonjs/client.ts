import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { McpServer } from '@modelcontextprotocol/server'
import { z } from 'zod'

const server = new McpServer({ name: 'shop', version: '1.0.0' })
server.registerTool('twice', { inputSchema: z.object({ a: z.number() }) }, ({ a }) => ({
  content: [{ type: 'text', text: String(a * 2) }],
}))

async function main(): Promise<void> {
  const client = new Client({ name: 'cashier', version: '1.0.0' })
  await client.connect(new StdioClientTransport({ command: process.execPath, args: ['server.js'] }))
  const { tools } = await client.listTools()
  const name: string = tools[0]!.name
  const { content } = await client.callTool({ name, arguments: { a: 1, b: 2 } })
  if (content[0]?.type === 'text') console.log(`${name}: ${content[0].text}`)
  await client.close()
}
main()
