import { describe, expect, it } from 'vitest'
import { migrateFiles } from '../src/migrate/migrate-files.ts'

function migrateOne(text: string, path = 'index.ts') {
  const { changed, findings } = migrateFiles(new Map([[path, text]]))
  return { text: changed.get(path) ?? text, findings }
}

describe('a ToolError for the UserError of FastMCP', () => {
  const program = (error: string) => `import { FastMCP, UserError } from 'fastmcp'
const server = new FastMCP({ name: 'demo', version: '1.0.0' })
server.addTool({ name: 'no', execute: async () => { throw ${error} } })
`

  it('has the extras as structured content', () => {
    expect(migrateOne(program("new UserError('No', { code: 'DENIED' })")).text).toContain(
      "throw new ToolError('No', { structuredContent: { code: 'DENIED' } })",
    )
    expect(migrateOne(program('new UserError(String(payload.message), payload)')).text).toContain(
      'throw new ToolError(String(payload.message), { structuredContent: payload })',
    )
  })

  it('has them in functions that are not part of a tool too', () => {
    const { text } = migrateOne(
      "import { UserError } from 'fastmcp'\nexport const refuse = (a, b) => new UserError(a, b)\n",
    )
    expect(text).toContain('new ToolError(a, { structuredContent: b })')
  })

  it('has none if there are no extras', () => {
    expect(migrateOne(program("new UserError('No')")).text).toContain("throw new ToolError('No')")
  })
})

describe('the log of a 2.x context as a value', () => {
  const program = `import { McpServer } from '@modelcontextprotocol/server'
const server = new McpServer({ name: 'demo', version: '1.0.0' })
server.registerTool('run', {}, async (context) => withLog(context.mcpReq.log, () => run(context.mcpReq.signal)))
`

  it('becomes a function with the same parameters', () => {
    const { text, findings } = migrateOne(program)
    expect(text).toContain(
      'withLog(async (level: LoggingLevel, data: unknown, logger?: string) => ctx.log[level](data, logger), () => run(ctx.signal))',
    )
    expect(text).toContain("import type { LoggingLevel } from 'tenon'")
    expect(findings).toEqual([])
  })

  it('has no types in JavaScript', () => {
    const { text } = migrateOne(program, 'index.js')
    expect(text).toContain('withLog(async (level, data, logger) => ctx.log[level](data, logger), ')
    expect(text).not.toContain('LoggingLevel')
  })
})

describe('catch() of a log message', () => {
  it('is removed, because logging returns nothing and does not fail', () => {
    const { text } = migrateOne(`import { McpServer } from '@modelcontextprotocol/server'
const server = new McpServer({ name: 'demo', version: '1.0.0' })
server.registerTool('run', {}, async (ctx) => {
  ctx.mcpReq.log('info', 'One').catch(() => {})
  server.sendLoggingMessage({ level: 'info', data: 'Two' }).catch(report)
})
export function note(data: string) {
  server.server.sendLoggingMessage({ level: 'info', data }).catch((error) => {
    report(error)
  })
}
`)
    expect(text).toContain("  ctx.log.info('One')\n  ctx.log.info('Two')\n")
    expect(text).toContain("  server.server.sendLoggingMessage({ level: 'info', data })\n}")
  })
})

describe('fromJsonSchema of 2.x', () => {
  const program = (schema: string) => `import { fromJsonSchema, McpServer } from '@modelcontextprotocol/server'
const server = new McpServer({ name: 'demo', version: '1.0.0' })
server.registerTool('run', { inputSchema: ${schema} }, async (args) => ({ content: [text(args)] }))
`

  it('is left out, because Tenon takes JSON Schemas', () => {
    const { text, findings } = migrateOne(program("fromJsonSchema({ type: 'object', properties: {} })"))
    expect(text).toContain("{ inputSchema: { type: 'object', properties: {} } }")
    expect(text).toContain("import { McpServer } from 'tenon/server'")
    expect(findings).toEqual([])
  })

  it('is reported if it gets a validator', () => {
    const { text, findings } = migrateOne(program('fromJsonSchema<Args>(schema, new AjvJsonSchemaValidator(ajv))'))
    expect(text).toContain('{ inputSchema: schema }')
    expect(findings).toMatchObject([
      { found: 'new AjvJsonSchemaValidator(ajv)', action: expect.stringContaining('compileJsonSchema') },
    ])
  })

  it('stays if it is passed on as a function', () => {
    const { text, findings } = migrateOne(program('schemas.map(fromJsonSchema)[0]'))
    expect(text).toContain("import { fromJsonSchema } from '@modelcontextprotocol/server'")
    expect(findings).toMatchObject([{ found: 'fromJsonSchema', action: expect.stringContaining('JSON Schema') }])
  })
})

