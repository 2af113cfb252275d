import { describe, expect, it } from 'vitest'
import { metaKeys } from './meta.ts'
import { extensionIdProblem, isReservedMetaKey, metaKeyProblem } from './meta-key.ts'

describe('metaKeyProblem', () => {
  it.each([
    'progressToken',
    'com.example/name',
    'a/b',
    'x.y.z/w',
    'my-host.example-1.io2/name',
    ...Object.values(metaKeys),
  ])('accepts a name with or without a prefix of labels: %s [META-002] [META-003]', (key) => {
    expect(metaKeyProblem(key)).toBeUndefined()
  })

  it.each(['com.example/', ''])('accepts an empty name: "%s" [META-007]', (key) => {
    expect(metaKeyProblem(key)).toBeUndefined()
  })

  it.each(['a', '7', 'a-b_c.d9', 'com.example/0--__..z', 'Name'])(
    'accepts hyphens, underscores and dots inside a name: %s [META-008]',
    (key) => {
      expect(metaKeyProblem(key)).toBeUndefined()
    },
  )

  it.each(['/name', '/', '.com/name', 'com./name', 'com..example/name', './name'])(
    'refuses a prefix with an empty label: %s [META-002]',
    (key) => {
      expect(metaKeyProblem(key)).toBe('a prefix label must not be empty')
    },
  )

  it.each([
    ['1com/name', 'a prefix label must start with a letter'],
    ['com.2go/name', 'a prefix label must start with a letter'],
    ['-com/name', 'a prefix label must start with a letter'],
    ['münchen.de/name', 'a prefix label may contain only letters, digits and hyphens'],
    ['ünchen.de/name', 'a prefix label must start with a letter'],
    ['com-/name', 'a prefix label must end with a letter or digit'],
    ['com.example_/name', 'a prefix label must end with a letter or digit'],
    ['com.exa_mple/name', 'a prefix label may contain only letters, digits and hyphens'],
    ['com.exa mple/name', 'a prefix label may contain only letters, digits and hyphens'],
    ['[a]/name', 'a prefix label must start with a letter'],
    ['a@/name', 'a prefix label must end with a letter or digit'],
  ])('refuses a prefix label outside the alphabet: %s [META-003]', (key, problem) => {
    expect(metaKeyProblem(key)).toBe(problem)
  })

  it.each([
    ['_name', 'the name must start with a letter or digit'],
    ['com.example/-name', 'the name must start with a letter or digit'],
    ['com.example/.', 'the name must start with a letter or digit'],
    ['com.example//name', 'the name must start with a letter or digit'],
    ['name.', 'the name must end with a letter or digit'],
    ['com.example/name_', 'the name must end with a letter or digit'],
    ['com.example/name/', 'the name must end with a letter or digit'],
    ['com.example/né', 'the name must end with a letter or digit'],
  ])('refuses a name that does not begin and end with an alphanumeric: %s [META-007]', (key, problem) => {
    expect(metaKeyProblem(key)).toBe(problem)
  })

  it.each(['na me', 'na:me', 'com.example/na/me', 'na\u0000me', 'naïve'])(
    'refuses other characters inside a name: %s [META-008]',
    (key) => {
      expect(metaKeyProblem(key)).toBe('the name may contain only letters, digits, hyphens, underscores and dots')
    },
  )

  it('checks a hostile key in linear time', () => {
    const labels = `${'a.'.repeat(200_000)}!/name`
    const hyphens = `a${'-'.repeat(400_000)}/${'-'.repeat(400_000)}`
    // In quadratic time this would exceed the test timeout.
    expect(metaKeyProblem(labels)).toBe('a prefix label must start with a letter')
    expect(metaKeyProblem(hyphens)).toBe('a prefix label must end with a letter or digit')
  })
})

describe('isReservedMetaKey', () => {
  it.each(['io.modelcontextprotocol/protocolVersion', 'dev.mcp/', 'org.modelcontextprotocol.api/x', 'com.mcp.tools/x'])(
    'reserves prefixes whose second label is one of MCP: %s [META-006]',
    (key) => {
      expect(isReservedMetaKey(key)).toBe(true)
    },
  )

  it.each(['modelcontextprotocol.io/x', 'mcp.dev/', 'api.modelcontextprotocol.org/x', 'a.b.mcp.c/x'])(
    'reserves prefixes in which a label of MCP is followed by another: %s [META-005]',
    (key) => {
      expect(isReservedMetaKey(key)).toBe(true)
    },
  )

  it.each([
    'com.example.mcp/x',
    'com.example/mcp',
    'com.example/a.mcp.b',
    'mcp/x',
    'mcp',
    'io.mcp',
    'com.mcp-tools.x/y',
    'progressToken',
    '',
  ])('does not reserve other keys: %s [META-005] [META-006]', (key) => {
    expect(isReservedMetaKey(key)).toBe(false)
  })
})

describe('extensionIdProblem', () => {
  it.each([
    'io.modelcontextprotocol/tasks',
    'io.modelcontextprotocol/oauth-client-credentials',
    'com.example/my_extension.v2',
  ])('accepts an id with a prefix: %s [VER-033]', (id) => {
    expect(extensionIdProblem(id)).toBeUndefined()
  })

  it.each([
    ['tasks', 'a prefix is required, such as com.example/'],
    ['', 'a prefix is required, such as com.example/'],
    ['/tasks', 'a prefix label must not be empty'],
    ['com.example_/tasks', 'a prefix label must end with a letter or digit'],
    ['com.example/-tasks', 'the name must start with a letter or digit'],
  ])('refuses an id without a proper prefix and name: %s [VER-033]', (id, problem) => {
    expect(extensionIdProblem(id)).toBe(problem)
  })
})
