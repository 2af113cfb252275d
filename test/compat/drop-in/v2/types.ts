import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import type { CallToolResult } from '@modelcontextprotocol/server'
import { createMcpHandler, McpServer, ProtocolError, ProtocolErrorCode } from '@modelcontextprotocol/server'
import { serveStdio } from '@modelcontextprotocol/server/stdio'
import { z } from 'zod'

function create(): McpServer {
  const server = new McpServer({ name: 'shop', version: '1.0.0' })
  server.registerTool(
    'add',
    { inputSchema: z.object({ a: z.number(), b: z.number() }), outputSchema: z.object({ sum: z.number() }) },
    async ({ a, b }, ctx): Promise<CallToolResult> => {
      const sum: number = a + b
      ctx.mcpReq.signal.throwIfAborted()
      const token: string | undefined = ctx.http?.authInfo?.token
      if (Number.isNaN(sum)) throw new ProtocolError(ProtocolErrorCode.InvalidParams, `Not numbers: ${token}`)
      return { content: [{ type: 'text', text: String(sum) }], structuredContent: { sum } }
    },
  )
  return server
}

export const handler = createMcpHandler(create)
export const respond = (request: Request): Promise<Response> => handler.fetch(request)
export const serve = () => serveStdio(create)

export async function call(url: string): Promise<string> {
  const client = new Client({ name: 'cashier', version: '1.0.0' })
  await client.connect(new StreamableHTTPClientTransport(new URL(url)))
  const { tools } = await client.listTools()
  const result = await client.callTool({ name: tools[0]!.name, arguments: { a: 1, b: 2 } })
  const [block] = result.content
  return block?.type === 'text' ? block.text : JSON.stringify(result.structuredContent)
}
