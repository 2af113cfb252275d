import { expect, it } from 'vitest'
import { readJson } from './json-output.ts'
import { fixture, longestLine, Workspace } from './support.ts'
import { startWebSite } from './web-site.ts'

const notes = fixture('notes.js')

it('lists one kind with the arguments and annotations of tools', async () => {
  using work = new Workspace()
  const { code, stdout } = await work.run(['list', 'tools', notes])
  expect(code).toBe(0)
  expect(stdout).toContain('    a=<number> b=<number>\n')
  expect(stdout).not.toContain('notes://plan')
  const resources = await work.run(['list', 'resources', '--json', '--', process.execPath, notes])
  expect(Object.keys(readJson('list', resources.stdout))).toEqual([
    'server',
    'revision',
    'instructions',
    'resourceTemplates',
    'resources',
  ])
})

it('takes the name of a list as a server if a config file has it', async () => {
  using work = new Workspace()
  work.writeConfig(['tools'], 'mcp.json')
  const named = await work.run(['list', 'tools', '--json'])
  expect(readJson('list', named.stdout).resources).toHaveLength(1)
  const alone = await work.run(['list', 'prompts'])
  expect({ code: alone.code, stderr: alone.stderr }).toEqual({
    code: 2,
    stderr: 'tenon: No server was given whose prompts to list.\nWrite: tenon list prompts <target>\n',
  })
})

it('describes a server with its capabilities and instructions', async () => {
  using work = new Workspace()
  const { code, stdout } = await work.run(['info', process.execPath, notes])
  expect(code).toBe(0)
  expect(stdout).toContain('notes 1.2.3  revision 2026-07-28\n')
  expect(stdout).toContain('5 tools, 1 prompt, 1 resource, 0 resource templates')
  expect(stdout).toContain('Capabilities  logging, tools (listChanged)')
  expect(stdout).toContain('│ Ask before you write.')
  const json = readJson('info', (await work.run(['info', notes, '--json', '--revision', '2025-11-25'])).stdout)
  expect(json).toMatchObject({ revision: '2025-11-25', counts: { tools: 5 }, instructions: 'Ask before you write.' })
})

it('describes a tool, a prompt or a resource completely', async () => {
  using work = new Workspace()
  const { stdout } = await work.run(['info', notes, '--tool', 'echo'])
  expect(stdout).toContain('  text  string, required  What to repeat\n')
  expect(stdout).toContain('Input schema')
  const json = async (...args: string[]) =>
    readJson('info', (await work.run(['info', notes, '--json', ...args])).stdout)
  expect((await json('--tool', 'add')).tool.name).toBe('add')
  expect((await json('--prompt', 'greet')).prompt.name).toBe('greet')
  expect((await json('--resource', 'notes://plan')).resource.uri).toBe('notes://plan')
  const missing = await work.run(['info', notes, '--tool', 'nope', '--json'])
  expect(missing.code).toBe(1)
  expect(readJson('error', missing.stdout).error).toMatchObject({
    code: 'not-found',
    hint: 'It has: echo, add, fail, wait, name',
  })
})

it('prints a hostile server safely within 80 columns', async () => {
  using work = new Workspace()
  const hostile = fixture('hostile.js')
  for (const args of [
    ['info', hostile],
    ['list', 'tools', hostile],
    ['info', hostile, '--tool', 'x'.repeat(120)],
  ]) {
    const { stdout, stderr } = await work.run(args)
    expect(stderr).toBe('')
    expect(stdout).not.toMatch(/[^\n\P{C}]/u)
    expect(longestLine(stdout)).toBeLessThanOrEqual(80)
  }
})

it('prints what is sent and received with --trace, on stderr', async () => {
  using work = new Workspace()
  const { stdout, stderr } = await work.run(['list', notes, '--trace', '--json'])
  readJson('list', stdout)
  expect(stderr).toMatch(/→ server\/discover #1\n/)
  expect(stderr).toMatch(/← result #1 server\/discover [\d.]+ ms\n/)
  expect(longestLine(stderr)).toBeLessThanOrEqual(80)
})

it('shows in the trace what a program that is not a server prints', async () => {
  using work = new Workspace()
  const { code, stderr } = await work.run(['list', fixture('junk.js'), '--trace', '--timeout', '2'])
  expect(code).toBe(5)
  expect(stderr).toContain('! not a message')
  expect(stderr).toContain('Welcome to Junk 3000!')
})

it('explains that a web page is not an MCP server', async () => {
  using work = new Workspace()
  await using site = await startWebSite()
  const { code, stderr } = await work.run(['info', site.url])
  expect(code).toBe(3)
  expect(stderr).toContain('text/html')
})
