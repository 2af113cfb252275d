import { afterEach, expect, it } from 'vitest'
import * as z4 from 'zod'
import * as z3 from 'zod/v3'
import { McpServer } from '../../src/server/mcp.ts'
import type { ZodRawShapeCompat } from '../../src/shared/zod-reading.ts'
import { connectTo } from './connect.ts'

afterEach(() => {
  z3.setErrorMap(z3.defaultErrorMap)
  z4.config({ customError: undefined })
})

const prefix = 'MCP error -32602: Input validation error: Invalid arguments for tool order: '

async function order(inputSchema: ZodRawShapeCompat) {
  const server = new McpServer({ name: 'shop', version: '1.0.0' })
  server.registerTool('order', { inputSchema }, () => ({ content: [] }))
  server.registerPrompt('order', { argsSchema: inputSchema } as object, () => ({ messages: [] }))
  await using client = await connectTo(server, '2025-11-25')
  const result = await client.callTool('order', { item: { size: 7 } })
  const problem = await client.getPrompt('order', { item: '7' }).catch((error: Error) => error.message)
  return { text: result.text.replace(prefix, ''), problem }
}

it('passes the whole path of a value to the error map of zod 3', async () => {
  const paths: unknown[] = []
  z3.setErrorMap(({ path }) => {
    paths.push(path)
    return { message: `Wrong ${String(path[0])}` }
  })
  const { text, problem } = await order({ item: z3.object({ size: z3.string() }), count: z3.number() })
  expect(text).toBe('Wrong item at item.size\nWrong count at count')
  expect(problem).toContain('Wrong item at item\nWrong count at count')
  expect(paths).toEqual([['item', 'size'], ['count'], ['item'], ['count']])
})

it('passes the whole path of a value to the error map of zod 4', async () => {
  const paths: unknown[] = []
  z4.config({
    customError: ({ path }) => {
      paths.push(path)
      return `Wrong ${String(path?.[0])}`
    },
  })
  const { text, problem } = await order({ item: z4.object({ size: z4.string() }), count: z4.number() })
  expect(text).toBe('Wrong item at item.size\nWrong count at count')
  expect(problem).toContain('Wrong item at item\nWrong count at count')
  expect(paths).toEqual([['item', 'size'], ['count'], ['item'], ['count']])
})
