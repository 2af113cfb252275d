import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { after, before, describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { program } from './support/programs.js'
import { sessions, sse, stateless, stdio } from './support/ways.js'

// The command line interface of the official Inspector against a Tenon server.

const run = promisify(execFile)
const folder = 'node_modules/@modelcontextprotocol/inspector-cli/build/'
const inspector = program(`${folder}cli.js`)
// It searches for its own package.json from its working directory.
const cwd = fileURLToPath(new URL(folder, import.meta.url))

for (const way of [stdio, sessions, stateless, sse]) {
  describe(`Inspector, ${way.name}`, () => {
    let started
    before(async () => {
      started = await way.start('servers/tenon.js')
    })
    after(() => started?.stop())

    test('lists tools [SDK-021]', async () => {
      const { tools } = await inspect(started.target, '--method', 'tools/list')
      const names = tools.map(({ name }) => name)
      assert.ok(names.includes('greet') && names.includes('add'))
    })

    test('calls a tool [SDK-021]', async () => {
      const call = ['--method', 'tools/call', '--tool-name', 'add', '--tool-arg', 'a=19', '--tool-arg', 'b=23']
      const { structuredContent } = await inspect(started.target, ...call)
      assert.deepEqual(structuredContent, { result: 42 })
    })

    test('lists and reads resources [SDK-021]', async () => {
      const { resources } = await inspect(started.target, '--method', 'resources/list')
      assert.equal(resources[0].uri, 'shop://about')
      const { contents } = await inspect(started.target, '--method', 'resources/read', '--uri', 'shop://plank/oak')
      assert.equal(contents[0].text, 'A plank of oak')
    })

    test('gets a prompt [SDK-021]', async () => {
      const args = ['--prompt-args', 'kind=hard', '--prompt-args', 'wood=oak']
      const { messages } = await inspect(started.target, '--method', 'prompts/get', '--prompt-name', 'plan', ...args)
      assert.match(messages[0].content.text, /hard oak/)
    })

    test('reports an unknown tool [SDK-021]', async () => {
      const call = inspect(started.target, '--method', 'tools/call', '--tool-name', 'nothing')
      await assert.rejects(call, ({ stderr }) => /nothing/.test(stderr))
    })
  })
}

/** Runs it and returns its output. An option selects Streamable HTTP or HTTP+SSE. */
async function inspect({ url, isSse, command, args }, ...options) {
  const target = url ? [url.href, '--transport', isSse ? 'sse' : 'http'] : [command, ...args]
  const { stdout } = await run(inspector.command, [...inspector.args, '--cli', ...target, ...options], { cwd })
  return JSON.parse(stdout)
}
