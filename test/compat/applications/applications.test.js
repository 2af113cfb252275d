// Agent libraries that are written for the official SDK. Each talks to the everything server, over stdio and HTTP, with the
// official packages and with the drop-in packages in their place.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { freePort, pathOf, whileListening } from '../programs/http-programs.js'

const official = fileURLToPath(new URL('.', import.meta.url))
const ours = fileURLToPath(new URL('aliased', import.meta.url))
// The server is the official one for both, so that only the client differs.
const everything = pathOf.everything(join(official, 'node_modules'))

for (const name of ['langchain', 'mastra', 'mcp-use', 'openai', 'ai-sdk']) {
  describe(name, () => {
    it('sees the same over stdio as on the official SDK', async () => {
      await compare(name, ['stdio', process.execPath, everything])
    })

    it('sees the same over HTTP as on the official SDK', async () => {
      const port = await freePort()
      const command = [everything, 'streamableHttp']
      await whileListening(command, port, { PORT: String(port) }, (url) => compare(name, ['http', `${url}/mcp`]))
    })
  })
}

async function compare(name, target) {
  const expected = await run(official, name, target)
  assert.ok(expected.tools.length > 10)
  assert.deepEqual(await run(ours, name, target), expected)
}

async function run(folder, name, target) {
  const env = { PATH: process.env.PATH, HOME: folder, MCP_USE_ANONYMIZED_TELEMETRY: 'false' }
  const args = [join(folder, 'applications.js'), name, ...target]
  const options = { cwd: folder, env, timeout: 120_000, maxBuffer: 64 * 1024 * 1024 }
  const { stdout } = await promisify(execFile)(process.execPath, args, options)
  return JSON.parse(stdout.trim().split('\n').at(-1))
}
