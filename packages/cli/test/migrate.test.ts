import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { migrateFiles } from '../src/migrate/migrate-files.ts'
import { migratePackageJson } from '../src/migrate/package-json.ts'
import { diffTexts } from '../src/migrate/text-diff.ts'
import { readJson } from './json-output.ts'
import { Workspace } from './support.ts'

const server = `// Adds numbers.
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";

const server = new McpServer({ name: "demo", version: "1.0.0" });
server.tool(
  "add",
  \`Adds
two numbers\`,
  {
    a: z.number(), // the first
  },
  async ({ a }, extra) => ({ content: [{ type: "text", text: String(a) }], _meta: extra._meta }),
);
await server.connect(new StdioServerTransport());
`

function migrateOne(text: string, path = 'index.ts') {
  const { changed, findings, remaining } = migrateFiles(new Map([[path, text]]))
  return { text: changed.get(path) ?? text, findings, remaining: [...remaining] }
}

describe('migrateFiles', () => {
  it('rewrites the errors and the version of a client for 2.x, and reports its negotiation', () => {
    const { text, findings } = migrateOne(`import { Client, ProtocolError } from '@modelcontextprotocol/client'

const client = new Client({ name: 'demo', version: '1.0.0' }, { versionNegotiation: { mode: 'auto' } })
try {
  console.log(client.getNegotiatedProtocolVersion())
} catch (error) {
  if (error instanceof ProtocolError) console.log(error.code)
}
`)
    expect(text).toContain('console.log(client.revision)')
    expect(text).toContain('if (error instanceof PeerError) console.log(error.rpcCode)')
    expect(findings.map(({ found }) => found)).toEqual(["versionNegotiation: { mode: 'auto' }"])
  })

  it('reports a schema of the program that request() does not use any more', () => {
    const { findings } = migrateOne(`import { Client } from '@modelcontextprotocol/sdk/client/index.js'

const client = new Client({ name: 'demo', version: '1.0.0' })
await client.request({ method: 'acme/sum' }, z.object({ total: z.number() }))
`)
    expect(findings.map(({ found }) => found)).toEqual(['z.object({ total: z.number() })'])
  })

  it('keeps comments, quotes, semicolons and the text of template literals', () => {
    expect(migrateOne(server)).toEqual({
      text: `// Adds numbers.
import { McpServer, serveStdio } from "tenon/server";

const server = new McpServer({ name: "demo", version: "1.0.0" });
server.registerTool(
  "add",
  {
    description: \`Adds
two numbers\`,
    inputSchema: {
      a: z.number(), // the first
    },
  },
  async ({ a }, ctx) => ({ content: [{ type: "text", text: String(a) }], _meta: ctx.meta }),
);
await serveStdio(server);
`,
      findings: [],
      remaining: [],
    })
  })

  it('changes nothing when it runs again', () => {
    const { text } = migrateOne(server)
    expect(migrateOne(text).text).toBe(text)
  })

  it('rewrites require in JavaScript', () => {
    const { text } = migrateOne(
      "const { Server } = require('@modelcontextprotocol/sdk/server/index.js')\nconst { ListToolsRequestSchema } = require('@modelcontextprotocol/sdk/types.js')\nconst server = new Server({ name: 'a', version: '1' })\nserver.setRequestHandler(ListToolsRequestSchema, async () => ({ tools: [] }))\n",
      'index.cjs',
    )
    expect(text).toBe(
      "const { Server } = require('tenon/server')\nconst server = new Server({ name: 'a', version: '1' })\nserver.setRequestHandler('tools/list', async () => ({ tools: [] }))\n",
    )
  })

  it('finds servers and contexts in other files by their types', () => {
    const { changed } = migrateFiles(
      new Map([
        [
          'tools.ts',
          "import type { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'\nimport { log } from './log'\nexport function add(mcp: McpServer) {\n  mcp.tool('a', async (extra) => log(extra))\n}\n",
        ],
        ['log.ts', 'export function log(e) {\n  return e._meta\n}\n'],
      ]),
    )
    expect(changed.get('tools.ts')).toContain("mcp.registerTool('a', {}, async (_args, ctx) => log(ctx))")
    expect(changed.get('log.ts')).toBe('export function log(ctx) {\n  return ctx.meta\n}\n')
  })

  it('keeps the import of a name without a counterpart, and reports where it is used', () => {
    const { text, findings, remaining } = migrateOne(
      "import { CallToolResultSchema, type Tool } from '@modelcontextprotocol/sdk/types.js'\nexport let tool: Tool\nexport const check = (value: unknown) => CallToolResultSchema.parse(value)\n",
    )
    expect(text).toContain("import { CallToolResultSchema } from '@modelcontextprotocol/sdk/types.js'")
    expect(text).toContain("import type { Tool } from 'tenon'")
    expect(findings).toMatchObject([{ file: 'index.ts', line: 3, found: 'CallToolResultSchema' }])
    expect(remaining).toEqual(['@modelcontextprotocol/sdk'])
  })

  it('asks the client of a notification for its roots', () => {
    const { text, findings } = migrateOne(
      "import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'\nconst server = new McpServer({ name: 'a', version: '1' })\nserver.server.oninitialized = async () => {\n  const { roots } = await server.server.listRoots()\n  console.error(roots)\n}\n",
    )
    expect(text).toContain("setNotificationHandler('notifications/initialized', async (_params, { link }) => {")
    expect(text).toContain("(await link.request('roots/list')) as unknown as ListRootsResult")
    expect(findings).toEqual([])
  })

  it('keeps the message of an error that a handler catches and throws again', () => {
    const { text } = migrateOne(
      "import { Server } from '@modelcontextprotocol/sdk/server/index.js'\nimport { CallToolRequestSchema } from '@modelcontextprotocol/sdk/types.js'\nconst server = new Server({ name: 'a', version: '1' })\nserver.setRequestHandler(CallToolRequestSchema, async () => {\n  try {\n    throw new Error('Unknown tool')\n  } catch (error) {\n    throw error\n  }\n})\n",
    )
    expect(text).toContain("throw new ProtocolError(ErrorCode.InternalError, 'Unknown tool')")
  })

  it('reports HTTP code with sessions of its own', () => {
    const { findings } = migrateOne(
      "import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js'\nexport const transport = new StreamableHTTPServerTransport({})\n",
    )
    expect(findings[0]?.action).toContain('createMcpHandler')
  })
})

