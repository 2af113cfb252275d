// A server written with the fastmcp package, which is written for the official SDK 1.x.
import { FastMCP } from 'fastmcp'
import { z } from 'zod'

const server = new FastMCP({ name: 'shop', version: '1.0.0' })

server.addTool({
  name: 'add',
  description: 'Adds two numbers',
  parameters: z.object({ a: z.number(), b: z.number() }),
  execute: async ({ a, b }) => String(a + b),
})
server.addResource({
  uri: 'shop://hours',
  name: 'Hours',
  mimeType: 'text/plain',
  load: async () => ({ text: '9 to 5' }),
})
server.addPrompt({
  name: 'greet',
  arguments: [{ name: 'name', required: true }],
  load: async ({ name }) => `Greet ${name}.`,
})

await server.start({ transportType: 'stdio' })
