import { fileURLToPath } from 'node:url'
import type { RevisionId } from 'tenon'
import { connect } from 'tenon/client'
import { McpServer, serveHttp } from 'tenon/server'
import { describe, expect, it } from 'vitest'
import type { NodeProcess } from '../../sdk/test/kit/child-process.ts'
import { fixture, program, Workspace } from './support.ts'

const notes = fixture('notes.js')
const handlers = { elicit: () => ({ action: 'accept', content: { name: 'Al' } }) as const }

function urlOf(served: NodeProcess): Promise<string> {
  return served.until(() => /http:\S+/.exec(served.stdout)?.[0])
}

/** The status of an `initialize` over HTTP. */
async function statusOf(url: string, headers: Record<string, string> = {}): Promise<number> {
  const params = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'test', version: '1' } }
  const { status } = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream', ...headers },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params }),
  })
  return status
}

describe('tenon serve', () => {
  it.each<RevisionId>(['2025-03-26', '2026-07-28'])(
    'serves a file over HTTP to a client of %s, with the names of the server',
    async (revision) => {
      using work = new Workspace()
      await using served = work.start(['serve', notes, '--port', '0'])
      const url = await urlOf(served)
      await using client = await connect(url, { revision, handlers })
      expect(client.getServerVersion()).toMatchObject({ name: 'notes', version: '1.2.3' })
      expect(client.getInstructions()).toBe('Ask before you write.')
      const { tools } = await client.listTools()
      expect(tools.map(({ name }) => name)).toContain('add')
      expect((await client.callTool('add', { a: 1, b: 2 })).text).toBe('3')
      expect((await client.callTool('fail')).isError).toBe(true)
      expect((await client.getPrompt('greet')).messages).toHaveLength(1)
      expect((await client.readResource('notes://plan')).contents).toMatchObject([{ text: 'Buy milk' }])
      if (revision === '2026-07-28') expect((await client.callTool('name')).text).toBe('Hello Al')
      expect(served.stdout).toBe(`${url}\n`)
      await served.until(() => / add +allowed +\d+ ms$/m.test(served.stderr))
    },
  )

  it('gives callers with tokens of their own processes of their own, and no question of another [HOST-021]', async () => {
    using work = new Workspace()
    const bank = fileURLToPath(new URL('../../sdk/test/host/fixtures/bank.mjs', import.meta.url))
    await using served = work.start([
      'serve',
      bank,
      '--port',
      '0',
      '--token',
      'alice:secret-a',
      '--token',
      'bob:secret-b',
    ])
    const url = await urlOf(served)
    const asked: string[] = []
    const elicit = ({ message }: { message: string }) => {
      asked.push(message)
      return { action: 'accept', content: { ok: true } } as const
    }
    const options = (token: string) =>
      ({ revision: '2026-07-28', headers: { authorization: `Bearer ${token}` }, handlers: { elicit } }) as const
    await using alice = await connect(url, options('secret-a'))
    await using bob = await connect(url, options('secret-b'))
    const { text: pid } = await alice.callTool('pid')
    expect((await alice.callTool('transfer', { who: 'alice' })).text).toBe('accepted')
    expect((await bob.callTool('balance')).text).not.toBe(pid)
    expect(asked).toEqual([])
  })

  it('serves a URL over stdio to a client of another revision', async () => {
    using work = new Workspace()
    const server = new McpServer({ name: 'web', version: '2.0.0' }, { revisions: ['2025-06-18'] })
    server.registerTool('whoami', {}, (_args, ctx) => `${ctx.caller.revision} ${ctx.request?.header('x-key')}`)
    await using http = await serveHttp(server, { port: 0, exit: false })
    const args = [program, 'serve', http.url, '--header', 'X-Key: abc']
    await using client = await connect(
      { command: process.execPath, args, env: work.env },
      { revision: '2026-07-28', handlers },
    )
    expect(client.getServerVersion()?.name).toBe('web')
    expect((await client.callTool('whoami')).text).toBe('2025-06-18 abc')
  })

  it('serves all servers of a config file, with the ids of the servers in the names', async () => {
    using work = new Workspace()
    await using served = work.start(['serve', work.writeConfig(['one', 'two']), '--port', '0', '--json'])
    const { url, servers } = await served.until(() =>
      served.stdout.endsWith('}\n') ? JSON.parse(served.stdout) : undefined,
    )
    expect(servers).toEqual([
      { id: 'one', state: 'ready' },
      { id: 'two', state: 'ready' },
    ])
    await using client = await connect(url)
    expect((await client.callTool('two_echo', { text: 'hi' })).text).toBe('hi')
  })

  it('refuses other addresses than loopback without a token, and requires the token that was given', async () => {
    using work = new Workspace()
    const refused = await work.run(['serve', notes, '--host', '0.0.0.0', '--port', '0'])
    expect(refused).toMatchObject({ code: 2, stdout: '' })
    expect(refused.stderr).toContain('Listening on 0.0.0.0 needs a token')
    await using served = work.start(['serve', notes, '--host', '0.0.0.0', '--port', '0'], {
      TENON_SERVE_TOKEN: 'a-long-enough-secret',
    })
    const url = (await urlOf(served)).replace('localhost', '127.0.0.1')
    expect(await statusOf(url)).toBe(401)
    expect(await statusOf(url, { authorization: 'Bearer other' })).toBe(401)
    expect(await statusOf(url, { authorization: 'Bearer a-long-enough-secret' })).toBe(200)
    expect(await statusOf(url, { authorization: 'Bearer a-long-enough-secret', origin: 'https://evil.example' })).toBe(
      403,
    )
    await using client = await connect(url, { headers: { authorization: 'Bearer a-long-enough-secret' } })
    expect((await client.callTool('echo', { text: 'hi' })).text).toBe('hi')
  })

  it('passes the environment of the user to a server on the command line, without the token', async () => {
    using work = new Workspace()
    const script = work.write(
      'env.mjs',
      `import { McpServer, serveStdio } from '${new URL('../../sdk/dist/lib/server.js', import.meta.url).href}'
       const server = new McpServer({ name: 'env', version: '1.0.0' })
       server.registerTool('env', {}, () => process.env.KEY + ' ' + process.env.TENON_SERVE_TOKEN)
       await serveStdio(server)`,
    )
    await using served = work.start(['serve', script, '--port', '0'], { KEY: 'abc', TENON_SERVE_TOKEN: 'secret' })
    await using client = await connect(await urlOf(served), { headers: { authorization: 'Bearer secret' } })
    expect((await client.callTool('env')).text).toBe('abc undefined')
  })
})
