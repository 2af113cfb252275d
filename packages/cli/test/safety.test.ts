import { McpServer, serveHttp } from 'tenon/server'
import { describe, expect, it } from 'vitest'
import { readJson } from './json-output.ts'
import { fixture, Workspace } from './support.ts'

const attack = ['test', '--attack', '--no-conformance']

/** The names of checks by their status. */
function namesBy(status: string, checks: readonly { name: string; status: string }[]): string[] {
  return checks.filter((check) => check.status === status).map(({ name }) => name)
}

describe('tenon test --attack', () => {
  it('finds nothing wrong with a server of this SDK over HTTP', async () => {
    using work = new Workspace()
    const server = new McpServer({ name: 'web', version: '1.0.0' })
    const inputSchema = { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] }
    server.registerTool('echo', { inputSchema, annotations: { readOnlyHint: true } }, ({ path }) => String(path))
    server.registerResource('plan', 'notes://plan', {}, () => 'Buy milk')
    await using http = await serveHttp(server, { port: 0, exit: false })
    const { code, stdout } = await work.run([...attack, '--json', http.url])
    const { ok, checks } = readJson('test', stdout)
    expect({ code, ok, failed: namesBy('fail', checks) }).toEqual({ code: 0, ok: true, failed: [] })
    expect(namesBy('skip', checks)).toEqual([])
    expect(checks.length).toBeGreaterThan(20)
  })

  it.each([
    ['a server elsewhere', [...attack, 'https://mcp.example/mcp'], '--i-own-this-server'],
    ['nothing to run', ['test', '--no-conformance', 'http://127.0.0.1:9/mcp'], '--attack'],
  ])('refuses %s', async (_, args, hint) => {
    using work = new Workspace()
    const { code, stderr } = await work.run(args)
    expect(code).toBe(2)
    expect(stderr).toContain(hint)
  })

  it('says what to install if the conformance suite is missing, and goes on with the safety checks', async () => {
    using work = new Workspace()
    const command = ['--no-download', '--', process.execPath, fixture('notes.js')]
    const missing = await work.run(['test', ...command])
    expect(missing.code).toBe(2)
    expect(missing.stderr).toContain('npm install --save-dev')
    const { stdout } = await work.run(['test', '--attack', '--json', ...command])
    const { suite, checks } = readJson('test', stdout)
    expect({ suite, first: checks[0] }).toMatchObject({ suite: null, first: { status: 'skip' } })
  })
})
