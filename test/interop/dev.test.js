import assert from 'node:assert/strict'
import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { ToolListChangedNotificationSchema } from '@modelcontextprotocol/sdk/types.js'

// `tenon dev` between the official v1 client and a server that is edited meanwhile. The client knows nothing of restarts.

const cli = fileURLToPath(new URL('../../packages/cli/dist/main.js', import.meta.url))
const edits = 100

const tenonServer = (version) => `
import { McpServer, serveStdio } from '${import.meta.resolve('tenon/server')}'
const server = new McpServer({ name: 'edited', version: '1.0.0' })
server.registerTool('version', { description: '${version}' }, () => '${version}')
await serveStdio(server)
`

const officialServer = (version) => `
import { McpServer } from '${import.meta.resolve('@modelcontextprotocol/sdk/server/mcp.js')}'
import { StdioServerTransport } from '${import.meta.resolve('@modelcontextprotocol/sdk/server/stdio.js')}'
const server = new McpServer({ name: 'edited', version: '1.0.0' })
server.registerTool('version', { description: '${version}' }, () => ({ content: [{ type: 'text', text: '${version}' }] }))
await server.connect(new StdioServerTransport())
`

/** The official client, connected to a file in a folder of its own. */
async function connectTo(t, source) {
  const folder = mkdtempSync(join(tmpdir(), 'tenon-dev-'))
  const path = join(folder, 'server.mjs')
  writeFileSync(path, source)
  const client = new Client({ name: 'official-v1', version: '1.0.0' })
  const transport = new StdioClientTransport({ command: process.execPath, args: [cli, 'dev', path], stderr: 'ignore' })
  const problems = []
  await client.connect(transport)
  client.onclose = () => problems.push('closed')
  client.onerror = (error) => problems.push(error.message)
  t.after(async () => {
    await client.close()
    rmSync(folder, { recursive: true, force: true })
  })
  return { client, path, problems, pid: transport.pid, pidNow: () => transport.pid }
}

for (const [name, source] of [
  ['a Tenon server', tenonServer],
  ['an official v1 server', officialServer],
]) {
  test(`the official v1 client sees ${edits} edits of ${name} in one session`, async (t) => {
    const { client, path, problems, pid, pidNow } = await connectTo(t, source('0'))
    for (let edit = 1; edit <= edits; edit++) {
      // Editors save in both ways.
      const isInPlace = edit % 2 === 0
      writeFileSync(isInPlace ? path : `${path}.tmp`, source(String(edit)))
      if (!isInPlace) renameSync(`${path}.tmp`, path)
      const { tools } = await client.listTools()
      assert.equal(tools[0].description, String(edit))
      const { content } = await client.callTool({ name: 'version' })
      assert.equal(content[0].text, String(edit))
    }
    assert.deepEqual(problems, [])
    assert.equal(pidNow(), pid)
  })
}

test('the official v1 client is told that the tools changed, also after a syntax error', async (t) => {
  const { client, path, problems } = await connectTo(t, officialServer('one'))
  const changed = () =>
    new Promise((resolve) => client.setNotificationHandler(ToolListChangedNotificationSchema, resolve))
  const first = changed()
  writeFileSync(path, officialServer('two'))
  await first
  assert.equal((await client.listTools()).tools[0].description, 'two')
  writeFileSync(path, 'this is not JavaScript')
  await assert.rejects(client.listTools(), /server\.mjs exited with code 1.*SyntaxError/s)
  const second = changed()
  writeFileSync(path, officialServer('three'))
  await second
  assert.equal((await client.listTools()).tools[0].description, 'three')
  assert.deepEqual(problems, [])
})
