import { describe, expect, it } from 'vitest'
import { editEntry, readEntry } from '../../src/install/edit-config.ts'
import { diffLines } from '../../src/install/line-diff.ts'

const entry = { command: 'node', args: ['a.js'] }

function edit(text: string, name = 'new', value: typeof entry | undefined = entry): string {
  return editEntry({ path: 'mcp.json', text }, 'mcpServers', name, value)
}

function remove(text: string, name: string): string {
  return editEntry({ path: 'mcp.json', text }, 'mcpServers', name, undefined)
}

/** The lines that are not in both texts. */
function changed(before: string, after: string): string[] {
  return diffLines(before, after, 0).map(({ sign, text }) => sign + text)
}

describe('adding a server to a config file', () => {
  it('creates the object in an empty file', () => {
    expect(edit('')).toBe(`${JSON.stringify({ mcpServers: { new: entry } }, null, 2)}\n`)
    expect(edit(' \n')).toBe(edit(''))
  })

  it('adds the container to other settings, and keeps them', () => {
    const before = '{\n  // dark is better\n  "theme": "dark" // really\n}\n'
    expect(edit(before)).toBe(
      '{\n  // dark is better\n  "theme": "dark", // really\n  "mcpServers": {\n    "new": {\n      "command": "node",\n' +
        '      "args": [\n        "a.js"\n      ]\n    }\n  }\n}\n',
    )
  })

  it('changes no other line, not even one that is formatted differently', () => {
    const before =
      '{\n\t/* mine */\n\t"mcpServers": {\n\t\t"a": { "command": "x" }, // keep\n\t\t"b":   {"command":"y"}, // too\n\t},\n}\n'
    const lines = changed(before, edit(before))
    expect(lines.every((line) => line.startsWith('+'))).toBe(true)
    expect(lines[0]).toBe('+\t\t"new": {')
    expect(lines.at(-1)).toBe('+\t\t},')
  })

  it.each([
    ['a container on one line', '{ "mcpServers": { "a": { "command": "x" } } }'],
    ['an empty container', '{\n    "mcpServers": {}\n}'],
    ['an empty container with a comment', '{\n  "mcpServers": {\n    // none yet\n  }\n}'],
    ['a comment after the last member', '{"mcpServers": {\n  "a": { "command": "x" } // last\n}}'],
    ['commas at the beginning of lines', '{\n  "x": 1\n, "mcpServers": {\n    "a": {}\n  , "b": {}\n}\n}'],
    ['a comma after a comment', '{ "mcpServers": { "a": {} /* one */ , } }'],
    ['a byte order mark', '\uFEFF{ "mcpServers": {} }'],
    ['commas and slashes in strings', '{ "mcpServers": { "a": { "args": ["//x", ",", "/*"] } } }'],
  ])('keeps everything else with %s', (_, before) => {
    const after = edit(before)
    expect(readEntry({ path: '', text: after }, 'mcpServers', 'new')).toEqual(entry)
    for (const comment of before.match(/\/\/ \w+|\/\* \w+ \*\//g) ?? []) expect(after).toContain(comment)
    expect(readEntry({ path: '', text: remove(after, 'new') }, 'mcpServers', 'new')).toBeUndefined()
  })

  it('keeps Windows line ends', () => {
    const after = edit('{\r\n  "mcpServers": {\r\n    "a": {}\r\n  }\r\n}\r\n')
    expect(after.replaceAll('\r\n', '')).not.toContain('\n')
  })

  it('replaces only the value of an existing entry', () => {
    const before = '{\n  "mcpServers": {\n    "new": { "command": "old" }, // mine\n    "b": {}\n  }\n}\n'
    expect(edit(before)).toContain('    }, // mine\n    "b": {}\n')
  })

  it.each([
    ['is not JSON', '{ "mcpServers": { }', 'line 1 is not valid JSON'],
    ['is not an object', '[]', 'The file is not an object'],
    ['has a container that is not an object', '{ "mcpServers": [] }', '"mcpServers" is not an object'],
    ['has the container twice', '{ "mcpServers": {}, "mcpServers": { "a": {} } }', 'appears twice'],
  ])('refuses a file that %s', (_, text, message) => {
    expect(() => edit(text)).toThrow(message)
  })
})

describe('removing a server from a config file', () => {
  it('restores the file that adding it changed', () => {
    const before = '{\n  // one\n  "mcpServers": {\n    "a": {}, // two\n    "b": {} // three\n  }\n}\n'
    expect(remove(edit(before), 'new')).toBe(before)
  })

  it('removes the first, a middle and the last one, with the comment on the line', () => {
    const before = '{\n  "mcpServers": {\n    "a": {}, // A\n    "b": {}, // B\n    "c": {} // C\n  }\n}\n'
    expect(remove(before, 'a')).toBe('{\n  "mcpServers": {\n    "b": {}, // B\n    "c": {} // C\n  }\n}\n')
    expect(remove(before, 'b')).toBe('{\n  "mcpServers": {\n    "a": {}, // A\n    "c": {} // C\n  }\n}\n')
    expect(remove(before, 'c')).toBe('{\n  "mcpServers": {\n    "a": {}, // A\n    "b": {} // B\n  }\n}\n')
  })

  it('leaves other members on the same line alone', () => {
    const before = '{ "mcpServers": { "a": {}, "b": {}, "c": {} }, "x": 1 }'
    for (const name of ['a', 'b', 'c']) {
      expect(Object.keys(JSON.parse(remove(before, name)).mcpServers)).toEqual(
        ['a', 'b', 'c'].filter((other) => other !== name),
      )
    }
  })
})
