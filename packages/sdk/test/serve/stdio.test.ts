import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { build } from 'esbuild'
import { revisionIds } from 'tenon'
import { connect } from 'tenon/client'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const folder = mkdtempSync(join(tmpdir(), 'tenon-stdio-'))
const script = join(folder, 'server.mjs')

const source = `
import { McpServer, StdioServerTransport } from 'tenon/server'
const server = new McpServer({ name: 'child', version: '1' })
server.registerTool('pid', {}, () => String(process.pid))
await server.connect(new StdioServerTransport())
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

describe('a server process', () => {
  it.each(revisionIds)('serves over stdio without configuration on %s [SDK-009]', async (revision) => {
    await using client = await connect({ command: process.execPath, args: [script] }, { revision })
    expect(client.revision).toBe(revision)
    const pid = Number((await client.callTool('pid')).text)
    expect(pid).toBeGreaterThan(0)
    expect(pid).not.toBe(process.pid)
  })
})
