import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { migrateFiles } from '../src/migrate/migrate-files.ts'

const root = fileURLToPath(new URL('../../..', import.meta.url))
const page = readFileSync(join(root, 'docs/migrate.md'), 'utf8')

/** One row of a table of docs/migrate.md. */
interface Row {
  readonly section: string
  readonly title: string
  readonly before: string
  readonly after: string
}

const marker = '// row\n'
const helpers = `import * as z from 'zod'
declare function text(...parts: unknown[]): { type: 'text'; text: string }
declare function ask(text: string): { role: 'user'; content: { type: 'text'; text: string } }
declare function withLog(log: (level: 'info', data: unknown) => Promise<void>): string
void z, text, ask, withLog
`
const v1Prelude = `import { McpServer, ResourceTemplate } from '@modelcontextprotocol/sdk/server/mcp.js'
import { Server } from '@modelcontextprotocol/sdk/server/index.js'
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import type { RequestHandlerExtra } from '@modelcontextprotocol/sdk/shared/protocol.js'
import { CallToolRequest, CallToolRequestSchema, CallToolResult, CallToolResultSchema, CreateMessageResultSchema, ErrorCode, GetPromptRequestSchema, ListRootsRequestSchema, ListToolsRequestSchema, ListToolsResultSchema, LoggingMessageNotificationSchema, McpError, RootsListChangedNotificationSchema, ServerNotification, ServerRequest } from '@modelcontextprotocol/sdk/types.js'
${helpers}const server = new McpServer({ name: 'demo', version: '1.0.0' })
const low = new Server({ name: 'demo', version: '1.0.0' })
void server, low
`
const v1ClientPrelude = v1Prelude.replace(
  helpers,
  `import { Client } from '@modelcontextprotocol/sdk/client/index.js'\n${helpers}const client = new Client({ name: 'app', version: '1.0.0' })\n`,
)
const v2Prelude = `import { McpServer, Server, createMcpHandler, fromJsonSchema, ProtocolError, ProtocolErrorCode } from '@modelcontextprotocol/server'
import { Client } from '@modelcontextprotocol/client'
import { toNodeHandler } from '@modelcontextprotocol/node'
${helpers}const server = new McpServer({ name: 'demo', version: '1.0.0' })
const low = new Server({ name: 'demo', version: '1.0.0' })
const client = new Client({ name: 'app', version: '1.0.0' })
void server, low, client
`
const fastPrelude = `import { FastMCP, UserError } from 'fastmcp'
${helpers}const server = new FastMCP({ name: 'demo', version: '1.0.0' })
void server
`

const rows = readRows(page)
const outputs = new Map(rows.map((row) => [row, migrate(row)]))

describe('the tables of docs/migrate.md', () => {
  it('have rows for all three origins', () => {
    expect(rows.length).toBeGreaterThan(50)
  })

  it.each(rows)('$section: $title', (row) => {
    const { output, findings } = outputs.get(row)!
    expect(output).toBe(row.after)
    expect(findings).toEqual([])
  })

  it('have right columns that compile with Tenon', () => {
    const folder = mkdtempSync(join(tmpdir(), 'tenon-migrate-'))
    try {
      writeProject(folder)
      expect(compile(folder)).toBe('')
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  })
})

function readRows(markdown: string): Row[] {
  let section = ''
  const found: Row[] = []
  let isTable = false
  for (const line of markdown.split('\n')) {
    if (line.startsWith('## ')) section = line.slice(3)
    if (/^(Servers|In handlers|The low-level|Clients)/.test(line))
      section = `From the official SDK 1.x, ${line.slice(0, -1)}`
    if (!line.startsWith('|')) isTable = false
    if (line === '| Before | After |') isTable = true
    const [, left, right] = /^\| (`.*`) \| (`.*`) \|$/.exec(line) ?? []
    if (!isTable || left === undefined || right === undefined) continue
    found.push({
      section,
      title: unquote(left).split('\n').at(-1)!,
      before: unquote(left),
      after: unquote(right).trim(),
    })
  }
  return found
}

/** Code spans that are separated by line breaks. */
function unquote(cell: string): string {
  return cell
    .split('<br>')
    .map((span) => span.slice(1, -1))
    .join('\n')
}

function preludeOf({ section }: Row): string {
  if (section.includes('2.x')) return v2Prelude
  if (section.includes('FastMCP')) return fastPrelude
  return section.includes('Clients') ? v1ClientPrelude : v1Prelude
}

function migrate(row: Row): { output: string; whole: string; findings: unknown } {
  const isWhole = row.before.startsWith('import ')
  const isHandler = row.section.includes('In handlers')
  const [open, close] = isHandler
    ? [
        "server.registerTool('row', { inputSchema: {} }, async (_args, extra) => {\nvoid extra\n",
        '\nreturn { content: [] }\n})\n',
      ]
    : ['', '\n']
  const before = isWhole
    ? `${row.before}\n`
    : `${preludeOf(row)}${open}${marker}${row.before}${isHandler ? `\n${marker}` : ''}${close}`
  const { changed, findings } = migrateFiles(new Map([['row.ts', before]]))
  const whole = changed.get('row.ts') ?? before
  if (isWhole) return { output: whole.trim(), whole, findings }
  const parts = whole.split(marker)
  return {
    output: parts[1]!.trim(),
    whole,
    findings: findings.filter(({ line }) => line > preludeOf(row).split('\n').length),
  }
}

function writeProject(folder: string): void {
  mkdirSync(join(folder, 'rows'))
  let index = 0
  for (const { whole } of outputs.values())
    writeFileSync(join(folder, `rows/row-${index++}.ts`), `${whole}\nexport {}\n`)
  const entry = (name: string) => [join(root, `packages/sdk/src/entry/${name}.ts`)]
  const compilerOptions = {
    target: 'ES2022',
    module: 'ESNext',
    moduleResolution: 'Bundler',
    lib: ['ES2023', 'ESNext.Disposable', 'ESNext.Collection'],
    types: ['node'],
    typeRoots: [join(root, 'node_modules/@types')],
    strict: true,
    noEmit: true,
    skipLibCheck: true,
    allowImportingTsExtensions: true,
    paths: {
      tenon: entry('index'),
      'tenon/server': entry('server'),
      'tenon/client': entry('client'),
      zod: [join(root, 'node_modules/zod')],
    },
  }
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['rows'] }))
}

/** Returns the errors in the rows. */
function compile(folder: string): string {
  try {
    execFileSync(process.execPath, [join(root, 'node_modules/typescript/bin/tsc'), '-p', folder], { encoding: 'utf8' })
    return ''
  } catch (error) {
    return String((error as { stdout?: unknown }).stdout)
  }
}
