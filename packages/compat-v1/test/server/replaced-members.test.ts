import { expect, it } from 'vitest'
import { z } from 'zod'
import { McpServer } from '../../src/server/mcp.ts'
import { connectTo } from './connect.ts'

it('calls a validateToolInput that the program replaced', async () => {
  const server = new McpServer({ name: 'shop', version: '1.0.0' })
  server.registerTool('buy', { inputSchema: { count: z.number() } }, ({ count }) => ({
    content: [{ type: 'text', text: String(count) }],
  }))
  const replaced = server as unknown as {
    validateToolInput(tool: object, args: unknown, name: string): Promise<unknown>
  }
  const original = replaced.validateToolInput.bind(server)
  replaced.validateToolInput = async (tool, args, name) => {
    try {
      return await original(tool, args, name)
    } catch {
      throw new Error(`Say how many you want to ${name}.`)
    }
  }
  const client = await connectTo(server, '2025-11-25')
  expect((await client.callTool('buy', { count: 'two' })).text).toBe('Say how many you want to buy.')
  expect((await client.callTool('buy', { count: 2 })).text).toBe('2')
  await client.close()
})

it('accepts icons with relative URLs, which it announces as they are', async () => {
  const icons = [{ src: './shop.svg' }]
  const server = new McpServer({ name: 'shop', version: '1.0.0', icons })
  const client = await connectTo(server, '2025-11-25')
  expect(client.server.info?.icons).toEqual(icons)
  await client.close()
})
