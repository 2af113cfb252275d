// biome-ignore-all lint/suspicious/noTemplateCurlyInString: these are the variables of configuration files
import { describe, expect, it } from 'vitest'
import { McpServer } from '../../src/entry/index.ts'
import { parseJsonWithComments } from '../../src/host/config/json-with-comments.ts'
import { checkServerConfigs, parseServerConfigs } from '../../src/host/config/parse-config.ts'
import { bubblewrap } from '../../src/host/sandbox/runners.ts'

const options = { env: { TOKEN: 't0k', HOME: '/home/me', EMPTY: '' }, cwd: '/srv/project' }
const parse = (value: unknown) => ({ ...parseServerConfigs(value, options) })

describe('formats of known hosts', () => {
  it('reads Claude Desktop and Claude Code', () => {
    const text = `{
      "mcpServers": {
        // the reference server
        "filesystem": {
          "command": "npx",
          "args": ["-y", "@modelcontextprotocol/server-filesystem", "/Users/me/Desktop"],
          "env": { "LOG": "1", "PORT": 3000 },
        },
        "sentry": { "type": "http", "url": "https://mcp.sentry.dev/mcp", "headers": { "Authorization": "Bearer \${TOKEN}" } },
        "old": { "type": "sse", "url": "https://example.com/sse" },
      },
      "globalShortcut": "Ctrl+Space",
    }`
    expect(parse(parseJsonWithComments(text))).toEqual({
      filesystem: {
        command: 'npx',
        args: ['-y', '@modelcontextprotocol/server-filesystem', '/Users/me/Desktop'],
        env: { LOG: '1', PORT: '3000' },
      },
      sentry: { url: 'https://mcp.sentry.dev/mcp', transport: 'http', headers: { Authorization: 'Bearer t0k' } },
      old: { url: 'https://example.com/sse', transport: 'sse' },
    })
  })

  it('reads Cursor, Windsurf, Cline and Gemini CLI', () => {
    const servers = {
      cursor: { url: 'https://a.example/mcp', auth: undefined },
      windsurf: { serverUrl: 'https://b.example/mcp' },
      cline: { type: 'streamableHttp', url: 'https://c.example/mcp', disabled: true, autoApprove: ['*'] },
      gemini: { httpUrl: 'https://d.example/mcp', includeTools: ['read', 'list'] },
    }
    expect(parse({ mcpServers: servers, mcp: { allowed: ['gemini'] } })).toEqual({
      cursor: { url: 'https://a.example/mcp' },
      windsurf: { url: 'https://b.example/mcp' },
      cline: { url: 'https://c.example/mcp', transport: 'http', disabled: true },
      gemini: { url: 'https://d.example/mcp', transport: 'http', tools: ['read', 'list'] },
    })
  })

  it('reads VS Code, in mcp.json and in the settings', () => {
    const file = {
      inputs: [{ type: 'promptString', id: 'key', description: 'API key', password: true }],
      servers: {
        local: { type: 'stdio', command: 'node', args: ['${workspaceFolder}/server.js'], env: { A: null }, dev: {} },
        remote: { type: 'http', url: 'https://example.com/mcp', gallery: true, version: '1' },
      },
    }
    const expected = {
      local: { command: 'node', args: ['/srv/project/server.js'] },
      remote: { url: 'https://example.com/mcp', transport: 'http' },
    }
    expect(parse(file)).toEqual(expected)
    expect(parse({ 'editor.tabSize': 2, mcp: file })).toEqual(expected)
  })

  it('reads the variables of an envFile, which those in env override', () => {
    const files = new Map([
      ['/srv/project/.env', '\uFEFF# keys\nexport A=1\nB="two # 2"\nC=\'3\' \nD=4 # four\nnot a line\nE=a=b\n'],
    ])
    const servers = { servers: { a: { command: 'node', envFile: '${workspaceFolder}/.env', env: { A: 'own' } } } }
    const parsed = parseServerConfigs(servers, { ...options, readText: (path) => files.get(path) ?? '' })
    expect(parsed.a).toEqual({ command: 'node', env: { A: 'own', B: 'two # 2', C: '3', D: '4', E: 'a=b' } })
  })

  it('reads Zed, old and new, and skips servers of extensions with a warning', () => {
    const settings = {
      theme: 'One Dark',
      context_servers: {
        old: { command: { path: 'node', args: ['a.js'], env: { K: 'v' } }, settings: {} },
        new: { source: 'custom', command: 'node', args: ['b.js'], enabled: false },
        extension: { source: 'extension', settings: { key: 1 } },
      },
    }
    const { servers, errors, warnings } = checkServerConfigs(settings, options)
    expect({ ...servers }).toEqual({
      old: { command: 'node', args: ['a.js'], env: { K: 'v' } },
      new: { command: 'node', args: ['b.js'], disabled: true },
    })
    expect(errors).toEqual([])
    expect(warnings.map(({ server, message }) => [server, message])).toEqual([
      ['extension', 'is skipped: it belongs to an extension of Zed. Add "command" or "url" to use it.'],
    ])
  })

  it('reads opencode with its way to write variables', () => {
    const file = {
      $schema: 'https://opencode.ai/config.json',
      mcp: {
        local: { type: 'local', command: ['npx', '-y', 'pkg'], environment: { K: '{env:TOKEN}' }, enabled: true },
        remote: { type: 'remote', url: 'https://example.com/mcp', enabled: false, headers: { 'X-Key': '{env:TOKEN}' } },
      },
    }
    expect(parse(file)).toEqual({
      local: { command: 'npx', args: ['-y', 'pkg'], env: { K: 't0k' } },
      remote: { url: 'https://example.com/mcp', headers: { 'X-Key': 't0k' }, disabled: true },
    })
  })

  it('reads a plain map, also of servers that are called like the members of other formats', () => {
    expect(parse({ servers: { command: 'a' }, mcp: { url: 'https://example.com' } })).toEqual({
      servers: { command: 'a' },
      mcp: { url: 'https://example.com' },
    })
    expect(parse({ mcpServers: { command: { command: 'a' }, url: { command: 'b' } } })).toEqual({
      command: { command: 'a' },
      url: { command: 'b' },
    })
    expect(parse({})).toEqual({})
  })

  it('takes servers, sandboxes and credentials as objects', () => {
    const server = new McpServer({ name: 'test', version: '1' })
    const sandbox = bubblewrap()
    const auth = { headers: () => ({}), onUnauthorized: async () => false }
    const parsed = parse({
      local: { server, trust: 'trusted' },
      confined: { command: 'a', sandbox },
      remote: { url: 'https://example.com', auth },
    })
    expect(parsed).toEqual({
      local: { server, trust: 'trusted' },
      confined: { command: 'a', sandbox },
      remote: { url: 'https://example.com', auth },
    })
  })

  it('accepts the own members in every format', () => {
    const own = {
      trust: 'trusted',
      disabled: true,
      idleMs: 1,
      timeoutMs: 2,
      tools: ['read_*'],
      shared: true,
      prefix: false,
    }
    const entry = { command: 'node', ...own }
    for (const name of ['mcpServers', 'servers', 'context_servers', 'mcp']) {
      expect(parse({ [name]: { a: entry } })).toEqual({ a: entry })
    }
    const remote = { url: 'http://192.168.1.5/mcp', allowInsecure: true, ...own }
    expect(parse({ a: remote })).toEqual({ a: remote })
  })

  it('does not turn permissions of another host into trust or grants', () => {
    const entry = { command: 'node', autoApprove: ['*'], alwaysAllow: ['write'], trust: true }
    const { servers, errors, warnings } = checkServerConfigs({ mcpServers: { a: entry } }, options)
    expect(servers.a).toEqual({ command: 'node' })
    expect(errors).toEqual([])
    expect(warnings.map(({ member }) => member)).toEqual(['trust'])
  })
})

