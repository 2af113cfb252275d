import { compileJsonSchema, connect, type JsonSchemaCompiler, McpError } from 'tenon/client'
import { McpServer, type McpServerOptions } from 'tenon/server'
import { describe, expect, it } from 'vitest'

const info = { name: 'mailer', version: '1.0.0' }
const address = { type: 'object', properties: { to: { type: 'string', format: 'email' } }, required: ['to'] }
const withFormats: JsonSchemaCompiler = (schema) => compileJsonSchema(schema, { formats: true })

const mailer = (options: McpServerOptions) => {
  const server = new McpServer(info, options)
  server.registerTool('send', { inputSchema: address }, ({ to }) => `Sent to ${to}`)
  server.registerPrompt('write', { argsSchema: address }, () => 'Write a letter.')
  return server
}

describe('a JSON Schema validator of the program', () => {
  it('checks the arguments of tools', async () => {
    await using client = await connect(mailer({ compileJsonSchema: withFormats }))
    expect(await client.callTool('send', { to: 'nobody' })).toMatchObject({ isError: true })
    expect((await client.callTool('send', { to: 'ada@example.com' })).text).toBe('Sent to ada@example.com')
  })

  it('checks the arguments of prompts', async () => {
    await using client = await connect(mailer({ compileJsonSchema: withFormats }))
    await expect(client.getPrompt('write', { to: 'nobody' })).rejects.toThrow('to')
    expect((await client.getPrompt('write', { to: 'ada@example.com' })).messages).toHaveLength(1)
  })

  it('checks the structured content that a client receives', async () => {
    const server = new McpServer(info)
    server.registerTool('sender', { outputSchema: address }, () => ({ to: 'nobody' }))
    await using strict = await connect(server, { compileJsonSchema: withFormats })
    await strict.listTools().all()
    const error = await strict.callTool('sender').catch((error) => error)
    expect(error).toBeInstanceOf(McpError)
    expect(error).toMatchObject({ code: 'invalid-output' })
    await using lenient = await connect(server)
    await lenient.listTools().all()
    expect((await lenient.callTool('sender')).structuredContent).toEqual({ to: 'nobody' })
  })

  it('leaves content unchecked, with a warning, if it cannot use the schema of the server', async () => {
    const server = new McpServer(info)
    server.registerTool('sender', { outputSchema: address }, () => ({ to: 'nobody' }))
    const refuse: JsonSchemaCompiler = () => {
      throw new Error('no such dialect')
    }
    await using client = await connect(server, { compileJsonSchema: refuse })
    const warnings: string[] = []
    client.on('warning', ({ message }) => warnings.push(message))
    await client.listTools().all()
    expect((await client.callTool('sender')).structuredContent).toEqual({ to: 'nobody' })
    expect(warnings).toEqual(['The output of the tool "sender" is not checked: no such dialect'])
  })

  it('rejects a tool at its registration if it cannot use its schema', () => {
    const refuse: JsonSchemaCompiler = () => {
      throw new Error('no such dialect')
    }
    expect(() => mailer({ compileJsonSchema: refuse })).toThrow('no such dialect')
  })
})