describe('parse() in a handler of Server', () => {
  const program = (body: string, rest = '') => `import { Server } from '@modelcontextprotocol/sdk/server/index.js'
import { CallToolRequestSchema } from '@modelcontextprotocol/sdk/types.js'
const server = new Server({ name: 'demo', version: '1.0.0' }, { capabilities: { tools: {} } })
server.setRequestHandler(CallToolRequestSchema, async (request) => {
  ${body}
})
${rest}`
  const found = (body: string, rest = '') => migrateOne(program(body, rest)).findings.map((finding) => finding.found)

  it('is reported, because clients no longer get the text of the schema error', () => {
    expect(migrateOne(program('return run(ArgsSchema.parse(request.params.arguments))')).findings).toMatchObject([
      {
        line: 5,
        found: 'ArgsSchema.parse(request.params.arguments)',
        reason: expect.stringContaining('Internal error'),
        action: expect.stringContaining('safeParse'),
      },
    ])
    expect(found('return run(await schemas[request.params.name].parseAsync(request.params.arguments))')).toHaveLength(1)
  })

  it('is reported in a function that the handler calls', () => {
    const rest = 'function run(args) { return ArgsSchema.parse(args) }\n'
    expect(found('return run(request.params.arguments)', rest)).toEqual(['ArgsSchema.parse(args)'])
  })

  it('is not reported where the program catches the error, nor for JSON, dates and paths', () => {
    expect(found('try { return ArgsSchema.parse(request) } catch (error) { return failed(error) }')).toEqual([])
    expect(found('return [JSON.parse(text), Date.parse(text), URL.parse(text), path.parse(text)]')).toEqual([])
  })

  it('is reported like every error of the program that is thrown there', () => {
    expect(found('try { return run() } catch (error) { throw clean(error) }')).toEqual(['throw clean(error)'])
    const rest = 'async function run() { throw new AcmeError() }\n'
    expect(found('return run()', rest)).toEqual(['throw new AcmeError()'])
    expect(
      found("throw new McpError(-32000, 'No')", "import { McpError } from '@modelcontextprotocol/sdk/types.js'"),
    ).toEqual([])
    expect(found("throw new Error('No')")).toEqual([])
  })

  it('is reported where the program catches the error and throws it again', () => {
    expect(found('try { return ArgsSchema.parse(request) } catch (error) { log(error); throw error }')).toEqual([
      'ArgsSchema.parse(request)',
      'throw error',
    ])
  })
})

describe('inserted lines', () => {
  it('have the indentation of the file', () => {
    const program = (unit: string) => `import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { CallToolResult, ListToolsResult, GetPromptResult, ListPromptsResult, ReadResourceResult, Tool } from '@modelcontextprotocol/sdk/types.js'

export const server = new McpServer({ name: 'demo', version: '1.0.0' }, {
${unit}instructions: 'Add.',
})
export let all: [CallToolResult, ListToolsResult, GetPromptResult, ListPromptsResult, ReadResourceResult, Tool]
server.tool(
${unit}'add',
${unit}'Adds',
${unit}{
${unit}${unit}a: z.number(),
${unit}},
${unit}async ({ a }) => ({ content: [] }),
)
server.server.onerror = (error) => console.error(error)
`
    for (const unit of ['  ', '    ', '\t']) {
      const { text } = migrateOne(program(unit))
      expect(text).toContain(`import type {\n${unit}CallToolResult,\n`)
      expect(text).toContain(`${unit}instructions: 'Add.',\n${unit}onError: `)
      expect(text).toContain(
        `${unit}'add',\n${unit}{\n${unit}${unit}description: 'Adds',\n${unit}${unit}inputSchema: {\n${unit}${unit}${unit}a: z.number(),\n${unit}${unit}},\n${unit}},\n`,
      )
    }
  })
})