describe('migratePackageJson', () => {
  it('replaces the first old package, and removes the others', () => {
    const text =
      '{\n  "dependencies": {\n    "@modelcontextprotocol/node": "2",\n    "@modelcontextprotocol/server": "2",\n    "zod": "4"\n  }\n}\n'
    expect(migratePackageJson(text, new Set(), '0.1.0')).toBe(
      '{\n  "dependencies": {\n    "tenon": "^0.1.0",\n    "zod": "4"\n  }\n}\n',
    )
  })

  it('keeps a package that is still imported', () => {
    const text = '{\n  "dependencies": {\n    "fastmcp": "4"\n  }\n}\n'
    expect(migratePackageJson(text, new Set(['fastmcp']), '0.1.0')).toBe(
      '{\n  "dependencies": {\n    "fastmcp": "4",\n    "tenon": "^0.1.0"\n  }\n}\n',
    )
  })
})

describe('diffTexts', () => {
  it('shows each change with its lines around it', () => {
    const before = Array.from({ length: 20 }, (_, index) => `line ${index}`)
    const after = before.with(2, 'changed').toSpliced(15, 1)
    expect(diffTexts(before.join('\n'), after.join('\n'), 1)).toEqual([
      '@@ -2,3 +2,3 @@',
      ' line 1',
      '-line 2',
      '+changed',
      ' line 3',
      '@@ -15,3 +15,2 @@',
      ' line 14',
      '-line 15',
      ' line 16',
    ])
  })
})

describe('tenon migrate', () => {
  it('prints a diff and writes nothing with --dry-run', async () => {
    using workspace = new Workspace()
    const path = workspace.write('index.ts', server)
    const { code, stdout } = await workspace.run(['migrate', '--dry-run'])
    expect(code).toBe(0)
    expect(stdout).toContain('+import { McpServer, serveStdio } from "tenon/server";')
    expect(readFileSync(path, 'utf8')).toBe(server)
  })

  it('writes the files, and prints one JSON document with --json', async () => {
    using workspace = new Workspace()
    workspace.write('index.ts', server)
    workspace.write('package.json', '{ "dependencies": { "@modelcontextprotocol/sdk": "^1.30.0" } }')
    const { code, stdout } = await workspace.run(['migrate', '--json'])
    expect(code).toBe(0)
    expect(readJson('migrate', stdout)).toEqual({
      files: ['index.ts', 'package.json'],
      findings: [],
      remaining: [],
      written: true,
    })
    expect(readFileSync(workspace.file('package.json'), 'utf8')).toContain('"tenon"')
  })

  it('refuses to run on uncommitted changes without --force', async () => {
    using workspace = new Workspace()
    mkdirSync(workspace.file('repo'))
    execFileSync('git', ['init', '-q', workspace.file('repo')])
    workspace.write('repo/index.ts', server)
    const { code, stderr } = await workspace.run(['migrate', 'repo'])
    expect(code).toBe(2)
    expect(stderr).toContain('uncommitted changes')
    expect((await workspace.run(['migrate', 'repo', '--force'])).code).toBe(0)
  })

  it('marks findings with comments with --comments', async () => {
    using workspace = new Workspace()
    const path = workspace.write(
      'index.ts',
      "import { createMcpExpressApp } from '@modelcontextprotocol/sdk/server/express.js'\n\nexport const app = createMcpExpressApp()\n",
    )
    await workspace.run(['migrate', '--comments'])
    expect(readFileSync(path, 'utf8')).toMatch(/\/\/ TODO\(tenon migrate\): .*\nexport const app/)
  })
})
