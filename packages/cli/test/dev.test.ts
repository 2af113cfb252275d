import { describe, expect, it } from 'vitest'
import { eventually } from '../../sdk/test/kit/eventually.ts'
import type { SavedTranscript } from '../src/inspector/protocol.ts'
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

  it('answers the requests of a script that closes stdin at once', async () => {
    using work = new Workspace()
    const file = work.write('server.mjs', source('one'))
    const params = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'script', version: '1' } }
    const messages = [
      { jsonrpc: '2.0', id: 1, method: 'initialize', params },
      { jsonrpc: '2.0', method: 'notifications/initialized' },
      { jsonrpc: '2.0', id: 2, method: 'tools/call', params: { name: 'version' } },
    ]
    const input = messages.map((message) => `${JSON.stringify(message)}\n`).join('')
    const { code, stdout } = await work.run(['dev', file], { input })
    expect(code).toBe(0)
    const ids = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line).id)
    expect(ids).toEqual([1, 2])
  })

  it('serves the inspector beside a client over stdio', async () => {
    using work = new Workspace()
    const file = work.write('server.mjs', source('one'))
    await using child = work.start(['dev', file, '--inspect'])
    await eventually(() => /Inspector: (\S+)/.test(child.stderr))
    const url = new URL(/Inspector: (\S+)/.exec(child.stderr)?.[1] ?? '')
    const secret = new URLSearchParams(url.hash.slice(1)).get('secret')
    const headers = { authorization: `Bearer ${secret}` }
    const ready = async () => {
      const response = await fetch(new URL('/api/transcript', url), { headers })
      const { events } = (await response.json()) as SavedTranscript
      return events.some((event) => event.kind === 'server-state' && event.state === 'ready')
    }
    await eventually(ready)
    child.child.stdin?.end()
    expect((await child.exited).code).toBe(0)
  })

  it('explains a command line that it cannot use', async () => {
    using work = new Workspace()
    const file = work.write('server.mjs', '')
    const cases: [string[], string][] = [
      [['dev'], 'No server was given.'],
      [['dev', './missing.mjs'], 'File not found: ./missing.mjs'],
      [['dev', 'https://example.com/mcp'], 'A server at a URL cannot be restarted.'],
      [['dev', 'node', 'server.js'], 'A command goes after "--"'],
      [['dev', '--', 'node', 'server.js'], 'A command needs --watch.'],
      [['dev', file, '--watch', 'missing'], 'File or folder not found: missing'],
      [['dev', file, '--port', '1'], '--port is for --http.'],
    ]
    for (const [args, message] of cases) {
      const { code, stderr } = await work.run(args)
      expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining(message) })
    }
  })
})
