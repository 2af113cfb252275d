import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { build } from 'esbuild'
import { connect, StdioClientTransport } from 'tenon/client'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { eventually } from '../kit/eventually.ts'

const folder = mkdtempSync(join(tmpdir(), 'tenon-crash-'))
const script = join(folder, 'server.mjs')

const source = `
import { McpServer, serveStdio } from 'tenon/server'
const server = new McpServer({ name: 'careless', version: '1' })
server.registerTool('careful', {}, () => 'done')
server.registerTool('careless', {}, () => {
  void Promise.reject(new Error('Nobody awaits this'))
  return 'done'
})
await serveStdio(server)
`

beforeAll(async () => {
  const entry = (name: string) => new URL(`../../src/entry/${name}.ts`, import.meta.url).pathname
  await build({
    stdin: { contents: source, resolveDir: import.meta.dirname },
    outfile: script,
    bundle: true,
    platform: 'node',
    format: 'esm',
    alias: { 'tenon/server': entry('server') },
    logLevel: 'error',
  })
})
afterAll(() => rmSync(folder, { recursive: true }))

describe('a rejection that a handler does not await', () => {
  it('ends the process with the name of the tool and the error on stderr', async () => {
    const transport = new StdioClientTransport({ command: process.execPath, args: [script] })
    await using client = await connect(transport, { revision: '2025-11-25', restarts: 0 })
    await client.callTool('careful')
    await client.callTool('careless').catch(() => {})
    await eventually(() => transport.process?.exitCode !== null)
    // The rest of stderr may be read after the exit.
    await eventually(() => transport.lastStderr.includes('Nobody awaits this'))
    expect(transport.lastStderr).toContain('The last tool that was called is "careless"')
    expect(transport.lastStderr).toContain('Nobody awaits this')
  })
})
