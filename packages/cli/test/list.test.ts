import { existsSync, mkdirSync } from 'node:fs'
import { Command } from 'commander'
import { McpServer, serveHttp } from 'tenon/server'
import { describe, expect, it } from 'vitest'
import { commandTable } from '../src/command-table.ts'
import { readJson } from './json-output.ts'
import { fixture, longestLine, Workspace } from './support.ts'

const notes = fixture('notes.js')

describe('tenon list', () => {
  it('lists a server that is given as a command', async () => {
    using work = new Workspace()
    const { code, stdout, stderr } = await work.run(['list', process.execPath, notes])
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toContain('notes 1.2.3  revision 2026-07-28')
    expect(stdout).toContain('  add   Adds two numbers\n')
    expect(stdout).toContain('notes://plan')
  })

  it('passes options that are not its own to the command', async () => {
    using work = new Workspace()
    const { code, stdout } = await work.run(['list', process.execPath, '--no-warnings', notes, '--json'])
    expect(code).toBe(0)
    expect(JSON.parse(stdout).server.name).toBe('notes')
  })

  it('passes everything after "--" to the command', async () => {
    using work = new Workspace()
    const description = work.write('text', 'From the argument')
    const { code, stdout } = await work.run([
      'list',
      '--json',
      '--',
      process.execPath,
      '--no-warnings',
      notes,
      description,
    ])
    expect(code).toBe(0)
    expect(JSON.parse(stdout).tools.map((tool: { description: string }) => tool.description)).toContain(
      'From the argument',
    )
  })

  it('lists a server over HTTP with the headers and the revision of the command line', async () => {
    using work = new Workspace()
    const server = new McpServer({ name: 'web', version: '2.0.0' })
    server.registerTool('ping', {}, () => 'pong')
    const seen: unknown[] = []
    await using http = await serveHttp(server, {
      port: 0,
      exit: false,
      auth: {
        verify: (token) => {
          seen.push(token)
          return { scopes: [], subject: 'alice' }
        },
        resource: 'http://127.0.0.1/mcp',
        authorizationServers: ['https://login.example'],
      },
    })
    const args = ['list', http.url, '--revision', '2025-06-18', '--header', 'Authorization: Bearer abc', '--json']
    const { code, stdout, stderr } = await work.run(args)
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    const offer = JSON.parse(stdout)
    expect(offer).toMatchObject({
      server: { name: 'web', version: '2.0.0' },
      revision: '2025-06-18',
      instructions: null,
    })
    expect(offer.tools.map(({ name }: { name: string }) => name)).toEqual(['ping'])
    expect(seen).toContain('abc')
  })

  it('finds a server by its name in a config file of the current folder, and says what it starts', async () => {
    using work = new Workspace()
    const path = work.writeConfig(['files'], '.mcp.json')
    const { code, stdout, stderr } = await work.run(['list', 'files'])
    expect(code).toBe(0)
    expect(stdout).toContain('notes 1.2.3')
    expect(stderr.replace(/\s+/g, ' ')).toContain(`files from ${path}`.slice(0, 60))
  })

  it('takes the server of --config and lists the names if there is none', async () => {
    using work = new Workspace()
    const path = work.writeConfig(['files', 'mail'], 'other.json')
    expect((await work.run(['list', 'mail', '--config', path])).code).toBe(0)
    const { code, stderr } = await work.run(['list', 'web', '--config', path])
    expect(code).toBe(2)
    expect(stderr).toContain('It has: files, mail')
  })

  it('refuses a name that two config files use for different servers', async () => {
    using work = new Workspace()
    work.writeConfig(['files'], '.mcp.json')
    work.write('mcp.json', { mcpServers: { files: { command: 'another-program' } } })
    const { code, stderr } = await work.run(['list', 'files'])
    expect(code).toBe(2)
    expect(stderr).toContain('Choose one with --config <file>.')
  })

  it('runs a file of JavaScript or TypeScript', async () => {
    using work = new Workspace()
    expect((await work.run(['list', notes])).stdout).toContain('notes 1.2.3')
    expect((await work.run(['list', fixture('typed.ts')])).stdout).toContain('typed 1.0.0')
  })

  it('explains what to install if nothing can run a file', async () => {
    using work = new Workspace()
    const { code, stderr } = await work.run(['list', work.write('server.tsx', '')])
    expect(code).toBe(3)
    expect(stderr).toContain('npm install --save-dev tsx')
  })

  it('says that a program which repeats its input is not an MCP server', async () => {
    using work = new Workspace()
    const echo = work.write('repeat.mjs', 'process.stdin.pipe(process.stdout)')
    const { code, stderr } = await work.run(['list', echo])
    expect(code).toBe(3)
    expect(stderr).toContain('This is not an MCP server')
  })

  it('shows the state of all configured servers if there is no target', async () => {
    using work = new Workspace()
    const notesEntry = { command: process.execPath, args: [notes] }
    const mcpServers = {
      notes: notesEntry,
      broken: { command: process.execPath, args: [work.file('missing.js')] },
      dangerous: { command: process.execPath, args: ['-e', 'process.exit(7)'] },
      down: { url: 'http://127.0.0.1:9/mcp' },
      off: { ...notesEntry, disabled: true },
    }
    // The file of the user is trusted like the host that it belongs to.
    mkdirSync(work.file('.cursor'))
    mkdirSync(work.file('project'))
    const path = work.write('.cursor/mcp.json', { mcpServers })
    const [json, { stdout }] = await Promise.all([
      work.runIn('project', ['list', '--json']),
      work.runIn('project', ['list']),
    ])
    expect(json.code).toBe(0)
    const { servers } = readJson('list-servers', json.stdout)
    expect(
      servers.map(({ id, state, tools }: { id: string; state: string; tools?: number }) => [id, state, tools]),
    ).toEqual([
      ['notes', 'ok', 5],
      ['broken', 'failed', null],
      ['dangerous', 'not approved', null],
      ['down', 'failed', null],
      ['off', 'disabled', null],
    ])
    expect(servers[0]).toMatchObject({ source: path, error: null, ms: expect.any(Number) })
    expect(servers[3].error).toContain('nothing is listening on 127.0.0.1:9')
    expect(stdout).toMatch(/^ {2}notes +ok +5 tools +[\d.]+ m?s /m)
    expect(stdout).toMatch(/^ {2}down +failed .*Cannot connect/m)
    expect(stdout).toMatch(/^ {2}broken +failed .*Error: Cannot find/m)
    expect(longestLine(stdout)).toBeLessThanOrEqual(80)
  })

  it('starts no server of a file in the current folder that was not approved', async () => {
    using work = new Workspace()
    const started = work.file('started')
    const args = ['-e', `require('fs').writeFileSync(${JSON.stringify(started)}, '')`]
    work.write('mcp.json', { mcpServers: { evil: { command: process.execPath, args } } })
    const { code, stdout } = await work.run(['list', '--json'])
    expect(code).toBe(0)
    expect(readJson('list-servers', stdout).servers).toMatchObject([{ id: 'evil', state: 'not approved' }])
    expect(existsSync(started)).toBe(false)
  })

  it('shows control characters and bidi marks of a server as code points, within 80 columns', async () => {
    using work = new Workspace()
    const { stdout } = await work.run(['list', fixture('hostile.js')])
    expect(stdout).toContain('<U+001B>[2J')
    expect(stdout).toContain('<U+202E>')
    expect(stdout).not.toMatch(/[^\n\P{C}]/u)
    expect(longestLine(stdout)).toBeLessThanOrEqual(80)
    const json = (await work.run(['list', fixture('hostile.js'), '--json'])).stdout
    expect(json).not.toMatch(/[^\n\P{C}]/u)
    expect(JSON.parse(json).server.name).toContain('\u001b[2J')
  })
})