describe('variables', () => {
  const args = (...given: string[]) => {
    const { a } = parse({ a: { command: 'node', args: given } })
    return a && 'args' in a ? a.args : undefined
  }

  it('replaces variables of the environment and of the workspace', () => {
    expect(args('${TOKEN}', '${env:TOKEN}', 'x${TOKEN}y${TOKEN}')).toEqual(['t0k', 't0k', 'xt0kyt0k'])
    expect(args('${NONE:-default}', '${EMPTY:-other}', '${TOKEN:-unused}', '${EMPTY}', '${env:NONE:-a:b}')).toEqual([
      'default',
      'other',
      't0k',
      '',
      'a:b',
    ])
    expect(args('${workspaceFolder}/a', '${userHome}${/}b', '${workspaceFolderBasename}')).toEqual([
      '/srv/project/a',
      '/home/me/b',
      'project',
    ])
    expect(args('$TOKEN', '${', '{env:TOKEN}')).toEqual(['$TOKEN', '${', '{env:TOKEN}'])
  })

  it('does not search the value of a variable for further variables', () => {
    const { a } = parseServerConfigs(
      { a: { command: '${X}' } },
      { ...options, env: { X: '${TOKEN}', TOKEN: 'secret' } },
    )
    expect(a).toEqual({ command: '${TOKEN}' })
  })

  it('makes cwd absolute', () => {
    const cwd = (text: string) => parse({ a: { command: 'x', cwd: text } }).a
    expect(cwd('~/app')).toMatchObject({ cwd: '/home/me/app' })
    expect(cwd('./app')).toMatchObject({ cwd: '/srv/project/app' })
    expect(cwd('/srv')).toMatchObject({ cwd: '/srv' })
    expect(cwd('C:\\srv')).toMatchObject({ cwd: 'C:\\srv' })
  })

  it('does not need the variables of a disabled server', () => {
    expect(parse({ a: { command: '${NONE}', disabled: true } })).toEqual({ a: { command: '${NONE}', disabled: true } })
  })
})
