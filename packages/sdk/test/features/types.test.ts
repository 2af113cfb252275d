import { type } from 'arktype'
import type { Annotations, CallToolResult, Icon } from 'tenon'
import { Client } from 'tenon/client'
import {
  type Context,
  type InferInput,
  type InferOutput,
  McpServer,
  type StandardSchema,
  type ToolReturn,
} from 'tenon/server'
import { describe, expect, expectTypeOf, it } from 'vitest'
import * as z from 'zod'
import * as mini from 'zod/mini'
import { z as z3 } from 'zod/v3'

// The types are checked by tsc; running this file only shows that the calls are accepted as well.
const info = { name: 'types', version: '1' }

describe('arguments of a tool', () => {
  it('come from a raw shape, optional where the schema says so', () => {
    const server = new McpServer(info)
    const inputSchema = {
      a: z.number(),
      b: z.string().optional(),
      c: z.enum(['x', 'y']).default('x'),
      d: z.string().transform((text) => text.length),
      e: z.array(z.object({ f: z.boolean() })),
    }
    server.registerTool('shape', { inputSchema }, (args, ctx) => {
      expectTypeOf(args).toEqualTypeOf<{
        a: number
        c: 'x' | 'y'
        d: number
        e: { f: boolean }[]
        b?: string | undefined
      }>()
      expectTypeOf(ctx).toEqualTypeOf<Context>()
      return 'x'
    })
    expect(server.server.getCapabilities().tools).toBeDefined()
  })

  it('come from z.object, zod 3, zod mini and arktype', () => {
    const server = new McpServer(info)
    server.registerTool('four', { inputSchema: z.object({ a: z.number(), b: z.string().optional() }) }, (args) => {
      expectTypeOf(args).toEqualTypeOf<{ a: number; b?: string | undefined }>()
      return 'x'
    })
    server.registerTool('three', { inputSchema: z3.object({ a: z3.number(), b: z3.string().optional() }) }, (args) => {
      expectTypeOf(args).toEqualTypeOf<{ a: number; b?: string | undefined }>()
      return 'x'
    })
    server.registerTool('mini', { inputSchema: mini.object({ a: mini.number() }) }, (args) => {
      expectTypeOf(args).toEqualTypeOf<{ a: number }>()
      return 'x'
    })
    server.registerTool('ark', { inputSchema: type({ a: 'number', 'b?': 'string' }) }, (args) => {
      expectTypeOf(args).toEqualTypeOf<{ a: number; b?: string }>()
      return 'x'
    })
    expect(server.server.getCapabilities().tools).toBeDefined()
  })

  it('are unknown by name for a JSON Schema, and nothing without a schema', () => {
    const server = new McpServer(info)
    server.registerTool('json', { inputSchema: { type: 'object', properties: { a: { type: 'number' } } } }, (args) => {
      expectTypeOf(args).toEqualTypeOf<Record<string, unknown>>()
      return 'x'
    })
    server.registerTool('none', {}, (args) => {
      expectTypeOf(args).toEqualTypeOf<Record<string, never>>()
      expectTypeOf<Record<never, never>>().toExtend<typeof args>()
      return 'x'
    })
    expect(server.server.getCapabilities().tools).toBeDefined()
  })

  it('can be named by InferInput and InferOutput', () => {
    const shape = { a: z.string().transform(Number), b: z.number().default(1) }
    expectTypeOf<InferInput<typeof shape>>().toEqualTypeOf<{ a: string; b?: number | undefined }>()
    expectTypeOf<InferOutput<typeof shape>>().toEqualTypeOf<{ a: number; b: number }>()
    expectTypeOf<InferOutput<StandardSchema<string, number>>>().toEqualTypeOf<number>()
    expect(Object.keys(shape)).toEqual(['a', 'b'])
  })
})

describe('what a tool returns', () => {
  it('is text, a result or nothing without an output schema', () => {
    expectTypeOf<string | CallToolResult | undefined>().toExtend<ToolReturn<undefined>>()
    expectTypeOf<number>().not.toExtend<ToolReturn<undefined>>()
    const server = new McpServer(info)
    server.registerTool('text', {}, () => 'x')
    server.registerTool('nothing', {}, () => undefined)
    server.registerTool('later', {}, async () => {})
    server.registerTool('full', {}, async () => ({ content: [{ type: 'text', text: 'x' }] }))
    // @ts-expect-error A number is none of these.
    server.registerTool('number', {}, () => 7)
    // @ts-expect-error There is no such kind of content.
    server.registerTool('kind', {}, () => ({ content: [{ type: 'smell', text: 'x' }] }))
    expect(server.server.getCapabilities().tools).toBeDefined()
  })

  it('must fit the output schema', () => {
    const server = new McpServer(info)
    const outputSchema = { sum: z.number(), note: z.string().optional(), unit: z.string().default('C') }
    server.registerTool('fits', { outputSchema }, () => ({ sum: 1 }))
    server.registerTool('later', { outputSchema }, async () => ({ sum: 1, note: 'x', unit: 'F' }))
    // @ts-expect-error The sum is a number.
    server.registerTool('wrong', { outputSchema }, () => ({ sum: 'one' }))
    // @ts-expect-error The sum is missing.
    server.registerTool('less', { outputSchema }, () => ({ note: 'x' }))
    server.registerTool('list', { outputSchema: z.array(z.number()) }, () => [1, 2])
    // @ts-expect-error It must be a list of numbers.
    server.registerTool('texts', { outputSchema: z.array(z.number()) }, () => ['a'])
    expect(server.server.getCapabilities().tools).toBeDefined()
  })
})

describe('the rest of the API', () => {
  it('types the arguments of prompts', () => {
    const server = new McpServer(info)
    server.registerPrompt('p', { argsSchema: { a: z.string(), b: z.string().optional() } }, (args) => {
      expectTypeOf(args).toEqualTypeOf<{ a: string; b?: string | undefined }>()
      return 'x'
    })
    // @ts-expect-error A role is user or assistant.
    server.registerPrompt('q', {}, () => ({ messages: [{ role: 'system', content: { type: 'text', text: 'x' } }] }))
    expect(server.server.getCapabilities().prompts).toBeDefined()
  })

  it('types annotations and icons [ICON-001]', () => {
    expectTypeOf<Icon>().toEqualTypeOf<{ src: string; mimeType?: string; sizes?: string[]; theme?: 'light' | 'dark' }>()
    const server = new McpServer(info)
    // @ts-expect-error An icon has a src.
    const withoutSrc = () => server.registerTool('a', { icons: [{ mimeType: 'image/png' }] }, () => 'x')
    expect(withoutSrc).toThrow('src')
    server.registerTool('b', { annotations: { readOnlyHint: true } }, () => 'x')
    // @ts-expect-error There is no such hint.
    server.registerTool('c', { annotations: { quickHint: true } }, () => 'x')
    // @ts-expect-error The audience is user or assistant.
    const annotations: Annotations = { audience: ['everyone'] }
    const bad = () => server.registerResource('d', 'a://d', { annotations }, () => 'x')
    expect(bad).toThrow('audience')
    expect(server.server.getCapabilities().tools).toBeDefined()
  })

  it('types what a client gets', () => {
    const client = new Client(info)
    type Listed = Awaited<ReturnType<typeof client.listTools>>
    expectTypeOf<Listed['tools'][number]['name']>().toEqualTypeOf<string>()
    expectTypeOf(client.callTool).returns.resolves.toHaveProperty('text')
    expectTypeOf(client.request<'tools/call'>).returns.resolves.toExtend<CallToolResult>()
    expect(client.state).toBe('idle')
  })
})
