import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createHost } from '../../src/host/host.ts'
import { document } from './support.ts'

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
