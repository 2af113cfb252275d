import * as tenon from 'tenon'
import { connect, McpServer } from 'tenon'
import * as client from 'tenon/client'
import * as server from 'tenon/server'
import { expect, it } from 'vitest'

it('imports everything a newcomer needs from the package itself', async () => {
  const greeter = new McpServer({ name: 'greeter', version: '1' })
  greeter.registerTool('greet', {}, () => 'hello')
  await using connected = await connect(greeter)
  expect((await connected.callTool('greet')).text).toBe('hello')
})

it('exports the same names as the subpaths', () => {
  const { McpServer: Server, serveStdio, serveHttp, createMcpHandler } = server
  expect(tenon).toMatchObject({ McpServer: Server, serveStdio, serveHttp, createMcpHandler })
  expect(tenon.Client).toBe(client.Client)
  expect(tenon.connect).toBe(client.connect)
})
