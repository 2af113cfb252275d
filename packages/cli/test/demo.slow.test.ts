import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { readJson } from './json-output.ts'
import { Workspace } from './support.ts'

/** The demo, which `npm test` builds first. */
const demo = fileURLToPath(new URL('../../../examples/dist/demo/stdio.js', import.meta.url))

it('uses the demo with every command that needs one connection', async () => {
  using work = new Workspace()
  const env = { TENON_DEMO_DB: work.file('demo.db') }
  const run = (...args: string[]) => work.run([...args, '--', process.execPath, demo], { env })
  // The environment of a server is minimal, so the database has to be passed on.
  const entry = { command: process.execPath, args: [demo], env }
  work.write('mcp.json', { mcpServers: { demo: entry } })
  const named = (...args: string[]) => work.run(args)

  expect((await run('list', 'tools')).stdout).toContain(
    '  add\n    Adds two numbers\n    a=<number> b=<number>\n    read-only',
  )
  const list = readJson('list', (await run('list', '--json')).stdout)
  expect(list.server).toEqual({ name: 'demo', version: '1.0.0', title: 'Tenon demo' })
  const info = readJson('info', (await run('info', '--tool', 'add', '--json')).stdout)
  expect(info.tool.annotations).toEqual({ readOnlyHint: true })
  const sum = readJson('call', (await run('call', 'add', 'a=1', 'b=2', '--json')).stdout)
  expect(sum.structuredContent).toEqual({ result: 3 })

  expect((await named('call', 'demo', 'write_note', 'day=monday', 'text=Buy milk')).stdout).toBe(
    'Written: note://monday\n',
  )
  expect((await named('read', 'demo', 'note://{day}', 'day=monday')).stdout).toBe('Buy milk\n')
  expect((await named('complete', 'demo', 'note://{day}', 'day=mo')).stdout).toBe('monday\n')
  const prompt = readJson(
    'prompt',
    (await named('prompt', 'demo', 'review', 'code=1', 'language=python', '--json')).stdout,
  )
  expect(prompt.messages[0].content.text).toContain('python')
  expect((await named('complete', 'demo', 'review', 'language=ty')).stdout).toBe('typescript\n')
})

it.each(['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25', '2026-07-28'])(
  'calls a tool of the demo on %s',
  async (revision) => {
    using work = new Workspace()
    const { code, stdout } = await work.run(['call', demo, 'echo', 'text=hello', '--revision', revision])
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'hello\n' })
  },
)
