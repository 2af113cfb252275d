import { describe, expect, it } from 'vitest'
import { EditedServer, source } from './dev-support.ts'
import { longestLine, Workspace } from './support.ts'

describe('tenon dev', () => {
  it('prints one line for each request', async () => {
    await using server = new EditedServer(source('two'))
    const peer = await server.connect({ revision: '2025-11-25' })
    await peer.call('version')
    await expect(peer.client.callTool('missing')).rejects.toThrow()
    expect(peer.stderr).toMatch(/^\d\d:\d\d:\d\d → tools\/call version +\d+ ms {2}ok$/m)
    expect(peer.stderr).toMatch(/^\d\d:\d\d:\d\d → tools\/call missing +\d+ ms {2}-32602 /m)
    expect(longestLine(peer.stderr)).toBeLessThanOrEqual(80)
  })

  it('lets the next request after a save see the new version', async () => {
    await using server = new EditedServer(source('one'))
    const peer = await server.connect()
    expect(await peer.listed()).toBe('one')
    server.save(source('two'))
    expect(await peer.listed()).toBe('two')
    expect(peer.breaks).toEqual([])
  })

  it('explains a command line that it cannot use', async () => {
    using work = new Workspace()
    const file = work.write('server.mjs', '')
    const cases: [string[], string][] = [
      [['dev'], 'No server was given.'],
      [['dev', './missing.mjs'], 'File not found: ./missing.mjs'],
      [['dev', 'https://example.com/mcp'], 'A server at a URL cannot be restarted.'],
      [['dev', '--', 'node', 'server.js'], 'A command needs --watch.'],
      [['dev', file, '--port', '1'], '--port is for --http.'],
    ]
    for (const [args, message] of cases) {
      const { code, stderr } = await work.run(args)
      expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining(message) })
    }
  })
})
