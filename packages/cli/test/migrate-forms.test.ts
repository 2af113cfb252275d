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
