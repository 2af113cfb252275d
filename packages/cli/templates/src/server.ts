import { McpServer } from 'tenon/server'
import * as z from 'zod'

/** The server. Register your tools, resources and prompts here. */
export const server = new McpServer({ name: 'my-mcp-server', version: '0.1.0' })

server.registerTool(
  'greet',
  {
    description: 'Greets a person',
    inputSchema: { name: z.string().describe('The name of the person') },
    annotations: { readOnlyHint: true },
  },
  ({ name }) => `Hello, ${name}!`,
)
