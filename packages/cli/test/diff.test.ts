import { readFileSync } from 'node:fs'
import type { Tool } from 'tenon'
import { describe, expect, it } from 'vitest'
import type { Contract } from '../src/contract/contract.ts'
import { diffContracts } from '../src/diff/contract-diff.ts'
import { splitCommand } from '../src/diff/side.ts'
import { readJson } from './json-output.ts'
import { fixture, longestLine, Workspace } from './support.ts'

const string = { type: 'string' } as const
const tool: Tool = {
  name: 'read',
  description: 'Reads a file',
  inputSchema: { type: 'object', properties: { path: string }, required: ['path'] },
  outputSchema: { type: 'object', properties: { text: string }, required: ['text'] },
  annotations: { readOnlyHint: true, openWorldHint: false },
}
const empty: Contract = {
  server: { name: 'files', version: '1.0.0' },
  revision: '2025-11-25',
  instructions: null,
  tools: [],
  prompts: [],
  resourceTemplates: [],
  resources: [],
}

function diffTools(before: Tool[], after: Tool[]) {
  return diffContracts({ ...empty, tools: before }, { ...empty, tools: after }).map(
    ({ level, what, message }) => `${level} ${what}: ${message}`,
  )
}

describe('the comparison of two contracts', () => {
  it.each<[string, Partial<Tool>, string[]]>([
    ['nothing', {}, []],
    [
      'a new required argument',
      { inputSchema: { type: 'object', properties: { path: string, a: string }, required: ['path', 'a'] } },
      ['breaking tool read: added, and required: a'],
    ],
    [
      'a new optional argument',
      { inputSchema: { type: 'object', properties: { path: string, a: string }, required: ['path'] } },
      ['compatible tool read: added: a'],
    ],
    [
      'a renamed argument',
      { inputSchema: { type: 'object', properties: { file: string }, required: ['file'] } },
      ['breaking tool read: renamed: path -> file', 'breaking tool read: added, and required: file'],
    ],
    [
      'an argument that accepts less',
      { inputSchema: { type: 'object', properties: { path: { ...string, maxLength: 9 } }, required: ['path'] } },
      ['breaking tool read: maxLength: none -> 9'],
    ],
    [
      'an argument that is optional now',
      { inputSchema: { type: 'object', properties: { path: string } } },
      ['compatible tool read: no longer required: path'],
    ],
    [
      'a result that promises more',
      { outputSchema: { type: 'object', properties: { text: { ...string, maxLength: 9 } }, required: ['text'] } },
      ['compatible tool read: maxLength: none -> 9'],
    ],
    [
      'a result that promises less',
      { outputSchema: { type: 'object', properties: { text: string } } },
      ['breaking tool read: no longer required: text'],
    ],
    [
      'a result without a property',
      { outputSchema: { type: 'object', properties: {}, required: [] } },
      ['breaking tool read: removed: text'],
    ],
    [
      'no output schema',
      { outputSchema: undefined as never },
      ['breaking tool read: no longer returns structured content with a schema'],
    ],
    [
      'a tool that is no longer read-only',
      { annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: true, openWorldHint: false } },
      [
        'breaking tool read: readOnlyHint: true -> false',
        'compatible tool read: destructiveHint: true -> false',
        'compatible tool read: idempotentHint: false -> true',
      ],
    ],
    [
      'missing annotations',
      { annotations: {} },
      ['breaking tool read: readOnlyHint: true -> false', 'breaking tool read: openWorldHint: false -> true'],
    ],
    [
      'a hint that means nothing for a read-only tool',
      {
        annotations: { readOnlyHint: true, openWorldHint: false, destructiveHint: false },
      },
      [],
    ],
    [
      'calls that must be tasks',
      { execution: { taskSupport: 'required' } },
      ['breaking tool read: taskSupport: forbidden -> required'],
    ],
    ['another description', { description: 'Reads' }, ['cosmetic tool read: description: "Reads a file" -> "Reads"']],
  ])('judges %s', (_, change, expected) => {
    expect(diffTools([tool], [{ ...tool, ...change }])).toEqual(expected)
  })

  it('judges tools that were added, removed and renamed', () => {
    const other = { ...tool, description: 'Something else', name: 'other' }
    expect(diffTools([tool, other], [{ ...tool, name: 'read_file' }])).toEqual([
      'breaking tool read: renamed to read_file',
      'breaking tool other: removed',
      'compatible tool read_file: added',
    ])
  })

  it('judges prompts, resources and the server', () => {
    const argument = (name: string, required?: boolean) => ({ name, ...(required && { required }) })
    const before: Contract = {
      ...empty,
      prompts: [{ name: 'greet', arguments: [argument('a'), argument('b'), argument('c', true)] }],
      resourceTemplates: [{ uriTemplate: 'a://{b}', name: 'a', mimeType: 'text/plain' }],
      resources: [{ uri: 'a://b', name: 'b' }],
    }
    const after: Contract = {
      ...empty,
      server: { name: 'other', version: '2.0.0' },
      instructions: 'Be careful',
      prompts: [{ name: 'greet', arguments: [argument('a', true), argument('c'), argument('d', true)] }],
      resourceTemplates: [{ uriTemplate: 'a://{b}', name: 'a', mimeType: 'application/json' }],
    }
    expect(diffContracts(before, after).map(({ level, message }) => `${level} ${message}`)).toEqual([
      'breaking now required: a',
      'breaking removed: b',
      'breaking added, and required: d',
      'breaking mimeType: "text/plain" -> "application/json"',
      'breaking removed',
      'compatible no longer required: c',
      'cosmetic name: "files" -> "other"',
      'cosmetic instructions: nothing -> "Be careful"',
    ])
  })
})

