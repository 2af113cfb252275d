import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { describe, expect, it, onTestFinished } from 'vitest'
import { memoryAudit } from '../../src/host/audit/memory.ts'
import { createHost } from '../../src/host/host.ts'
import type { PolicyRule } from '../../src/host/policy.ts'
import { McpServer } from '../../src/server/mcp-server.ts'
import { document, script } from './support.ts'

function folder(): string {
  const path = mkdtempSync(join(tmpdir(), 'tenon-'))
  onTestFinished(() => rmSync(path, { recursive: true, force: true }))
  return path
}

describe('roots by the id of a server', () => {
  const servers = { files: { server: document('a') }, web: { server: document('b') } }
  const message =
    'roots names the server "flies", which is not configured. Did you mean "files"? Servers are: files, web.'

  it('must name a server that is configured, before anything is opened', async () => {
    const audit = join(folder(), 'audit.jsonl')
    const opening = createHost({ servers, roots: { flies: ['/srv/a'] }, audit })
    await expect(opening).rejects.toThrow(new TypeError(message))
    expect(existsSync(audit)).toBe(false)
  })

  it('must name a server that is configured also in setRoots, which changes nothing then', async () => {
    await using host = await createHost({ servers, roots: ['/srv/a'] })
    expect(() => host.setRoots({ flies: ['/srv/b'] })).toThrow(new TypeError(message))
    expect(() => host.setRoots({ '*': ['/srv/b'] })).toThrow('roots names the server "*", which is not configured.')
    expect(host.roots).toEqual([{ uri: 'file:///srv/a' }])
    host.setRoots({ web: ['/srv/b'] })
    expect(host.roots).toEqual([{ uri: 'file:///srv/b' }])
  })

  it('are recorded in the audit log when a server asks for them, also if the user refuses', async () => {
    const path = folder()
    const server = new McpServer({ name: 'files', version: '1.0.0' })
    server.registerTool('roots', {}, async (_args, ctx) => `${(await ctx.roots()).length}`)
    const audit = memoryAudit()
    const policy: PolicyRule[] = [{ kind: 'tool', decide: 'allow' }]
    const { approve } = script('once', 'deny')
    await using host = await createHost({ servers: { files: { server } }, roots: [path], policy, approve, audit })
    expect((await host.callTool('files_roots')).text).toBe('1')
    expect((await host.callTool('files_roots')).text).toBe('0')
    await audit.flush()
    const records = audit.lines.map((line) => JSON.parse(line)).filter(({ event }) => event === 'roots')
    const roots = [pathToFileURL(path).href]
    expect(records.map(({ server, details }) => ({ server, details }))).toEqual([
      { server: 'files', details: { allowed: true, roots } },
      { server: 'files', details: { allowed: false, roots } },
    ])
  })

  it('may name servers that are added later, and is reported if a new configuration lacks one', async () => {
    const roots = { calendar: ['/srv/a'], files: ['/srv/b'] }
    await using host = await createHost({ servers, roots, laterServers: ['cal*'] })
    const reported: string[] = []
    host.on('error', ({ error }) => reported.push((error as Error).message))
    await host.configure({ flies: servers.files, web: servers.web })
    expect(reported).toEqual([
      'roots names the server "files", which is not configured. Did you mean "flies"? Servers are: flies, web.',
    ])
  })
})