describe('a tool of FastMCP in a variable', () => {
  const head = `import { FastMCP } from 'fastmcp'
const server = new FastMCP({ name: 'demo', version: '1.0.0' })
`

  it('is registered with the members that it has', () => {
    const { text, findings } = migrateOne(`${head}const add = {
  name: 'add',
  description: 'Adds',
  parameters: z.object({ a: z.number() }),
  execute: async ({ a }, { log }) => { log.info('Hi'); return { type: 'text', text: String(a) } },
}
server.addTool(add)
`)
    expect(text).toContain(
      'server.registerTool(add.name, { description: add.description, inputSchema: add.parameters }, add.execute)',
    )
    expect(text).toContain(
      "execute: async ({ a }, ctx) => { ctx.log.info('Hi'); return { content: [{ type: 'text', text: String(a) }] } }",
    )
    expect(findings).toEqual([])
  })

  it('returns images by whatever name the program imports imageContent', () => {
    const { text } = migrateOne(`import { FastMCP, imageContent as image } from 'fastmcp'
const server = new FastMCP({ name: 'demo', version: '1.0.0' })
const shot = { name: 'shot', execute: async () => image({ buffer }) }
server.addTool(shot)
server.addTool({ name: 'one', execute: async () => { return image({ buffer }) } })
server.addTool({ name: 'two', execute: async () => { return await image({ buffer }) } })
server.addTool({ name: 'three', execute: () => image({ buffer }) })
`)
    expect(text).toContain('execute: async () => ({ content: [await image({ buffer })] })')
    expect(text).toContain("registerTool('one', {}, async () => { return { content: [await image({ buffer })] } })")
    expect(text).toContain("registerTool('two', {}, async () => { return { content: [await image({ buffer })] } })")
    expect(text).toContain("registerTool('three', {}, () => image({ buffer }).then((block) => ({ content: [block] })))")
  })

  it('is found behind functions, loops and files of the program', () => {
    const { changed, findings } = migrateFiles(
      new Map([
        [
          'server.js',
          `${head}import { tools } from './tools.js'
const register = (tool) => {
  if (allowed.has(tool.name)) server.addTool(tool)
}
register({ name: 'one', parameters: one, execute: async () => 'One' })
for (const tool of tools) register(tool)
tools.forEach((tool) => server.addTool(tool))
`,
        ],
        [
          'tools.js',
          `let two = { name: 'two', annotations: { readOnlyHint: true }, execute: async (_args, context) => context.client.version }
export const tools = [two, { name: 'three', execute: async () => 'Three' }]
`,
        ],
      ]),
    )
    expect(changed.get('server.js')).toContain(
      '  if (allowed.has(tool.name)) server.registerTool(tool.name, { inputSchema: tool.parameters, annotations: tool.annotations }, tool.execute)',
    )
    expect(changed.get('server.js')).toContain(
      'tools.forEach((tool) => server.registerTool(tool.name, { annotations: tool.annotations }, tool.execute))',
    )
    expect(changed.get('tools.js')).toContain('execute: async (_args, ctx) => ctx.caller.clientInfo }')
    expect(findings).toEqual([])
  })

  it.each([
    ['an option that may refuse calls', "const tool = { name: 'a', canAccess: check, execute: async () => 'A' }"],
    ['a spread', "const tool = { ...base, name: 'a', execute: async () => 'A' }"],
    ['a later change', "const tool = { name: 'a', execute: async () => 'A' }\ntool.canAccess = check"],
    ['another value', "let tool = { name: 'a', execute: async () => 'A' }\nif (closed) tool = guarded"],
    ['the result of a function', "const tool = guard({ name: 'a', execute: async () => 'A' })"],
    ['this', "const tool = { name: 'a', text: 'A', async execute() { return this.text } }"],
    [
      'a function that changes it',
      "const tool = { name: 'a', execute: async () => 'A' }\nObject.assign(tool, { canAccess })",
    ],
    [
      'a function of the program that changes it',
      "const tool = { name: 'a', execute: async () => 'A' }\nfunction protect(t) { t.canAccess = check }\nprotect(tool)",
    ],
    ['a function that is not known', "const tool = { name: 'a', execute: async () => 'A' }\nprotect(tool)"],
    ['another name', "const tool = { name: 'a', execute: async () => 'A' }\nconst same = tool\nsame.canAccess = check"],
    [
      'a list that changes it',
      "const tool = { name: 'a', execute: async () => 'A' }\nfor (const each of [tool]) each.canAccess = check",
    ],
    [
      'a list in a variable',
      "const tool = { name: 'a', execute: async () => 'A' }\nconst all = [tool]\nall.forEach((each) => { each.canAccess = check })",
    ],
    [
      'a method of a list',
      "const tool = { name: 'a', execute: async () => 'A' }\nconst all = [tool]\nall.map(protect)",
    ],
  ])('stays where it is not certain what it is: %s', (_, declaration) => {
    const { text, findings } = migrateOne(`${head}${declaration}\nserver.addTool(tool)\n`, 'index.js')
    expect(text).toContain('server.addTool(tool)')
    expect(findings.some(({ found }) => found === 'server.addTool')).toBe(true)
  })

  it('is found although the program reads it elsewhere', () => {
    const { text } = migrateOne(
      `${head}const tool = { name: 'a', execute: async () => 'A' }
const all = [tool]
console.error(tool.name, all.length, all.map((each) => each.name), { ...tool })
for (const each of all) note(each.name)
const show = (each) => console.error(each.name)
show(tool)
for (const each of all) server.addTool(each)
`,
      'index.js',
    )
    expect(text).toContain('for (const each of all) server.registerTool(each.name, {}, each.execute)')
  })

  it('stays if a function that gets it is exported, or passed on', () => {
    for (const rest of [
      'export const add = (tool) => server.addTool(tool)',
      'const add = (tool) => server.addTool(tool)\nload(add)',
    ])
      expect(migrateOne(`${head}${rest}\nadd({ name: 'a', execute: async () => 'A' })\n`, 'index.js').text).toContain(
        'server.addTool(tool)',
      )
  })

  it('does not compile if it may read the session', () => {
    const secured = head.replace("version: '1.0.0'", "version: '1.0.0', authenticate")
    const wrapped =
      "const tool = { name: 'a', execute: wrap(async (_args, context) => context.session.role) }\nserver.addTool(tool)\n"
    expect(migrateOne(secured + wrapped, 'index.js').text).toContain('REPLACE_session_WITH_ctx_auth(tool.execute))')
    const reads =
      "const tool = { name: 'a', execute: async (_args, context) => context.session.role }\nserver.addTool(tool)\n"
    expect(migrateOne(secured + reads, 'index.js').text).toContain('REPLACE_session_WITH_ctx_auth(tool.execute))')
    // Without authenticate(), FastMCP has no session that a function could check.
    const { text, findings } = migrateOne(head + wrapped, 'index.js')
    expect(text).toContain('server.registerTool(tool.name, {}, tool.execute)')
    expect(findings).toMatchObject([{ line: 3, reason: expect.stringContaining('context') }])
    // A function that wraps all tools has to be looked at once.
    const again = "const other = { name: 'b', execute: wrap(async () => 'B') }\nserver.addTool(other)\n"
    expect(migrateOne(head + wrapped + again, 'index.js').findings).toHaveLength(1)
  })

  it('does not compile wherever a function that reads the session is used', () => {
    const tools = `const run = async (_args, context) => context.session.role
server.addTool({ name: 'a', execute: run })
server.addTool({ name: 'b', execute: run })
const tool = { name: 'c', execute: run }
if (open) server.addTool(tool)
else server.addTool(tool)
`
    expect(migrateOne(head + tools, 'index.js').text.match(/REPLACE_session_WITH_ctx_auth\(/g)).toHaveLength(4)
  })

  it('does not compile where the program replaces addTool, whose checks would not run', () => {
    const { text, findings } = migrateOne(
      `${head}server.addTool = (tool) => { if (allowed(tool)) original(tool) }
server.addTool({ name: 'a', execute: async () => 'A' })
`,
      'index.js',
    )
    expect(text).toContain('server.addTool = CHECK_IN_HANDLERS((tool) => { if (allowed(tool)) original(tool) })')
    expect(findings[0]).toMatchObject({ line: 3, reason: expect.stringContaining('replaces addTool') })
  })
})