describe('tenon snapshot and tenon diff', () => {
  it('writes a snapshot that does not depend on the order of definitions', async () => {
    using work = new Workspace()
    const definitions = (tools: unknown[]) => work.write(`${tools.length}.json`, { tools })
    const run = (file: string) => work.run(['snapshot', process.execPath, fixture('defined.js'), file])
    const reordered = { inputSchema: tool.inputSchema, name: 'a', description: 'A\u202e' }
    const first = await run(definitions([tool, { ...reordered }]))
    const second = await run(
      work.write('second.json', {
        tools: [{ name: 'a', description: 'A\u202e', inputSchema: tool.inputSchema }, tool],
      }),
    )
    expect({ code: first.code, stderr: first.stderr }).toEqual({ code: 0, stderr: '' })
    expect(second.stdout).toBe(first.stdout)
    expect(first.stdout).not.toMatch(/[^\n\P{C}]/u)
    const { tools } = readJson('snapshot', first.stdout)
    expect(tools.map(({ name }: Tool) => name)).toEqual(['a', 'read'])
  })

  it('writes a file, and compares it with the live server', async () => {
    using work = new Workspace()
    const path = work.file('contract.json')
    const server = [process.execPath, fixture('notes.js')]
    const written = await work.run(['snapshot', '--json', '--output', path, '--', ...server])
    expect(readJson('snapshot-file', written.stdout).tools).toBe(5)
    readJson('snapshot', readFileSync(path, 'utf8'))
    const one = await work.run(['snapshot', '--output', path, '--', ...server])
    expect(one.stderr).toMatch(/: 5 tools, 1 prompt\n$/)
    const same = await work.run(['diff', path, server.map((word) => `"${word}"`).join(' ')])
    expect(same).toMatchObject({ code: 0, stdout: 'No differences.\n' })
  })

  it('exits with code 6 if clients break, and shows each change within 80 columns', async () => {
    using work = new Workspace()
    const command = (name: string, tools: unknown[]) =>
      `"${process.execPath}" '${fixture('defined.js')}' ${work.write(name, { tools })}`
    const before = command('old.json', [tool])
    const after = command('new.json', [{ ...tool, name: 'read\u001b[2J' }])
    const plain = await work.run(['diff', before, after])
    expect(plain.code).toBe(6)
    expect(plain.stdout).toContain('tool read: renamed to read<U+001B>[2J')
    expect(longestLine(plain.stdout)).toBeLessThanOrEqual(80)
    const json = await work.run(['diff', before, after, '--json'])
    expect(json.code).toBe(6)
    expect(readJson('diff', json.stdout)).toMatchObject({ verdict: 'breaking', counts: { breaking: 1 } })
  })

  it.each([
    ['a file that is not JSON', '{', 2],
    ['a snapshot of a later version', { tenonContract: 2 }, 2],
    ['a snapshot with an invalid tool', { tenonContract: 1, tools: [{}] }, 2],
    ['a config file', { mcpServers: {} }, 2],
  ])('refuses %s', async (_, content, code) => {
    using work = new Workspace()
    const file = work.write('file.json', content)
    expect((await work.run(['diff', file, file])).code).toBe(code)
  })

  it('splits a command at spaces outside of quotes', () => {
    expect(splitCommand(`node "my server.js" --name='a b' c`)).toEqual(['node', 'my server.js', '--name=a b', 'c'])
  })
})
