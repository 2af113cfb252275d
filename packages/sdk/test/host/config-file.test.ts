// biome-ignore-all lint/suspicious/noTemplateCurlyInString: these are the variables of configuration files
import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import {
  type ConfigChange,
  findConfigFiles,
  knownConfigFiles,
  readConfigFile,
  watchConfigFile,
} from '../../src/host/node/config-file.ts'
import { eventually } from '../kit/eventually.ts'

function folder(): string {
  const path = mkdtempSync(join(tmpdir(), 'config-'))
  onTestFinished(() => rmSync(path, { recursive: true, force: true }))
  return path
}

function write(path: string, command: string): void {
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, `{ "mcpServers": { "a": { "command": "${command}" } } } // ours`)
}

describe('reading a configuration file', () => {
  it('reads comments, variables and the envFile', () => {
    const root = folder()
    const path = join(root, 'mcp.json')
    writeFileSync(join(root, '.env'), 'KEY=secret\n')
    writeFileSync(path, '{ "servers": { /* x */ "a": { "command": "${CMD}", "envFile": ".env", "banana": 1 }, } }')
    const { servers, warnings, path: read } = readConfigFile(path, { env: { CMD: 'node' }, cwd: root })
    expect({ ...servers }).toEqual({ a: { command: 'node', env: { KEY: 'secret' } } })
    expect(warnings.map(({ member }) => member)).toEqual(['banana'])
    expect(read).toBe(path)
  })

  it('names the file in every error', () => {
    const root = folder()
    const path = join(root, 'mcp.json')
    const read = (text: string, maxBytes?: number) => {
      writeFileSync(path, text)
      return () => readConfigFile(path, { maxBytes })
    }
    expect(read('{ "a": ')).toThrow(`Invalid JSON in ${path}: line 1`)
    expect(read('{ "a": { "command": 1 } }')).toThrow(`Invalid server configuration in ${path}: 1 problem.`)
    expect(read('{}    ', 5)).toThrow(`The file ${path} is too large: 6 bytes, at most 5.`)
    expect(() => readConfigFile(join(root, 'none.json'))).toThrow(
      `Cannot read the file ${join(root, 'none.json')}: it does not exist. Check the path.`,
    )
    expect(() => readConfigFile(root)).toThrow(`Cannot read ${root}: it is not a file.`)
    expect(() => readConfigFile('/dev/zero')).toThrow('Cannot read /dev/zero: it is not a file.')
    expect(read('{ "a": { "command": "x", "envFile": "/none/.env" } }')).toThrow('Cannot read the file /none/.env')
  })
})

describe('finding configuration files', () => {
  it('lists those that exist, by host and platform', () => {
    const root = folder()
    const [cwd, home] = [join(root, 'project'), join(root, 'home')]
    write(join(cwd, '.mcp.json'), 'x')
    write(join(cwd, '.vscode/mcp.json'), 'x')
    write(join(home, '.cursor/mcp.json'), 'x')
    write(join(home, '.codeium/windsurf/mcp_config.json'), 'x')
    write(join(home, '.config/zed/settings.json'), 'x')
    write(join(home, '.config/Claude/claude_desktop_config.json'), 'x')
    write(join(home, 'Library/Application Support/Claude/claude_desktop_config.json'), 'x')
    write(join(home, 'AppData/Roaming/Claude/claude_desktop_config.json'), 'x')
    const found = (platform: string) =>
      findConfigFiles({ cwd, home, platform }).map(({ host, scope, path }) => [
        host,
        scope,
        path.slice(root.length + 1),
      ])
    expect(found('linux')).toEqual([
      ['Claude Code', 'project', 'project/.mcp.json'],
      ['VS Code', 'project', 'project/.vscode/mcp.json'],
      ['Claude Desktop', 'user', 'home/.config/Claude/claude_desktop_config.json'],
      ['Cursor', 'user', 'home/.cursor/mcp.json'],
      ['Windsurf', 'user', 'home/.codeium/windsurf/mcp_config.json'],
      ['Zed', 'user', 'home/.config/zed/settings.json'],
    ])
    expect(found('darwin')).toContainEqual([
      'Claude Desktop',
      'user',
      'home/Library/Application Support/Claude/claude_desktop_config.json',
    ])
    expect(found('win32')).toContainEqual([
      'Claude Desktop',
      'user',
      'home/AppData/Roaming/Claude/claude_desktop_config.json',
    ])
    expect(
      findConfigFiles({ cwd: home, home, platform: 'linux' }).filter(({ path }) => path.includes('.cursor')),
    ).toHaveLength(1)
  })

  it('knows where each host keeps the servers of a user', () => {
    const pathsOn = (platform: string) =>
      knownConfigFiles({ cwd: '/p', home: '/h', platform }).flatMap(({ scope, path }) => (scope === 'user' ? path : []))
    const same = ['/h/.claude.json', '/h/.cursor/mcp.json', '/h/.codeium/windsurf/mcp_config.json']
    const others = ['/h/.gemini/settings.json', '/h/.config/opencode/opencode.json', '/h/.lmstudio/mcp.json']
    const cline = 'Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json'
    for (const [platform, data, zed] of [
      ['linux', '/h/.config', '/h/.config/zed'],
      ['darwin', '/h/Library/Application Support', '/h/.config/zed'],
      ['win32', '/h/AppData/Roaming', '/h/AppData/Roaming/Zed'],
    ] as const) {
      const own = [`${data}/Claude/claude_desktop_config.json`, `${data}/Code/User/mcp.json`, `${data}/${cline}`]
      expect(pathsOn(platform).sort()).toEqual([...same, ...others, ...own, `${zed}/settings.json`].sort())
    }
  })
})

