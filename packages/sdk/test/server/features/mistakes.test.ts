import { connect } from 'tenon/client'
import { completable, McpServer, ResourceTemplate } from 'tenon/server'
import { describe, expect, it } from 'vitest'
import * as z from 'zod'

const info = { name: 's', version: '1' }

describe('a mistake in code that uses the library is reported where it is made', () => {
  const server = new McpServer(info)
  const slips: [string, () => unknown, RegExp][] = [
    ['a server without a name', () => new McpServer(undefined as never), /requires a name and a version/],
    [
      'a tool without a handler',
      () => server.registerTool('a', {}, undefined as never),
      /Tool "a": the third argument, the handler/,
    ],
    [
      'a prompt without a handler',
      () => server.registerPrompt('a', {}, undefined as never),
      /Prompt "a": the third argument, the handler/,
    ],
    [
      'a resource without a reader',
      () => server.registerResource('a', 'a://b', {}, undefined as never),
      /Resource "a": the fourth argument/,
    ],
    ['middleware that is no function', () => server.use({} as never), /use\(\) requires a function/],
    ['a mount without a prefix', () => server.mount(new McpServer(info), undefined as never), /requires a prefix/],
    [
      'a shape of type names',
      () => server.registerTool('b', { inputSchema: { a: 'string' } }, () => 'x'),
      /no keyword/,
    ],
    [
      'a mixture of zod and JSON Schema',
      () => server.registerTool('c', { inputSchema: { a: z.string(), b: { type: 'number' } } as never }, () => 'x'),
      /a is a schema of a library/,
    ],
    [
      'a template given as a string',
      () => server.registerResource('d', 'x://{id}', {}, () => 'x'),
      /new ResourceTemplate/,
    ],
    [
      'suggestions for no variable',
      () => new ResourceTemplate('x://{a}' as string, { complete: { b: () => [] } }),
      /Unknown variable "b"/,
    ],
  ]
  it.each(slips)('%s', (_what, slip, message) => {
    expect(slip).toThrow(TypeError)
    expect(slip).toThrow(message)
  })

  it('arguments that cannot be serialized', async () => {
    const echo = new McpServer(info)
    echo.registerTool('echo', { inputSchema: { type: 'object' } }, () => 'x')
    await using client = await connect(echo)
    const error = await client.callTool('echo', { big: 1n }).catch((reason) => reason)
    expect(error).toMatchObject({ code: 'invalid-argument', message: expect.stringContaining('tools/call') })
    expect((await client.callTool('echo')).text).toBe('x')
  })

  it('middleware that does not return', async () => {
    const errors: unknown[] = []
    const forgetful = new McpServer(info, { onError: (error) => errors.push(error) })
    forgetful.registerTool('a', {}, () => 'x')
    forgetful.use((async (_request: unknown, next: () => unknown) => void (await next())) as never)
    await using client = await connect(forgetful)
    await expect(client.callTool('a')).rejects.toMatchObject({ rpcCode: -32603 })
    expect(String(errors[0])).toContain('Return the result of next()')
  })
})

describe('completers', () => {
  it('belong to the argument, not to the schema object that it shares with other arguments', async () => {
    const language = z.string()
    const server = new McpServer(info)
    server.registerPrompt(
      'p',
      { argsSchema: { a: completable(language, () => ['a']), b: completable(language, () => ['b']), c: language } },
      () => 'x',
    )
    await using client = await connect(server)
    const ask = async (name: string) =>
      (await client.complete({ ref: { type: 'ref/prompt', name: 'p' }, argument: { name, value: '' } })).values
    expect([await ask('a'), await ask('b'), await ask('c')]).toEqual([['a'], ['b'], []])
  })
})

describe('a server that gets its first tool after a client has connected', () => {
  it('is queried again on 2026-07-28, and the tool is found', async () => {
    const server = new McpServer(info)
    await using client = await connect(server, { revision: '2026-07-28' })
    await expect(client.callTool('late')).rejects.toMatchObject({ code: 'capability-missing' })
    server.registerTool('late', {}, () => 'here')
    expect((await client.callTool('late')).text).toBe('here')
  })

  it('is reported with the capability to declare, on handshake revisions', async () => {
    const server = new McpServer(info)
    await using client = await connect(server, { revision: '2025-11-25' })
    server.registerTool('late', {}, () => 'here')
    await expect(client.callTool('late')).rejects.toThrow('capabilities: { tools: {} }')
  })
})

describe('an error from a call', () => {
  it('includes the calling function in its stack', async () => {
    const server = new McpServer(info)
    server.registerTool('a', {}, () => 'x')
    await using client = await connect(server)
    async function theOneWhoAsked() {
      return await client.callTool('b')
    }
    const error = await theOneWhoAsked().catch((reason) => reason)
    expect(error.stack).toContain('theOneWhoAsked')
  })
})