describe('exit codes', () => {
  it.each([
    { name: 'no target', args: ['list'], code: 2 },
    { name: 'an unknown option', args: ['list', '--bogus', 'node'], code: 2 },
    { name: 'an unknown option after a URL', args: ['list', 'http://127.0.0.1:9', '--bogus'], code: 2 },
    { name: 'an unknown command', args: ['bogus'], code: 2 },
    { name: 'an unknown revision', args: ['list', 'node', '--revision', '1999-01-01'], code: 2 },
    { name: 'a header without a value', args: ['list', 'http://127.0.0.1:9', '--header', 'nothing'], code: 2 },
    { name: 'a file that does not exist', args: ['list', './missing.js'], code: 2 },
    { name: 'a program that does not exist', args: ['list', 'no-such-program-anywhere'], code: 3 },
    { name: 'a program that is not a server', args: ['list', '--', process.execPath, '-e', '0'], code: 3 },
    { name: 'a port where nothing listens', args: ['list', 'http://127.0.0.1:9/mcp'], code: 3 },
  ])('returns $code for $name, and the reason as JSON', async ({ args, code }) => {
    using work = new Workspace()
    const plain = await work.run(args)
    expect({ code: plain.code, stdout: plain.stdout }).toEqual({ code, stdout: '' })
    expect(plain.stderr).toMatch(/^tenon: ./)
    const [command = '', ...rest] = args
    const json = await work.run([command, '--json', ...rest])
    expect(json.code).toBe(code)
    const { error } = JSON.parse(json.stdout)
    expect(Object.keys(error).filter((key) => !['code', 'message', 'hint'].includes(key))).toEqual([])
    expect(error.message).toEqual(expect.any(String))
  })

  it('returns 4 and recommends a header if the server requires a token', async () => {
    using work = new Workspace()
    await using http = await serveHttp(new McpServer({ name: 'web', version: '1.0.0' }), {
      port: 0,
      exit: false,
      auth: {
        verify: () => undefined,
        resource: 'http://127.0.0.1/mcp',
        authorizationServers: ['https://login.example'],
      },
    })
    const { code, stderr } = await work.run(['list', http.url])
    expect(code).toBe(4)
    expect(stderr).toContain('--header')
  })

  it('returns 5 if the server does not answer in time', async () => {
    using work = new Workspace()
    const silent = ['--', process.execPath, '-e', 'process.stdin.resume()']
    expect((await work.run(['list', '--timeout', '0.5', ...silent])).code).toBe(5)
  })
})

