// biome-ignore-all lint/suspicious/noTemplateCurlyInString: these are the variables of configuration files
import { expect, it } from 'vitest'
import { parseEnvFile } from './env-file.ts'
import { findServers } from './formats.ts'
import { Problems } from './problems.ts'
import { expandVariables, type VariableSource } from './variables.ts'

it('reads files of environment variables, and ignores other lines', () => {
  const text = [
    '\uFEFFA=1',
    'export B = two words # a comment',
    'C="quoted # text" rest',
    "D='single \\n'",
    'E="line\\nbreak"',
    'F="never closed',
    'G=#',
    'H=',
    '# I=1',
    '1J=1',
    'no assignment',
    '=x',
    'K=a#b',
    '__proto__=x',
  ].join('\r\n')
  expect({ ...parseEnvFile(text) }).toEqual({
    A: '1',
    B: 'two words',
    C: 'quoted # text',
    D: 'single \\n',
    E: 'line\nbreak',
    F: '"never closed',
    G: '#',
    H: '',
    K: 'a#b',
    ['__proto__']: 'x',
  })
})

const source: VariableSource = {
  env: { A: 'a', EMPTY: '', BRACED: '{env:A}', NESTED: '${A}' },
  cwd: '/srv/my project/',
  home: '/home/me',
  inputs: new Map([
    ['api-key', 'Your key'],
    ['other', ''],
  ]),
  hasBracedVariables: false,
}

function expand(text: string, other: Partial<VariableSource> = {}): string | string[] {
  const problems = new Problems()
  const expanded = expandVariables(text, 'env.X', { ...source, ...other }, problems.of('a'))
  return problems.errors.length === 0 ? expanded : problems.errors.map(({ member, message }) => `${member} ${message}`)
}

it.each([
  ['${A}-${env:A}', 'a-a'],
  ['${NESTED}', '${A}'],
  ['${MISSING:-b}${EMPTY:-c}${A:-d}', 'bca'],
  ['${EMPTY}', ''],
  ['${workspaceFolder}|${workspaceFolderBasename}', '/srv/my project/|my project'],
  ['${userHome}${/}x${pathSeparator}', '/home/me/x/'],
  ['${A', '${A'],
  ['{env:A}', '{env:A}'],
])('replaces the variables in %s', (text, expected) => {
  expect(expand(text)).toBe(expected)
})

it('uses the separator of Windows for its folders', () => {
  expect(expand('${/}${workspaceFolderBasename}', { cwd: 'C:\\srv\\app' })).toBe('\\app')
})

it('reports variables that have no value, and says what to write instead', () => {
  const unset = 'env.X uses ${NO}, but the environment variable NO is not set. Set it, or write ${NO:-default}.'
  expect(expand('${NO}')).toEqual([unset])
  expect(expand('${toString}')).toHaveLength(1)
  expect(expand('${userHome}', { home: undefined })).toEqual([
    'env.X uses ${userHome}, but the home directory is not known. Set HOME.',
  ])
  expect(expand('${command:x y}')).toEqual([
    'env.X uses ${command:x y}, which is not supported. Use ${NAME} for an environment variable, ${workspaceFolder} or ${userHome}.',
  ])
  expect(expand('${input:api-key}')).toEqual([
    'env.X uses ${input:api-key} ("Your key"), which only an editor can ask for. Put the value into an environment variable and write ${env:API_KEY}.',
  ])
  expect(expand('${input:other}')).toEqual([expect.stringContaining('uses ${input:other}, which only')])
})

it('replaces {env:NAME} in the format of opencode', () => {
  const braced = { hasBracedVariables: true }
  expect(expand('x{env:A}y', braced)).toBe('xay')
  expect(expand('{env:NO}', braced)).toEqual([expect.stringContaining('the environment variable NO is not set')])
  expect(expand('{file:./a}', braced)).toEqual([
    'env.X uses {file:...}, which is not supported. Use an environment variable: {env:NAME}.',
  ])
})

it('does not look for variables in the value of a variable', () => {
  const braced = { hasBracedVariables: true }
  expect(expand('{env:NESTED}', braced)).toBe('${A}')
  expect(expand('${BRACED} {env:A} ${A}', braced)).toBe('{env:A} a a')
})

it('finds the servers in each format, and says what is wrong with others', () => {
  const find = (value: unknown) => {
    const problems = new Problems()
    const { entries, inputs, hasBracedVariables } = findServers(value, problems)
    const messages = [...problems.errors, ...problems.warnings].map(({ message }) => message)
    return { ids: entries.map(([id]) => id), inputs: [...inputs], hasBracedVariables, messages }
  }
  const server = { command: 'node' }
  const found = (ids: string[], other = {}) => ({ ids, inputs: [], hasBracedVariables: false, messages: [], ...other })
  expect(find({ mcpServers: { a: server } })).toEqual(found(['a']))
  expect(find({ context_servers: { a: server } })).toEqual(found(['a']))
  expect(find({ mcp: { a: server } })).toEqual(found(['a'], { hasBracedVariables: true }))
  const inputs = [{ id: 'key', description: 'Key' }, { id: 'x' }, { id: 5 }, 'y']
  expect(find({ mcp: { servers: { a: server }, inputs } })).toEqual(
    found(['a'], {
      inputs: [
        ['key', 'Key'],
        ['x', ''],
      ],
    }),
  )
  expect(find({ mcp: { servers: server } })).toEqual(found(['servers'], { hasBracedVariables: true }))
  expect(find({ a: server, $schema: 'x' })).toEqual(found(['a']))
  expect(find({ mcp: server })).toEqual(found(['mcp']))
  expect(find({ command: { path: 'x' }, url: { url: 'https://a.example' } }).ids).toEqual(['command', 'url'])
  expect(find({})).toEqual(found([]))
  expect(find({ mcpServers: { a: server }, mcp: {} }).messages).toEqual([])
  expect(find({ mcpServers: { a: server }, servers: {}, mcp: {} }).messages).toEqual([
    'Only the servers in "mcpServers" are used; those in "servers" are ignored.',
  ])
  expect(find({ mcpServers: [] })).toEqual(
    found([], { messages: ['"mcpServers" must be an object with the servers by their ids.'] }),
  )
  expect(find('x').messages[0]).toContain('The configuration must be an object')
  expect(find({ mcpServer: { a: server } }).messages).toEqual([
    'Unknown member "mcpServer". Did you mean "mcpServers"?',
  ])
  expect(find({ theme: 'dark' }).messages).toEqual([
    'No servers found. Put them into an object "mcpServers" by their ids.',
  ])
})
