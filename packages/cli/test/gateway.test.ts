import { existsSync, readFileSync } from 'node:fs'
import { connect } from 'tenon/client'
import { verifyAudit } from 'tenon/host'
import { readAuditFiles } from 'tenon/host/node'
import { describe, expect, it } from 'vitest'
import type { NodeProcess } from '../../sdk/test/kit/child-process.ts'
import { eventually } from '../../sdk/test/kit/eventually.ts'
import { program, Workspace } from './support.ts'

describe('tenon gateway', () => {
  it('requires a policy or --allow-all, and explains both', async () => {
    using work = new Workspace()
    const { code, stdout, stderr } = await work.run(['gateway', work.writeConfig(['notes'])])
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toContain('--policy <file>')
    expect(stderr).toContain('--allow-all')
  })

  it.each([
    { name: 'is not JSON', policy: '[' },
    { name: 'is not a list', policy: '{}' },
    { name: 'has a rule with an unknown member', policy: '[{ "tols": "x", "decide": "allow" }]' },
  ])('refuses a policy that $name', async ({ policy }) => {
    using work = new Workspace()
    const { code, stderr } = await work.run([
      'gateway',
      work.writeConfig(['notes']),
      '--policy',
      work.write('policy.json', policy),
    ])
    expect(code).toBe(2)
    expect(stderr).toMatch(/policy/)
  })

  it('refuses a policy with a rule for a server that the config file does not have', async () => {
    using work = new Workspace()
    const config = work.writeConfig(['mail', 'web'])
    const policy = work.write('policy.json', [{ from: 'mail', server: 'wbe', decide: 'deny' }])
    const { code, stdout, stderr } = await work.run([
      'gateway',
      config,
      '--policy',
      policy,
      '--trust-config',
      '--port',
      '0',
    ])
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    const text = stderr.replace(/\s+/g, ' ')
    expect(text).toContain('policy[0].server names the server "wbe", which is not configured. Did you mean "web"?')
    expect(text).toContain('"disabled": true')
  })

  it('warns about such a rule if it serves one server only, because the policy may be that of many', async () => {
    using work = new Workspace()
    const config = work.writeConfig(['mail', 'web'])
    const policy = work.write('policy.json', [
      { from: 'mail', server: 'web', decide: 'deny' },
      { kind: 'connect', decide: 'allow' },
      { decide: 'allow' },
    ])
    const args = ['gateway', 'web', '--config', config, '--policy', policy, '--port', '0']
    await using gateway = work.start(args)
    await urlOf(gateway)
    expect(gateway.stderr.replace(/\s+/g, ' ')).toContain('! policy[0].from names the server "mail"')
  })

  it('starts nothing that was not approved if there is no terminal', async () => {
    using work = new Workspace()
    const marker = work.file('started')
    const script = `require('fs').writeFileSync(${JSON.stringify(marker)}, '')`
    const config = work.write('mcp.json', { mcpServers: { evil: { command: process.execPath, args: ['-e', script] } } })
    for (const extra of [['--port', '0'], ['--stdio']]) {
      const { code, stdout, stderr } = await work.run(['gateway', config, '--allow-all', ...extra])
      expect({ code, stdout }).toEqual({ code: 4, stdout: '' })
      expect(stderr).toContain('writeFileSync')
      // Code on the command line is no usual form, so --trust-config would not start it.
      expect(stderr).toContain('--allow-command')
    }
    expect(existsSync(marker)).toBe(false)
  })

  it('serves callers of an old and of the newest revision over HTTP, logs their calls, and stops on SIGINT', async () => {
    using work = new Workspace()
    const config = work.writeConfig(['one', 'two'])
    await using gateway = work.start(['gateway', config, '--allow-all', '--trust-config', '--port', '0'])
    const url = await urlOf(gateway)
    for (const revision of ['2024-11-05', '2026-07-28'] as const) {
      await using client = await connect(url, { revision })
      const names = (await client.listTools().all()).map(({ name }) => name)
      expect(names).toContain('one_add')
      expect(names).toContain('two_add')
      expect((await client.callTool('two_add', { a: 1, b: 2 })).text).toBe('3')
    }
    await gateway.until(() => lines(gateway).filter((line) => /two_add +allowed +\d+ ms$/.test(line)).length === 2)
    expect(gateway.stdout).toBe(`${url}\n`)
    gateway.child.kill('SIGINT')
    expect(await gateway.exited).toEqual({ code: 0, signal: null })
    expect(gateway.stderr).toContain('Shutting down.')
  })

  it('serves over stdio what was approved before', async () => {
    using work = new Workspace()
    const config = work.writeConfig(['notes'])
    const args = ['gateway', config, '--allow-all', '--stdio']
    await using first = await connect({
      command: process.execPath,
      args: [program, ...args, '--trust-config'],
      env: work.env,
    })
    expect((await first.callTool('notes_echo', { text: 'first' })).text).toBe('first')
    await first.close()
    await using second = await connect({ command: process.execPath, args: [program, ...args], env: work.env })
    expect((await second.callTool('notes_echo', { text: 'second' })).text).toBe('second')
  })

  it('applies the policy, asks callers by a form, and records everything in the audit log', async () => {
    using work = new Workspace()
    const audit = work.file('audit.jsonl')
    const policy = work.write('policy.json', [
      { tool: 'add', decide: 'allow' },
      { tool: 'fail', decide: 'deny' },
    ])
    const options = ['--policy', policy, '--audit', audit, '--trust-config', '--port', '0', '--json']
    await using gateway = work.start(['gateway', work.writeConfig(['notes']), ...options])
    const { url, servers } = await gateway.until(() => tryJson(gateway.stdout))
    expect(servers).toEqual([{ id: 'notes', state: 'ready' }])
    const elicit = () => ({ action: 'accept' as const, content: { decision: 'once' } })
    await using client = await connect(url, { handlers: { elicit } })
    expect((await client.callTool('notes_add', { a: 1, b: 2 })).text).toBe('3')
    expect((await client.callTool('notes_echo', { text: 'asked' })).text).toBe('asked')
    expect(await client.callTool('notes_fail')).toMatchObject({ isError: true })
    await gateway.until(() => /notes_fail +denied +rule 2 of the policy/.test(gateway.stderr))
    expect(gateway.stderr).toMatch(/notes_add +allowed +\d+ ms/)
    expect(gateway.stderr).toMatch(/notes_echo +approved +\d+ ms/)
    gateway.child.kill('SIGTERM')
    await gateway.exited
    expect(await verifyAudit(readAuditFiles(audit))).toMatchObject({ ok: true })
    expect(readFileSync(audit, 'utf8')).toContain('notes_echo')
  })

  it('offers a search instead of all tools with --tool-search on', async () => {
    using work = new Workspace()
    const options = ['--allow-all', '--trust-config', '--port', '0', '--tool-search', 'on']
    await using gateway = work.start(['gateway', work.writeConfig(['notes']), ...options])
    await using client = await connect(await urlOf(gateway))
    expect((await client.listTools().all()).map(({ name }) => name)).toEqual(['search_tools', 'call_tool'])
  })

  it('warns if a changed config file has no server that a rule names', async () => {
    using work = new Workspace()
    const config = work.writeConfig(['mail', 'web'])
    const policy = work.write('policy.json', [
      { from: 'mail', server: 'web', decide: 'deny' },
      { kind: 'connect', decide: 'allow' },
    ])
    await using gateway = work.start(['gateway', config, '--policy', policy, '--watch', '--port', '0'])
    await urlOf(gateway)
    work.writeConfig(['mail', 'wbe'])
    const text = () => gateway.stderr.replace(/\s+/g, ' ')
    await gateway.until(() => text().includes('! policy[0].server names the server "web"') || undefined)
  })

  it('applies a changed config file with --watch', async () => {
    using work = new Workspace()
    const config = work.writeConfig(['one'])
    await using gateway = work.start(['gateway', config, '--allow-all', '--trust-config', '--port', '0', '--watch'])
    const url = await urlOf(gateway)
    work.writeConfig(['one', 'two'])
    await gateway.until(() => gateway.stderr.includes('The config file changed.'))
    await using client = await connect(url)
    expect((await client.callTool('two_add', { a: 2, b: 3 })).text).toBe('5')
    work.write('mcp.json', '{')
    await eventually(() => gateway.stderr.includes('mcp.json', gateway.stderr.indexOf('The config file changed.')))
    expect((await client.callTool('two_add', { a: 2, b: 4 })).text).toBe('6')
  })
})

/** The URL is the only line on stdout. */
function urlOf(gateway: NodeProcess): Promise<string> {
  return gateway.until(() => /^http\S+(?=\n)/.exec(gateway.stdout)?.[0])
}

function lines(gateway: NodeProcess): string[] {
  return gateway.stderr.split('\n')
}

function tryJson(text: string): { url: string; servers: unknown } | undefined {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
