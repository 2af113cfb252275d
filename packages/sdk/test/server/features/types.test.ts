import { type } from 'arktype'
import type { Annotations, CallToolResult, Icon } from 'tenon'
import { Client, type ToolResult } from 'tenon/client'
import {
  type Context,
  type InferInput,
  type InferOutput,
  inputRequired,
  McpServer,
  type RegisteredResourceTemplate,
  type RegisteredTool,
  ResourceTemplate,
  type StandardSchema,
  type ToolReturn,
  type VariablesOf,
} from 'tenon/server'
import { describe, expect, expectTypeOf, it } from 'vitest'
import * as z from 'zod'
import * as mini from 'zod/mini'
import { z as z3 } from 'zod/v3'

// tsc checks the types; running the file only shows that the calls are accepted.
const info = { name: 'types', version: '1' }

describe('arguments of a tool', () => {
  it('are inferred from a raw shape, with optional fields', () => {
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

  it('are inferred from z.object, zod 3, zod mini and arktype', () => {
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

  it('are a record of unknown values for a JSON Schema, and empty without a schema', () => {
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

  it('are available as InferInput and InferOutput', () => {
    const shape = { a: z.string().transform(Number), b: z.number().default(1) }
    expectTypeOf<InferInput<typeof shape>>().toEqualTypeOf<{ a: string; b?: number | undefined }>()
    expectTypeOf<InferOutput<typeof shape>>().toEqualTypeOf<{ a: number; b: number }>()
    expectTypeOf<InferOutput<StandardSchema<string, number>>>().toEqualTypeOf<number>()
    expect(Object.keys(shape)).toEqual(['a', 'b'])
  })
})

describe('the return value of a tool', () => {
  it('is text, a result or undefined without an output schema', () => {
    expectTypeOf<string | CallToolResult | undefined>().toExtend<ToolReturn<undefined>>()
    expectTypeOf<number>().not.toExtend<ToolReturn<undefined>>()
    const server = new McpServer(info)
    server.registerTool('text', {}, () => 'x')
    server.registerTool('nothing', {}, () => undefined)
    server.registerTool('later', {}, async () => {})
    server.registerTool('full', {}, async () => ({ content: [{ type: 'text', text: 'x' }] }))
    // @ts-expect-error A number is not a valid return value.
    server.registerTool('number', {}, () => 7)
    // @ts-expect-error The content type does not exist.
    server.registerTool('kind', {}, () => ({ content: [{ type: 'smell', text: 'x' }] }))
    expect(server.server.getCapabilities().tools).toBeDefined()
  })

  it('must match the output schema', () => {
    const server = new McpServer(info)
    const outputSchema = { sum: z.number(), note: z.string().optional(), unit: z.string().default('C') }
    server.registerTool('fits', { outputSchema }, () => ({ sum: 1 }))
    server.registerTool('later', { outputSchema }, async () => ({ sum: 1, note: 'x', unit: 'F' }))
    // @ts-expect-error The sum must be a number.
    server.registerTool('wrong', { outputSchema }, () => ({ sum: 'one' }))
    // @ts-expect-error The sum is missing.
    server.registerTool('less', { outputSchema }, () => ({ note: 'x' }))
    server.registerTool('list', { outputSchema: z.array(z.number()) }, () => [1, 2])
    // @ts-expect-error The output must be an array of numbers.
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
    // @ts-expect-error The role must be user or assistant.
    server.registerPrompt('q', {}, () => ({ messages: [{ role: 'system', content: { type: 'text', text: 'x' } }] }))
    expect(server.server.getCapabilities().prompts).toBeDefined()
  })

  it('types annotations and icons [ICON-001]', () => {
    expectTypeOf<Icon>().toEqualTypeOf<{ src: string; mimeType?: string; sizes?: string[]; theme?: 'light' | 'dark' }>()
    const server = new McpServer(info)
    // @ts-expect-error An icon requires a src.
    const withoutSrc = () => server.registerTool('a', { icons: [{ mimeType: 'image/png' }] }, () => 'x')
    expect(withoutSrc).toThrow('src')
    server.registerTool('b', { annotations: { readOnlyHint: true } }, () => 'x')
    // @ts-expect-error The hint does not exist.
    server.registerTool('c', { annotations: { quickHint: true } }, () => 'x')
    // @ts-expect-error The audience must be user or assistant.
    const annotations: Annotations = { audience: ['everyone'] }
    const bad = () => server.registerResource('d', 'a://d', { annotations }, () => 'x')
    expect(bad).toThrow('audience')
    expect(server.server.getCapabilities().tools).toBeDefined()
  })

  it('infers the variables of a template from its URI', () => {
    expectTypeOf<VariablesOf<'greeting://{name}'>>().toEqualTypeOf<{ name: string }>()
    expectTypeOf<VariablesOf<'file://{+path}{#part}'>>().toEqualTypeOf<{ path: string; part: string }>()
    expectTypeOf<VariablesOf<'a://{x,y}{.z}'>>().toEqualTypeOf<{ x: string; y: string; z: string }>()
    expectTypeOf<VariablesOf<'a://{x:3}{/rest*}'>>().toEqualTypeOf<{ x: string; rest: string[] }>()
    expectTypeOf<VariablesOf<'a://x{?q,tags*}{&n}'>>().toEqualTypeOf<{
      q?: string
      tags?: string[]
      n?: string
    }>()
    expectTypeOf<VariablesOf<string>>().toEqualTypeOf<Record<string, string | string[]>>()
    const server = new McpServer(info)
    const template = new ResourceTemplate('greeting://{name}{?lang}', { complete: { name: () => ['Ada'] } })
    const registered = server.registerResource('greeting', template, {}, (uri, variables, ctx) => {
      expectTypeOf(uri).toEqualTypeOf<URL>()
      expectTypeOf(variables).toEqualTypeOf<{ name: string; lang?: string }>()
      expectTypeOf(ctx).toEqualTypeOf<Context>()
      return variables.name
    })
    registered.update({
      read: (_uri, { name, lang }) => {
        expectTypeOf(lang).toEqualTypeOf<string | undefined>()
        return name
      },
    })
    registered.update({ template: new ResourceTemplate('bye://{who}'), read: (_uri, { who }) => who })
    const handles: RegisteredResourceTemplate[] = [registered]
    const fixed = server.registerResource('fixed', 'a://b', {}, (uri, ctx) => {
      expectTypeOf(uri).toEqualTypeOf<URL>()
      expectTypeOf(ctx).toEqualTypeOf<Context>()
      return 'x'
    })
    fixed.update({ uri: 'a://c' })
    expect(handles).toHaveLength(1)
  })

  it('infers the types of a new handler from the registered schemas, or from those in the update', () => {
    const server = new McpServer(info)
    const config = { inputSchema: { a: z.number() }, outputSchema: { sum: z.number() } }
    const tool = server.registerTool('a', config, ({ a }) => ({ sum: a }))
    tool.update({
      handler: (args, ctx) => {
        expectTypeOf(args).toEqualTypeOf<{ a: number }>()
        expectTypeOf(ctx).toEqualTypeOf<Context>()
        return { sum: args.a }
      },
    })
    tool.update({
      inputSchema: { b: z.string() },
      handler: (args) => {
        expectTypeOf(args).toEqualTypeOf<{ b: string }>()
        return { sum: args.b.length }
      },
    })
    // @ts-expect-error The sum must be a number.
    tool.update({ handler: () => ({ sum: 'one' }) })
    const prompt = server.registerPrompt('p', { argsSchema: { a: z.string() } }, () => 'x')
    prompt.update({
      handler: (args) => {
        expectTypeOf(args).toEqualTypeOf<{ a: string }>()
        return args.a
      },
    })
    const tools: RegisteredTool[] = [tool]
    expect(tools).toHaveLength(1)
  })

  it('lets a tool return the result of another tool', () => {
    const server = new McpServer(info)
    const client = new Client(info)
    server.registerTool('proxy', {}, () => client.callTool('a'))
    server.registerTool('typed', {}, async (): Promise<CallToolResult> => client.callTool('a'))
    server.registerTool('asks', {}, (_args, ctx) => (ctx.inputResponses ? 'x' : inputRequired({ requestState: 1 })))
    server.registerTool('fails', {}, async () => {
      throw new Error('always')
    })
    server.registerTool('never', {}, () => new Promise(() => {}))
    expect(server.server.getCapabilities().tools).toBeDefined()
  })

  it('infers structured content from the output schema of the call', () => {
    const client = new Client(info)
    const call = () => client.callTool('a', {}, { outputSchema: { sum: z.number() }, timeoutMs: 10 })
    type Called = Awaited<ReturnType<typeof call>>
    expectTypeOf<Called['structuredContent']>().toEqualTypeOf<{ sum: number } | undefined>()
    const byParams = () => client.callTool({ name: 'a' }, { outputSchema: z.object({ at: z.coerce.date() }) })
    type ByParams = Awaited<ReturnType<typeof byParams>>
    expectTypeOf<ByParams['structuredContent']>().toEqualTypeOf<{ at: Date } | undefined>()
    expectTypeOf(client.callTool).returns.resolves.toHaveProperty('structuredContent')
    expectTypeOf<ToolResult['structuredContent']>().toEqualTypeOf<unknown>()
    expect(client.state).toBe('idle')
  })

  it('types the results of a client', () => {
    const client = new Client(info)
    type Listed = Awaited<ReturnType<typeof client.listTools>>
    expectTypeOf<Listed['tools'][number]['name']>().toEqualTypeOf<string>()
    expectTypeOf(client.callTool).returns.resolves.toHaveProperty('text')
    expectTypeOf(client.request<'tools/call'>).returns.resolves.toExtend<CallToolResult>()
    expect(client.state).toBe('idle')
  })
})
