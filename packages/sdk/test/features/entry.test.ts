import * as tenon from 'tenon'
import { connect, McpServer } from 'tenon'
import * as client from 'tenon/client'
import * as server from 'tenon/server'
import { expect, it } from 'vitest'

it('can be imported from the package itself, where newcomers look first', async () => {
  const greeter = new McpServer({ name: 'greeter', version: '1' })
  greeter.registerTool('greet', {}, () => 'hello')
  await using connected = await connect(greeter)
  expect((await connected.callTool('greet')).text).toBe('hello')
})

it.each([
  ['McpServer', server],
  ['serveStdio', server],
  ['serveHttp', server],
  ['createMcpHandler', server],
  ['Client', client],
  ['connect', client],
] as const)('exports the same %s from the package and from its subpath', (name, subpath) => {
  expect(tenon[name]).toBe((subpath as unknown as Record<string, unknown>)[name])
})