describe('tenon', () => {
  it('prints the most useful lines without arguments, and an example at the top of the help of a command', async () => {
    using work = new Workspace()
    const bare = await work.run([])
    expect(bare.code).toBe(0)
    expect(bare.stdout.trimEnd().split('\n')).toHaveLength(6)
    expect(longestLine(bare.stdout)).toBeLessThanOrEqual(80)
    const { code, stdout } = await work.run(['help', 'call'])
    expect(code).toBe(0)
    expect(stdout).toMatch(/^Example: tenon call /)
    expect(stdout).toContain('Usage: tenon call [options] <target> <tool> [key=value...]')
    expect(stdout).toMatch(/Arguments:\n {2}target .*\n.*\n {2}tool .*\n {2}key=value /)
    expect(longestLine(stdout)).toBeLessThanOrEqual(80)
  })

  it('has an example and named arguments for every command', async () => {
    for (const [name, { load, summary }] of commandTable) {
      const command = new Command('tenon').exitOverride()
      const register = await load()
      register(command)
      const registered = command.commands.find((each) => each.name() === name)
      const parts: string[] = []
      registered?.configureHelp({ helpWidth: 80 }).configureOutput({ writeOut: (part) => void parts.push(part) })
      registered?.outputHelp()
      const text = parts.join('')
      expect(text, name).toMatch(new RegExp(`^Example: tenon ${name}\\b`))
      expect(text, name).not.toMatch(/^ {2}words |\[words/m)
      expect(summary.length, name).toBeLessThanOrEqual(37)
    }
  })

  it('groups the commands in its help, which begins with three examples', async () => {
    using work = new Workspace()
    const { code, stdout } = await work.run(['--help'])
    expect(code).toBe(0)
    const lines = stdout.split('\n')
    expect(lines[0]).toBe('Examples')
    expect(lines.slice(1, 4).every((line) => line.startsWith('  tenon '))).toBe(true)
    const titles = lines.filter((line) => /^[A-Z][a-z]+( a)? servers?$/.test(line))
    expect(titles).toEqual(['Use a server', 'Develop a server', 'Check a server', 'Host servers', 'Ship a server'])
    for (const name of commandTable.keys()) expect(stdout).toMatch(new RegExp(`^  ${name} `, 'm'))
    expect(longestLine(stdout)).toBeLessThanOrEqual(80)
  })

  it('suggests similar commands, options and servers', async () => {
    using work = new Workspace()
    work.writeConfig(['files', 'mail'])
    const said = async (...args: string[]) => (await work.run(args)).stderr.replace(/\s+/g, ' ')
    expect(await said('lst')).toContain('Did you mean "tenon list"?')
    expect(await said('list', 'fiels')).toContain('Did you mean "files"? It is a server of')
    expect(await said('list', 'fiels', '--config', 'mcp.json')).toContain('Similar: files')
    expect(await said('gateway', 'mcp.json', '--alow-all')).toContain(
      'Unknown option: --alow-all Did you mean --allow-all?',
    )
    expect(await said('list', notes, '--jsn')).toContain('--jsn goes to the server. Did you mean --json?')
  })
})
