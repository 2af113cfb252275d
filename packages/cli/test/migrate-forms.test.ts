import { describe, expect, it } from 'vitest'
import { migrateFiles } from '../src/migrate/migrate-files.ts'

function migrateOne(text: string, path = 'index.ts') {
  const { changed, findings } = migrateFiles(new Map([[path, text]]))
  return { text: changed.get(path) ?? text, findings }
}

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

  it('is reported where the program catches the error and throws it again', () => {
    expect(found('try { return ArgsSchema.parse(request) } catch (error) { log(error); throw error }')).toHaveLength(1)
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
