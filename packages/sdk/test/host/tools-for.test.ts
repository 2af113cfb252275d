import { describe, expect, it } from 'vitest'
import { type ToolDefinition, toolsFor } from '../../src/host/models/tools-for.ts'

const schema = { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] }
const named = (...names: string[]): ToolDefinition[] => names.map((name) => ({ name, inputSchema: schema }))

describe('toolsFor', () => {
  const read = [{ name: 'files_read', description: 'Reads a file', inputSchema: schema }]

  it('makes definitions for each SDK, without notes if nothing had to be changed', () => {
    expect(toolsFor('anthropic', read)).toMatchObject({
      tools: [{ name: 'files_read', description: 'Reads a file', input_schema: schema }],
      notes: [],
    })
    expect(toolsFor('openai', read).tools).toEqual([
      { type: 'function', function: { name: 'files_read', description: 'Reads a file', parameters: schema } },
    ])
    expect(toolsFor('openai-responses', read).tools).toEqual([
      { type: 'function', name: 'files_read', description: 'Reads a file', parameters: schema, strict: false },
    ])
    const { files_read } = toolsFor('ai-sdk', read).tools
    expect(files_read).toMatchObject({ description: 'Reads a file', inputSchema: { jsonSchema: schema } })
    expect(files_read?.inputSchema['~standard'].jsonSchema.input()).toEqual(schema)
    expect(files_read?.inputSchema).toMatchObject({ [Symbol.for('vercel.ai.schema')]: true })
  })

  it('marks tools as strict if the strict mode can express their schemas', () => {
    const tools = [...read, { name: 'any', inputSchema: { type: 'object', properties: { value: {} } } }]
    const { tools: strict, notes } = toolsFor('openai', tools, { strict: true })
    expect(strict.map(({ function: { strict } }) => strict)).toEqual([true, undefined])
    expect(strict[0]?.function.parameters).toEqual({ ...schema, additionalProperties: false })
    expect(notes.filter(({ tool }) => tool === 'any')[0]).toEqual({
      tool: 'any',
      path: '/inputSchema',
      message: 'strict mode is not possible: a value of any type is allowed at /properties/value',
    })
    expect(toolsFor('anthropic', read, { strict: true }).tools[0]).toMatchObject({ strict: true })
  })

  it('reads the arguments of calls from objects and from JSON text', () => {
    const { toCall } = toolsFor('openai', read)
    const call = { name: 'files_read', arguments: { path: 'a' } }
    expect(toCall('files_read', { path: 'a' })).toEqual(call)
    expect(toCall('files_read', '{"path":"a"}')).toEqual(call)
    expect(toCall('files_read', '')).toEqual({ ...call, arguments: {} })
    for (const bad of ['{"path":', '[]', undefined, 3]) expect(() => toCall('files_read', bad)).toThrow(/files_read/)
  })

  it('shortens long descriptions, and says so', () => {
    const [tool] = toolsFor('openai', [{ ...read[0]!, description: 'x'.repeat(30) }], { maxDescriptionChars: 10 }).tools
    expect(tool?.function.description).toBe(`${'x'.repeat(9)}…`)
    const { notes } = toolsFor('anthropic', [{ ...read[0]!, description: 'x'.repeat(20_000) }])
    expect(notes).toEqual([{ tool: 'files_read', path: '/description', message: 'shortened to 10000 characters' }])
  })

  it('notes that OpenAI takes 128 tools at most', () => {
    const tools = named(...Array.from({ length: 129 }, (_, at) => `tool_${at}`))
    expect(toolsFor('openai', tools).notes).toEqual([expect.objectContaining({ tool: undefined })])
    expect(toolsFor('openai', tools.slice(1)).notes).toEqual([])
    expect(toolsFor('anthropic', tools).notes).toEqual([])
  })
})

describe('names of toolsFor', () => {
  it.each([
    ['anthropic', 128],
    ['openai', 64],
    ['openai-responses', 64],
    ['ai-sdk', 64],
  ] as const)('fit the pattern of %s, differ, and map back to the catalog', (format, maxLength) => {
    const long = 'a'.repeat(200)
    const names = [
      'a.b',
      'a/b',
      'a_b',
      'ä',
      '',
      `${long}1`,
      `${long}2`,
      '__proto__',
      'constructor',
      'x'.repeat(maxLength),
    ]
    const { tools, toCall, apiNameOf, notes } = toolsFor(format, named(...names))
    const apiNames = names.map(apiNameOf)
    expect(new Set(apiNames).size).toBe(names.length)
    expect(Object.keys(tools)).toHaveLength(names.length)
    for (const [at, apiName] of apiNames.entries()) {
      expect(apiName).toMatch(new RegExp(`^[a-zA-Z0-9_-]{1,${maxLength}}$`))
      expect(toCall(apiName, { path: 'x' })).toEqual({ name: names[at], arguments: { path: 'x' } })
    }
    expect(apiNameOf('a_b')).toBe('a_b')
    expect(
      notes
        .filter(({ path }) => path === '/name')
        .map(({ tool }) => tool)
        .sort(),
    ).toEqual(names.filter((name, at) => apiNames[at] !== name).sort())
  })

  it('do not depend on the other tools or their order', () => {
    const alone = toolsFor('openai', named('files.read')).apiNameOf('files.read')
    const among = toolsFor('openai', named('files_read', 'mail.send', 'files.read', 'files/read'))
    expect(among.apiNameOf('files.read')).toBe(alone)
  })

  it('stay different if a tool has the name that another one would get', () => {
    const wanted = toolsFor('openai', named('files.read')).apiNameOf('files.read')
    const { apiNameOf, toCall } = toolsFor('openai', named('files.read', wanted))
    expect(apiNameOf(wanted)).toBe(wanted)
    expect(apiNameOf('files.read')).not.toBe(wanted)
    expect(toCall(wanted, {})?.name).toBe(wanted)
    expect(toCall(apiNameOf('files.read'), {})?.name).toBe('files.read')
  })

  it('are unknown if the model makes them up', () => {
    expect(toolsFor('anthropic', named('a')).toCall('b', {})).toBeUndefined()
    expect(toolsFor('anthropic', named('a')).toCall('__proto__', {})).toBeUndefined()
  })
})
