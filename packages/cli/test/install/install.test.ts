import { chmodSync, existsSync, lstatSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { ServerConfig } from 'tenon/host'
import { knownConfigFiles, readConfigFile } from 'tenon/host/node'
import { describe, expect, it } from 'vitest'
import { editEntry } from '../../src/install/edit-config.ts'
import { hosts } from '../../src/install/hosts.ts'
import { toEntry } from '../../src/install/server-entry.ts'
import { fixture, longestLine, program, Workspace } from '../support.ts'

const schema = {
  host: expect.any(String),
  scope: expect.stringMatching(/^(user|project)$/),
  path: expect.any(String),
  name: expect.any(String),
  action: expect.stringMatching(/^(added|replaced|removed|unchanged)$/),
  entry: expect.anything(),
  written: expect.any(Boolean),
  backup: null,
}

async function install(workspace: Workspace, ...args: string[]) {
  const { code, stdout, stderr } = await workspace.run(['install', ...args, '--json'])
  return { code, stderr, result: JSON.parse(stdout) }
}

describe.each(hosts.map((host) => [host.id, host] as const))('the entry for %s', (_, host) => {
  const write = (workspace: Workspace, config: ServerConfig, env = {}) => {
    const entry = toEntry(host, config, { env, version: '1.0.0' })
    const text = editEntry({ path: 'config.json', text: '' }, host.container, 'server', entry)
    return readConfigFile(workspace.write('config.json', text)).servers.server
  }

  it('is read back by the library as the same command', () => {
    using workspace = new Workspace()
    const config = { command: 'npx', args: ['server', '--port=1'] }
    expect(write(workspace, config, { KEY: 'a=b' })).toEqual({ ...config, env: { KEY: 'a=b' } })
  })

  it('is a URL, or a bridge if the host starts only commands', () => {
    using workspace = new Workspace()
    const config = { url: 'https://example.com/mcp', headers: { 'X-Key': '1' } }
    if (host.url) expect(write(workspace, config)).toMatchObject(config)
    else
      expect(write(workspace, config)).toEqual({
        command: process.execPath,
        args: [expect.stringMatching(/main\.js$/), 'serve', config.url, '--header', 'X-Key: 1'],
      })
  })
})

describe('tenon install', () => {
  it('writes a bridge that starts this program for a URL in Claude Desktop', async () => {
    using workspace = new Workspace()
    const { result } = await install(workspace, 'https://example.com/mcp', '--host', 'claude-desktop', '--yes')
    expect(result).toMatchObject({ path: workspace.file('.config/Claude/claude_desktop_config.json') })
    expect(result.entry.args).toEqual([program, 'serve', 'https://example.com/mcp'])
  })

  it('keeps comments, makes a backup, and lets "tenon list" find the server', async () => {
    using workspace = new Workspace()
    mkdirSync(workspace.file('.cursor'))
    const before = '{\n  // mine\n  "mcpServers": {}\n}\n'
    const path = workspace.write('.cursor/mcp.json', before)
    chmodSync(path, 0o640)
    const args = ['install', fixture('notes.js'), '--host', 'cursor', '--scope', 'project', '--yes']
    const { code, stdout, stderr } = await workspace.run(args)
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'Added "notes" in Cursor.\n' })
    expect(stderr).toContain('+     "notes": {')
    expect(readFileSync(path, 'utf8')).toContain('  // mine\n')
    expect(statSync(path).mode & 0o777).toBe(0o640)
    const [backup] = readdirSync(dirname(path)).filter((name) => name.endsWith('.bak'))
    expect(readFileSync(join(dirname(path), backup!), 'utf8')).toBe(before)
    const listed = await workspace.run(['list', 'notes', '--json'])
    expect(JSON.parse(listed.stdout).server.name).toBe('notes')
  })

  it('makes paths absolute, but not words that are no paths', async () => {
    using workspace = new Workspace()
    workspace.write('server.js', '')
    workspace.write('node', '')
    const target = ['--', 'node', 'server.js', './server.js', '.', 'missing.js', '--flag', 'https://a.example/x']
    const { stdout } = await workspace.run(['install', '--host', 'cursor', '--dry-run', '--json', ...target])
    const path = workspace.file('server.js')
    expect(JSON.parse(stdout).entry).toEqual({
      command: 'node',
      args: [path, path, workspace.path, 'missing.js', '--flag', 'https://a.example/x'],
    })
  })

  it('does not write without --yes if there is no terminal, nor with --dry-run', async () => {
    using workspace = new Workspace()
    const refused = await install(workspace, fixture('notes.js'), '--host', 'cursor')
    expect(refused.code).toBe(2)
    expect(refused.result.error).toMatchObject({ code: 'usage', hint: 'Pass --yes to write without a question.' })
    const { code, result, stderr } = await install(workspace, fixture('notes.js'), '--host', 'cursor', '--dry-run')
    expect(code).toBe(0)
    expect(result).toEqual({ ...schema, action: 'added', written: false })
    expect(stderr).toContain('+     "notes": {')
    expect(existsSync(result.path)).toBe(false)
  })

  it('refuses to overwrite a different server without --replace, and leaves the same one alone', async () => {
    using workspace = new Workspace()
    const host = ['--host', 'vscode', '--name', 'notes', '--yes']
    await install(workspace, fixture('notes.js'), ...host)
    const same = await install(workspace, fixture('notes.js'), ...host)
    expect(same.result).toEqual({ ...schema, action: 'unchanged', written: false })
    const refused = await install(workspace, 'https://example.com/mcp', ...host)
    expect(refused.code).toBe(2)
    expect(refused.result.error.message).toContain('VS Code already has a different server "notes" in ')
    const replaced = await install(workspace, 'https://example.com/mcp', '--replace', ...host)
    expect(replaced.result).toMatchObject({
      action: 'replaced',
      entry: { type: 'http', url: 'https://example.com/mcp' },
    })
    expect(existsSync(replaced.result.backup)).toBe(true)
  })

  it('removes a server by its name', async () => {
    using workspace = new Workspace()
    await install(workspace, fixture('notes.js'), '--host', 'zed', '--yes')
    const { result } = await install(workspace, 'notes', '--host', 'zed', '--remove', '--yes')
    expect(result).toMatchObject({ action: 'removed', written: true })
    expect(JSON.parse(readFileSync(result.path, 'utf8'))).toEqual({ context_servers: {} })
    const again = await workspace.run(['install', 'notes', '--host', 'zed', '--remove', '--yes'])
    expect(again).toMatchObject({ code: 0, stdout: '"notes" is not installed in Zed.\n' })
  })

  it('says what to do next after adding a server, and not after removing it', async () => {
    using workspace = new Workspace()
    const added = await workspace.run(['install', fixture('notes.js'), '--host', 'cursor', '--yes'])
    expect(added.stderr).toContain('Turn the server on')
    const removed = await workspace.run(['install', 'notes', '--host', 'cursor', '--remove', '--yes'])
    expect(removed).toMatchObject({ code: 0, stdout: 'Removed "notes" from Cursor.\n' })
    expect(removed.stderr).not.toContain('Turn the server on')
  })

  it('writes through a symbolic link', async () => {
    using workspace = new Workspace()
    const real = workspace.write('dotfiles.json', '{}')
    const link = workspace.file('.claude.json')
    symlinkSync(real, link)
    await install(workspace, fixture('notes.js'), '--host', 'claude-code', '--yes')
    expect(lstatSync(link).isSymbolicLink()).toBe(true)
    expect(JSON.parse(readFileSync(real, 'utf8')).mcpServers.notes.type).toBe('stdio')
  })

  it('does not touch a broken file', async () => {
    using workspace = new Workspace()
    mkdirSync(workspace.file('.cursor'))
    const path = workspace.write('.cursor/mcp.json', '{ "mcpServers": { ')
    const { code, result } = await install(workspace, fixture('notes.js'), '--host', 'cursor', '--yes')
    expect(code).toBe(2)
    expect(result.error).toMatchObject({
      code: 'invalid-config',
      message: expect.stringContaining('line 1 is not valid'),
    })
    expect(readFileSync(path, 'utf8')).toBe('{ "mcpServers": { ')
    expect(readdirSync(dirname(path))).toEqual(['mcp.json'])
  })

  it.each([
    [['x.js'], 'No host was given.'],
    [['x.js', '--host', 'emacs'], 'Unknown host: emacs'],
    [['https://a.example/mcp', '--host', 'cursor', '--env', 'A=b'], '--env is for commands, not for URLs.'],
    [
      ['https://a.example/mcp', '--host', 'roo', '--scope', 'user'],
      'Roo Code has no config file with the scope "user".',
    ],
    [['https://a.example/mcp', '--host', 'cursor', '--name', 'a b'], 'Not a valid name: a b'],
    [['--host', 'cursor', '--remove'], 'No name was given.'],
    [['https://a.example/mcp', '--host', 'cursor', '--env', 'A'], '--env API_KEY=value'],
  ])('explains %j', async (args, message) => {
    using workspace = new Workspace()
    const { code, stderr } = await workspace.run(['install', ...args])
    expect(code).toBe(2)
    expect(stderr).toContain(message)
    expect(longestLine(stderr)).toBeLessThanOrEqual(80)
  })

  it('knows the files of each platform', () => {
    const pathOf = (platform: string, host: string) =>
      knownConfigFiles({ home: '/home/me', cwd: '/work', platform }).find(
        (file) => file.host === host && file.scope === 'user',
      )?.path
    expect(pathOf('darwin', 'Claude Desktop')).toBe(
      '/home/me/Library/Application Support/Claude/claude_desktop_config.json',
    )
    expect(pathOf('win32', 'VS Code')).toBe('/home/me/AppData/Roaming/Code/User/mcp.json')
    expect(pathOf('linux', 'Zed')).toBe('/home/me/.config/zed/settings.json')
    for (const { name } of hosts) expect(knownConfigFiles().some(({ host }) => host === name)).toBe(true)
  })
})
