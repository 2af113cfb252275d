import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createHost } from '../../src/host/host.ts'
import type { HostOptions } from '../../src/host/options.ts'
import { McpServer } from '../../src/server/mcp-server.ts'
import { allowAll, script } from './support.ts'

function folder(): string {
  const path = mkdtempSync(join(tmpdir(), 'tenon-'))
  onTestFinished(() => rmSync(path, { recursive: true, force: true }))
  return path
}

function reader(): McpServer {
  const server = new McpServer({ name: 'reader', version: '1.0.0' })
  const inputSchema = { type: 'object' as const, properties: { path: { type: 'string' } } }
  server.registerTool('read', { inputSchema }, () => 'content')
  return server
}

/** A host whose policy allows every call. `isHeld` tells whether the user is asked about a path that is in none of the roots. */
async function open(roots: HostOptions['roots']) {
  const { approve, asked } = script()
  const servers = { files: { server: reader() }, notes: { server: reader() } }
  const host = await createHost({ servers, policy: allowAll, approve, roots })
  onTestFinished(() => host.close())
  const isHeld = async (server: 'files' | 'notes' = 'files') => {
    asked.length = 0
    await host.callTool(`${server}_read`, { path: '/etc/hosts' }).catch(() => {})
    return asked.flatMap(({ findings }) => findings).some(({ rule }) => rule === 'outside-roots')
  }
  return { host, isHeld }
}

describe('paths outside of roots that were taken back', () => {
  it('are held after setRoots([]), because the server had roots', async () => {
    const { host, isHeld } = await open([folder()])
    expect(await isHeld()).toBe(true)
    host.setRoots([])
    expect(await isHeld()).toBe(true)
    host.setRoots(['/etc'])
    expect(await isHeld()).toBe(false)
  })

  it('are held if roots were set after the host was created without any', async () => {
    const { host, isHeld } = await open([])
    expect(await isHeld()).toBe(false)
    host.setRoots([folder()])
    host.setRoots([])
    expect(await isHeld()).toBe(true)
  })

  it('are held only for servers that had roots, if roots are given by id', async () => {
    const { host, isHeld } = await open({ files: [folder()], notes: [] })
    expect([await isHeld('files'), await isHeld('notes')]).toEqual([true, false])
    host.setRoots({})
    expect([await isHeld('files'), await isHeld('notes')]).toEqual([true, false])
    host.setRoots([folder()])
    host.setRoots({ files: ['/etc'] })
    expect([await isHeld('files'), await isHeld('notes')]).toEqual([false, true])
  })
})