describe('watching a configuration file', () => {
  function watched(path: string, options: object = {}) {
    const changes: ConfigChange[] = []
    const watcher = watchConfigFile(path, (change) => void changes.push(change), { debounceMs: 5, ...options })
    onTestFinished(() => watcher.close())
    const commands = () =>
      changes.map(({ config, error }) =>
        (error ? 'error' : JSON.stringify(config.servers)).replace(/.*"command":"(\w+)".*/, '$1'),
      )
    return { changes, watcher, commands }
  }

  it('reports changes and survives that another file takes its place', async () => {
    const path = join(folder(), 'mcp.json')
    write(path, 'one')
    const { commands, watcher } = watched(path)
    write(path, 'two')
    await eventually(() => commands().at(-1) === 'two')
    for (const command of ['three', 'four']) {
      write(`${path}.new`, command)
      renameSync(`${path}.new`, path)
      await eventually(() => commands().at(-1) === command)
    }
    expect(watcher.config.servers.a).toEqual({ command: 'four' })
  })

  it('keeps the last valid configuration and reports the error when the new one is invalid', async () => {
    const path = join(folder(), 'mcp.json')
    write(path, 'one')
    const { changes, watcher } = watched(path)
    writeFileSync(path, '{ "mcpServers": { "a": { "comand": "two" } } }')
    await eventually(() => changes.some(({ error }) => error?.message.includes('Did you mean "command"?')))
    expect(changes.at(-1)?.config.servers.a).toEqual({ command: 'one' })
    expect(watcher.config.servers.a).toEqual({ command: 'one' })
    rmSync(path)
    await eventually(() => changes.some(({ error }) => error?.message.includes('does not exist')))
    expect(watcher.config.servers.a).toEqual({ command: 'one' })
    write(path, 'one')
    await eventually(() => changes.at(-1)?.error === undefined)
    expect(changes.at(-1)?.config.servers.a).toEqual({ command: 'one' })
  })

  it('notices a change behind a symbolic link', async () => {
    const root = folder()
    const [path, target] = [join(root, 'mcp.json'), join(root, 'real/config.json')]
    write(target, 'one')
    symlinkSync(target, path)
    const { commands } = watched(path)
    write(target, 'two')
    await eventually(() => commands().at(-1) === 'two')
  })

  it('notices a change after its folder was replaced, which the file system does not report', async () => {
    const root = folder()
    const path = join(root, 'etc/mcp.json')
    write(path, 'one')
    const { commands } = watched(path, { intervalMs: 20 })
    write(join(root, 'next/mcp.json'), 'two')
    rmSync(join(root, 'etc'), { recursive: true })
    renameSync(join(root, 'next'), join(root, 'etc'))
    await eventually(() => commands().at(-1) === 'two')
    write(path, 'three')
    await eventually(() => commands().at(-1) === 'three')
  })

  it('throws at first if the file is invalid, and is silent after close', async () => {
    const path = join(folder(), 'mcp.json')
    writeFileSync(path, '{')
    expect(() => watched(path)).toThrow('Invalid JSON')
    write(path, 'one')
    const closed = watched(path)
    closed.watcher.close()
    const { commands } = watched(path)
    write(path, 'two')
    await eventually(() => commands().at(-1) === 'two')
    expect(closed.changes).toEqual([])
  })
})
