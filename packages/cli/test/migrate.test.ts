import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync } from 'node:fs'
import { connect } from 'tenon/client'
import { ts } from 'ts-morph'
import { describe, expect, it } from 'vitest'
import { NodeProcess } from '../../sdk/test/kit/child-process.ts'
import { commonJsFindings } from '../src/migrate/common-js.ts'
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

describe('what protects a program', () => {
  it.each(['authenticate', 'auth', 'oauth'])('is not removed: %s of FastMCP can neither compile nor run', (option) => {
    const { text, findings } = migrateOne(`import { FastMCP } from 'fastmcp'

const server = new FastMCP({
  name: 'demo',
  version: '1.0.0',
  instructions: 'Add first.',
  ${option}: check(async (request) => ({ user: request.headers['x-user'] })),
})
await server.start({ transportType: 'httpStream', httpStream: { port: 8080 } })
`)
    expect(text).toContain(
      `{ instructions: 'Add first.', ...PASS_auth_TO_serveHttp({ ${option}: check(async (request) => ({ user: request.headers['x-user'] })) }) }`,
    )
    expect(findings.map(({ reason }) => reason)).toEqual([expect.stringContaining('does not compile')])
  })

  it('keeps the imports that kept options use', () => {
    const { text, remaining } = migrateOne(`import { FastMCP, GoogleProvider, UserError } from 'fastmcp'

const server = new FastMCP({
  name: 'demo',
  version: '1.0.0',
  auth: new GoogleProvider({ clientId: 'a' }),
  authenticate: async () => { throw new UserError('No') },
})
`)
    expect(text).toContain("import { McpServer, ToolError as UserError } from 'tenon/server'")
    expect(text).toContain("import { GoogleProvider } from 'fastmcp'")
    expect(text).toContain("PASS_auth_TO_serveHttp({ auth: new GoogleProvider({ clientId: 'a' }), authenticate:")
    expect(remaining).toEqual(['fastmcp'])
  })

  it('is not removed: a method or a shorthand', () => {
    const program = (member: string) => `import { FastMCP } from 'fastmcp'
new FastMCP({ name: 'demo', version: '1.0.0', ${member} })
`
    expect(migrateOne(program('async authenticate() {}')).text).toContain(
      '{ ...PASS_auth_TO_serveHttp({ async authenticate() {} }) }',
    )
    expect(migrateOne(program('authenticate'), 'index.js').text).toContain('PASS_auth_TO_serveHttp({ authenticate })')
  })

  it('is not removed: onToolCall of FastMCP, which can refuse a call, and options that are not known', () => {
    const { text, findings } = migrateOne(`import { FastMCP } from 'fastmcp'
const server = new FastMCP({
  name: 'demo',
  version: '1.0.0',
  ping: { enabled: false },
  streamKeepalive: { enabled: true },
  onToolCall: ({ toolName }) => { if (!allowed.has(toolName)) throw new Error('No') },
  beforeAll: check,
})
`)
    expect(text).toContain(
      "new McpServer({\n  name: 'demo',\n  version: '1.0.0',\n}, { ...CHECK_IN_HANDLERS({ onToolCall: ({ toolName }) => { if (!allowed.has(toolName)) throw new Error('No') }, beforeAll: check }) })",
    )
    expect(findings.map(({ reason }) => reason)).toEqual([
      expect.stringContaining('"ping" was removed'),
      expect.stringContaining('"streamKeepalive" was removed'),
      expect.stringContaining('"onToolCall" may refuse calls'),
      expect.stringContaining('"beforeAll" may refuse calls'),
    ])
  })

  it('is not removed: options of FastMCP tools that are not known', () => {
    const { text, findings } = migrateOne(`import { FastMCP } from 'fastmcp'
const server = new FastMCP({ name: 'demo', version: '1.0.0' })
server.addTool({
  name: 'drop',
  timeoutMs: 500,
  canList: () => false,
  beforeValidate: async (args, session) => refuse(session),
  execute: async () => 'Dropped',
})
`)
    expect(text).toContain(
      '...CHECK_IN_HANDLERS({ canList: () => false }),\n  ...CHECK_IN_HANDLERS({ beforeValidate: async (args, session) => refuse(session) }),',
    )
    expect(text).not.toContain('timeoutMs')
    expect(findings.map(({ reason }) => reason)).toEqual([
      expect.stringContaining('"timeoutMs" was removed'),
      expect.stringContaining('"canList" may refuse calls'),
      expect.stringContaining('"beforeValidate" may refuse calls'),
    ])
  })

  it('is not removed: requireBearerAuth of 2.x for requests of the web platform, and the identity it returns', () => {
    const { text, findings } = migrateOne(
      `import { createMcpHandler, McpServer, requireBearerAuth } from '@modelcontextprotocol/server'
const bearer = requireBearerAuth({ verifier })
const handler = createMcpHandler(() => new McpServer({ name: 'a', version: '1' }))
export async function fetch(request) {
  const authInfo = await bearer(request)
  if (authInfo instanceof Response) return authInfo
  if (request.url.endsWith('/short')) return handler.fetch(request, { authInfo })
  return handler.fetch(request, { authInfo: authInfo, parsedBody: undefined })
}
`,
      'index.js',
    )
    expect(text).toContain("import { requireBearerAuth } from '@modelcontextprotocol/server'")
    expect(text).toContain('handler.fetch(request, { auth: authInfo })')
    expect(text).toContain('handler.fetch(request, { auth: authInfo, parsedBody: undefined })')
    expect(findings).toMatchObject([{ found: 'requireBearerAuth', action: expect.stringContaining('auth') }])
  })

  it('is the middleware of Tenon where it was one for Express', () => {
    const { text } = migrateOne(`import { requireBearerAuth } from '@modelcontextprotocol/express'
app.use(requireBearerAuth({ verifier }))
`)
    expect(text).toContain("import { requireBearerAuth } from 'tenon/auth/server'")
  })

  it('is not removed: options of FastMCP that are not written out', () => {
    const { text } = migrateOne(`import { FastMCP } from 'fastmcp'
import { options } from './options.js'
const server = new FastMCP(options)
const other = new FastMCP({ ...options, name: 'other' })
`)
    expect(text).toContain('new McpServer(SPLIT_INTO_info_AND_options(options))')
    expect(text).toContain("new McpServer(SPLIT_INTO_info_AND_options({ ...options, name: 'other' }))")
  })

  it('is not removed: canAccess of a tool', () => {
    const { text } = migrateOne(`import { FastMCP } from 'fastmcp'
const server = new FastMCP({ name: 'demo', version: '1.0.0' })
server.addTool({ name: 'drop', canAccess: (auth) => auth?.role === 'admin', execute: async () => 'Dropped' })
`)
    expect(text).toContain("requiredScopes: REPLACE_canAccess((auth) => auth?.role === 'admin')")
  })

  it.each(["'canAccess'", '"canAccess"', "['canAccess']", '[`canAccess`]'])(
    'is not removed: canAccess of a tool, written as %s',
    (key) => {
      const { text } = migrateOne(`import { FastMCP } from 'fastmcp'
const server = new FastMCP({ name: 'demo', version: '1.0.0' })
server.addTool({ name: 'drop', ${key}: (auth) => auth?.role === 'admin', execute: async () => 'Dropped' })
`)
      expect(text).toContain("requiredScopes: REPLACE_canAccess((auth) => auth?.role === 'admin')")
    },
  )

  it.each(["'authenticate'", "['authenticate']"])('is not removed: the option %s', (key) => {
    const { text } = migrateOne(`import { FastMCP } from 'fastmcp'
const server = new FastMCP({ name: 'demo', version: '1.0.0', ${key}: async (request) => check(request) })
`)
    expect(text).toContain('PASS_auth_TO_serveHttp({')
    expect(text).toContain('check(request)')
  })

  const fastProgram = (body: string) => `import { FastMCP } from 'fastmcp'
const server = new FastMCP({ name: 'demo', version: '1.0.0' })
${body}
await server.start({ transportType: 'stdio' })
`

  const resource = (load: string) => `server.addResource({ uri: 'a://b', name: 'secret', ${load} })`
  const template = (load: string) => `server.addResourceTemplate({ uriTemplate: 'day://{day}', name: 'day', ${load} })`
  const prompt = (load: string) => `server.addPrompt({ name: 'secret', ${load} })`

  it.each([
    ['an arrow function', resource("load: async (auth) => { if (!auth) throw new Error('No'); return { text: 'x' } }")],
    ['an arrow function without parentheses', resource("load: auth => auth ? { text: 'x' } : deny()")],
    ['a method', resource("async load(auth) { if (!auth) throw new Error('No'); return { text: 'x' } }")],
    ['a function', resource("load: async function (auth) { check(auth); return { text: 'x' } }")],
    ['a pattern', resource("load: async ({ role }) => { check(role); return { text: 'x' } }")],
    ['a default value', resource("load: async (auth = guest) => { check(auth); return { text: 'x' } }")],
    ['a rest parameter', resource("load: async (...all) => { check(all[0]); return { text: 'x' } }")],
    ['arguments', resource("async load() { check(arguments[0]); return { text: 'x' } }")],
    ['a cast', resource("load: (async (auth) => { check(auth); return { text: 'x' } }) as any")],
    ['a list of contents', resource("load: async (auth) => { check(auth); return [{ text: 'x' }, { text: 'y' }] }")],
    ['a named function', `async function load(auth) { return { text: auth.role } }\n${resource('load')}`],
    ['a member', `const files = { load: async (auth) => ({ text: auth.role }) }\n${resource('load: files.load')}`],
    ['an unknown function', `import { load } from './load.js'\n${resource('load')}`],
    ['a wrapped function', resource("load: guarded(async () => ({ text: 'x' }))")],
    [
      'a template',
      template("load: async ({ day }, auth) => { if (!auth) throw new Error('No'); return { text: day } }"),
    ],
    ['a method of a template', template('async load({ day }, { role }) { check(role); return { text: day } }')],
    ['a prompt', prompt("load: async (_a, auth) => { if (!auth) throw new Error('No'); return 'x' }")],
    ['a method of a prompt', prompt("async load(_a, auth = guest) { check(auth); return 'x' }")],
    ['a named function of a prompt', `const load = async (_a, auth) => auth.role\n${prompt('load')}`],
    [
      'a completer',
      prompt(
        "arguments: [{ name: 'a', complete: async (value, auth) => ({ values: secrets(auth) }) }], load: async () => 'x'",
      ),
    ],
    [
      'a completer that is a method',
      template(
        "arguments: [{ name: 'day', async complete(value, auth) { return secrets(auth) } }], load: async () => ({ text: 'x' })",
      ),
    ],
  ])('is not removed: the auth parameter of FastMCP in %s', (_form, body) => {
    const { text, findings } = migrateOne(fastProgram(body))
    expect(text).toContain('REPLACE_auth_WITH_ctx_auth(')
    expect(text).not.toContain('.add')
    expect(syntaxErrors(text)).toEqual([])
    expect(findings.map(({ reason }) => reason)).toEqual([expect.stringContaining('does not compile')])
  })

  const tool = (execute: string) => `server.addTool({ name: 'secret', ${execute} })`

  it.each([
    ['a variable', tool("execute: async (_a, context) => { const { session } = context; check(session); return 'x' }")],
    ['an alias', tool("execute: async (_a, context) => { const { session: s } = context; check(s); return 'x' }")],
    [
      'the rest of a pattern',
      tool('execute: async (_a, context) => { const { log, ...rest } = context; return f(rest) }'),
    ],
    [
      'a member',
      tool("execute: async (_a, context) => { if (context.session?.role === 'guest') throw 1; return 'x' }"),
    ],
    ['a quoted member', tool("execute: async (_a, context) => { check(context['session']); return 'x' }")],
    ['a computed member', tool("execute: async (_a, context) => { check(context[key]); return 'x' }")],
    ['a pattern', tool("execute: async (_a, { session, log }) => { log.info('Hi'); check(session); return 'x' }")],
    ['the rest of a parameter', tool("execute: async (_a, { log, ...rest }) => { check(rest); return 'x' }")],
    ['a nested pattern', tool("execute: async (_a, { session: { role } }) => { check(role); return 'x' }")],
    ['a method', tool("async execute(_a, { session }) { check(session); return 'x' }")],
    ['a cast', tool("execute: async (_a, context) => { check((context as any).session); return 'x' }")],
    ['an unknown function', tool("execute: async (_a, context) => { check(context); return 'x' }")],
    ['a rest parameter', tool("execute: async (...all) => { check(all[1].session); return 'x' }")],
    [
      'a swallowed error',
      tool("execute: async (_a, context) => { try { check(context.session) } catch {} return 'x' }"),
    ],
    ['a named handler', `const run = async (_a, context) => context.session.role\n${tool('execute: run')}`],
    ['a wrapped handler', tool("execute: guarded(async (_a, { session }) => { check(session); return 'x' })")],
    ['an imported handler', `import { run } from './run.js'\n${tool('execute: run')}`],
    [
      'a helper',
      `function check(context) { if (context.session.role === 'guest') throw 1 }\n${tool("execute: async (_a, context) => { check(context); return 'x' }")}`,
    ],
  ])('is not removed: the session of FastMCP in %s', (_form, body) => {
    const { text, findings } = migrateOne(fastProgram(body))
    expect(text).toContain("server.registerTool('secret', {}, REPLACE_session_WITH_ctx_auth(")
    expect(syntaxErrors(text)).toEqual([])
    expect(findings.map(({ reason }) => reason)).toEqual([expect.stringContaining('does not compile')])
  })

  it('is not removed: the session of FastMCP in a function whose callers are not known', () => {
    const { text, findings } = migrateOne(`import type { Context } from 'fastmcp'
export const isGuest = (context: Context<Session>) => context.session.role === 'guest'
export const isAdmin = ({ session }: Context<Session>) => session.role === 'admin'
export const isKnown = ({ log, ...rest }: Context<Session>) => rest.session !== undefined
export const isOwner = ({ session: { role } }: Context<Session>) => role !== 'guest'
export function check(context: Context<Session>) {
  const { session } = context
  return session.role
}
`)
    expect(text).toContain("REPLACE_session_WITH_ctx_auth(ctx).session.role === 'guest'")
    expect(text).toContain("REPLACE_session_WITH_ctx_auth(ctx).session.role === 'admin'")
    expect(text).toContain('const { session } = REPLACE_session_WITH_ctx_auth(ctx)')
    expect(text).toContain('REPLACE_session_WITH_ctx_auth(rest).session !== undefined')
    expect(text).toContain("REPLACE_session_WITH_ctx_auth(role) !== 'guest'")
    expect(findings).toHaveLength(5)
  })

  it('does not mark tools of FastMCP that do not read the session', () => {
    const { text, findings } = migrateOne(
      fastProgram(`async function note(context) { context.log.info('Hi') }
async function run(_a, { log }) { log.info('Hi') }
${tool("execute: async (_a, context) => { await note(context); return 'x' }")}
${tool('execute: run')}
${tool("async execute() { return 'x' }")}`),
    )
    expect(text).not.toContain('REPLACE')
    expect(findings).toEqual([])
  })

  it('passes ctx.auth on where it keeps the auth parameter of FastMCP', () => {
    const migrated = (body: string) => migrateOne(fastProgram(body)).text
    expect(migrated(resource('load: async (auth) => ({ text: name(auth) })'))).toContain(
      "server.registerResource('secret', 'a://b', {}, REPLACE_auth_WITH_ctx_auth(async (uri, ctx) => ({ contents: [await (async (auth) => ({ text: name(auth) }))(ctx.auth)].flat().map((content) => ({ uri: uri.href, ...content })) })))",
    )
    expect(migrated(template('async load({ day }, auth) { return { text: day + name(auth) } }'))).toContain(
      'REPLACE_auth_WITH_ctx_auth(async (uri, args, ctx) => ({ contents: [await (async function load({ day }, auth) { return { text: day + name(auth) } })(args, ctx.auth)].flat()',
    )
    expect(migrated(prompt('load: async (_a, auth) => name(auth)'))).toContain(
      "server.registerPrompt('secret', {}, REPLACE_auth_WITH_ctx_auth(async (args, ctx) => (async (_a, auth) => name(auth))(args, ctx.auth)))",
    )
  })

  it.each([
    resource("load: async (auth) => { if (!auth) throw new Error('No'); return { text: 'x' } }"),
    resource("async load(auth) { if (!auth) throw new Error('No'); return { text: 'x' } }"),
    template("load: async ({ day }, auth) => { if (!auth) throw new Error('No'); return { text: day } }"),
    prompt("load: async (_a, auth) => { if (!auth) throw new Error('No'); return 'x' }"),
    tool("execute: async (_a, context) => { const { session } = context; if (session?.guest) throw 1; return 'x' }"),
  ])('does not start with a check that has to be rewritten: %s', async (body) => {
    using work = new Workspace()
    await using child = new NodeProcess([writeMigrated(work, fastProgram(body))], { cwd: work.path, env: work.env })
    child.child.stdin?.end()
    expect(await child.exited).toMatchObject({ code: 1 })
    expect(child.stderr).toMatch(/ReferenceError: REPLACE_\w+_WITH_ctx_auth is not defined/)
    expect(child.stdout).toBe('')
  })

  it.each([
    ['serveStdio((context) => createServer(context.era))', '(context) => createServer(context.era)'],
    [
      'serveStdio(({ authInfo }) => { return createServer(authInfo) })',
      '({ authInfo }) => { return createServer(authInfo) }',
    ],
    ['createMcpHandler(async (context) => createServer(context))', 'async (context) => createServer(context)'],
  ])('is not removed: the context of a factory of 2.x in %s', (call, factory) => {
    const { text, findings } = migrateOne(`import { createMcpHandler } from '@modelcontextprotocol/server'
import { serveStdio } from '@modelcontextprotocol/server/stdio'
${call}
`)
    expect(text).toContain(`(${factory})(USE_ctx_IN_HANDLERS)`)
    expect(findings).toHaveLength(1)
  })

  it('is not removed: the context of a factory of 2.x that has a name', () => {
    const { text } = migrateOne(`import { serveStdio } from '@modelcontextprotocol/server/stdio'
function createServer(context) { return context.era }
serveStdio(createServer)
`)
    expect(text).toContain('serveStdio(createServer(USE_ctx_IN_HANDLERS))')
  })
})

const handshakeRevisions = "revisions: ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05']"

/** A program for 1.x whose handler of `initialize` checks a licence. */
const licensed = `import { Server } from '@modelcontextprotocol/sdk/server/index.js'
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js'
import { InitializeRequestSchema, ListToolsRequestSchema } from '@modelcontextprotocol/sdk/types.js'

const server = new Server({ name: 'paid', version: '1.0.0' }, { capabilities: { tools: {} } })
server.setRequestHandler(InitializeRequestSchema, async () => {
  throw new Error('No licence')
})
server.setRequestHandler(ListToolsRequestSchema, async () => ({ tools: [{ name: 'paid', inputSchema: { type: 'object' } }] }))
await server.connect(new StdioServerTransport())
`

/** A program for 1.x with one session, which asks for a token when it begins. */
const guarded = `import { randomUUID } from 'node:crypto'
import { createServer } from 'node:http'
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js'

const server = new McpServer({ name: 'guarded', version: '1.0.0' })
server.registerTool('secret', {}, async () => ({ content: [] }))
const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: () => randomUUID() })
await server.connect(transport)
const http = createServer(async (req, res) => {
  let text = ''
  for await (const chunk of req) text += chunk
  const body = text === '' ? undefined : JSON.parse(text)
  if (body?.method === 'initialize' && req.headers.authorization !== 'Bearer good') return res.writeHead(401).end()
  await transport.handleRequest(req, res, body)
})
http.listen(0, '127.0.0.1', () => console.log(http.address().port))
`

/** The syntax errors of a text. Names that do not exist are not among them. */
function syntaxErrors(text: string): unknown[] {
  return ts.transpileModule(text, { reportDiagnostics: true }).diagnostics?.map(({ messageText }) => messageText) ?? []
}

/** Migrates a program, and writes it so that it runs on the built library. */
function writeMigrated(work: Workspace, text: string): string {
  const library = (name: string) => new URL(`../../sdk/dist/lib/${name}.js`, import.meta.url).href
  const migrated = migrateOne(text, 'program.mjs').text
  const runnable = migrated.replace(/'tenon(?:\/(\w+))?'/g, (_, name = 'index') => `'${library(name)}'`)
  return work.write('program.mjs', runnable)
}

describe('a check that a program makes only once, at initialize', () => {
  it('is not passed by over stdio: requests of 2026-07-28 are refused after the migration [SDK-032]', async () => {
    using work = new Workspace()
    const args = [writeMigrated(work, licensed)]
    const asked = async (revision: '2026-07-28' | '2025-11-25') => {
      await using client = await connect({ command: process.execPath, args }, { revision })
      return (await client.listTools()).tools
    }
    await expect(asked('2026-07-28')).rejects.toThrow()
    await expect(asked('2025-11-25')).rejects.toThrow('No licence')
  })

  it('is not passed by over HTTP: requests without a session and a token are refused [SDK-032]', async () => {
    using work = new Workspace()
    await using child = new NodeProcess([writeMigrated(work, guarded)], { cwd: work.path, env: work.env })
    const port = await child.until(() => /^\d+(?=\n)/.exec(child.stdout)?.[0])
    const url = `http://127.0.0.1:${port}/mcp`
    const meta = {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
      'io.modelcontextprotocol/clientCapabilities': {},
    }
    for (const method of ['tools/list', 'server/discover']) {
      const response = await fetch(url, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          accept: 'application/json, text/event-stream',
          'mcp-protocol-version': '2026-07-28',
          'mcp-method': method,
        },
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { _meta: meta } }),
      })
      expect({ method, status: response.status }).toEqual({ method, status: 400 })
      expect(await response.text()).not.toContain('secret')
    }
    await expect(connect(url, { revision: '2025-11-25' })).rejects.toThrow()
    await using client = await connect(url, { revision: '2025-11-25', headers: { authorization: 'Bearer good' } })
    expect((await client.listTools()).tools).toMatchObject([{ name: 'secret' }])
  })

  it('is reported where it is made [SDK-032]', () => {
    for (const [text, line] of [
      [licensed, 6],
      [guarded, 8],
    ] as const) {
      const migrated = migrateOne(text)
      expect(migrated.text).toContain(handshakeRevisions)
      expect(migrated.findings).toContainEqual(
        expect.objectContaining({
          line,
          reason: expect.stringContaining('do not send initialize and have no session'),
        }),
      )
    }
  })

  const withTransport = (options: string, server = "const server = new McpServer({ name: 'a', version: '1' })") =>
    `import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js'
${server}
await server.connect(new StreamableHTTPServerTransport(${options}))
`

  it.each(['', '{}', '{ sessionIdGenerator: undefined }', '{ sessionIdGenerator: void 0 }'])(
    'is not assumed without sessions: %s [SDK-032]',
    (options) => {
      expect(migrateOne(withTransport(options)).text).not.toContain('revisions')
    },
  )

  it.each([
    '{ sessionIdGenerator: isStateless ? undefined : randomUUID }',
    '{ sessionIdGenerator }',
    '{ sessionIdGenerator() { return "a" } }',
    '{ "sessionIdGenerator": randomUUID }',
    '{ ...options }',
    'options',
  ])('is assumed where the program may have sessions: %s [SDK-032]', (options) => {
    expect(migrateOne(withTransport(options)).text).toContain(handshakeRevisions)
  })

  it.each([
    [
      "const server = new McpServer({ name: 'a', version: '1' }, {})",
      `new McpServer({ name: 'a', version: '1' }, { ${handshakeRevisions} })`,
    ],
    [
      "const server = new McpServer({ name: 'a', version: '1' }, { instructions: 'Hi' })",
      `{ instructions: 'Hi', ${handshakeRevisions} }`,
    ],
    ["const server = new McpServer({ name: 'a', version: '1' }, options)", `{ ...options, ${handshakeRevisions} }`],
    ['const server = new McpServer(info, makeOptions())', `{ ...makeOptions(), ${handshakeRevisions} }`],
    ['const server = new McpServer(...args)', 'new McpServer(...PASS_revisions_TO_McpServer(...args))'],
    [
      "const server = new McpServer({ name: 'a', version: '1' })\nserver.server.onerror = (error) => log(error)",
      `{ onError: (error) => log(error), ${handshakeRevisions} }`,
    ],
    [
      'class Own extends McpServer { constructor(info) { super(info) } }\nconst server = new Own(info)',
      `super(info, { ${handshakeRevisions} })`,
    ],
    ['class Own extends McpServer {}\nconst server = new Own(info)', `new Own(info, { ${handshakeRevisions} })`],
  ])('closes the server: %s [SDK-032]', (server, expected) => {
    const { text } = migrateOne(withTransport('{ sessionIdGenerator: randomUUID }', server))
    expect(text).toContain(expected)
    expect(text.match(/revisions/g)).toHaveLength(1)
  })

  it('closes the servers of other files, or does not compile where they are not known [SDK-032]', () => {
    const http = `import { StreamableHTTPServerTransport as Transport } from '@modelcontextprotocol/sdk/server/streamableHttp.js'
import { createServer } from './server.js'
await createServer().connect(new Transport({ sessionIdGenerator: randomUUID }))
`
    const server = `import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
export const createServer = () => new McpServer({ name: 'a', version: '1' })
`
    const { changed } = migrateFiles(
      new Map([
        ['http.ts', http],
        ['server.ts', server],
      ]),
    )
    expect(changed.get('server.ts')).toContain(handshakeRevisions)
    expect(changed.get('http.ts')).toContain('sessionIdGenerator: randomUUID')
    const alone = migrateOne(http)
    expect(alone.text).toContain('new Transport(PASS_revisions_TO_McpServer({ sessionIdGenerator: randomUUID }))')
    expect(alone.findings.map(({ reason }) => reason).join()).toContain('does not compile')
    const handler = migrateOne(`import type { Server } from '@modelcontextprotocol/sdk/server/index.js'
import { InitializeRequestSchema } from '@modelcontextprotocol/sdk/types.js'
export const guard = (server: Server) => server.setRequestHandler(InitializeRequestSchema, check)
`)
    expect(handler.text).toContain("server.setRequestHandler(PASS_revisions_TO_McpServer('initialize'), ")
  })
})

describe('results of handlers of Server of 1.x', () => {
  it('are cast where their types are too wide for Tenon', () => {
    const { text } = migrateOne(`import { Server } from '@modelcontextprotocol/sdk/server/index.js'
import { CallToolRequestSchema, GetPromptRequestSchema } from '@modelcontextprotocol/sdk/types.js'

const server = new Server({ name: 'demo', version: '1.0.0' })
async function wide() {
  return { content: [{ type: 'text', text: 'Hi' }] }
}
async function narrow() {
  return { content: [{ type: 'text' as const, text: 'Hi' }] }
}
server.setRequestHandler(CallToolRequestSchema, async (request) => {
  const one = { content: [{ type: 'text', text: 'One' }] }
  switch (request.params.name) {
    case 'one': return one
    case 'wide': return await wide()
    case 'promise': return wide()
    case 'narrow': return await narrow()
    case 'either': return request.params._meta ? one : await narrow()
    default: return { content: [{ type: 'text', text: 'None' }] }
  }
})
server.setRequestHandler(GetPromptRequestSchema, async () => {
  const prompt = { messages: [{ role: 'user', content: { type: 'text', text: 'Hi' } }] }
  return prompt
})
`)
    expect(text).toContain("import type { CallToolResult, GetPromptResult } from 'tenon'")
    for (const line of [
      "case 'one': return one as CallToolResult",
      "case 'wide': return await wide() as CallToolResult",
      "case 'promise': return wide() as Promise<CallToolResult>",
      "case 'narrow': return await narrow()\n",
      "case 'either': return (params._meta ? one : await narrow()) as CallToolResult",
      "default: return { content: [{ type: 'text', text: 'None' }] }\n",
      'return prompt as GetPromptResult',
    ])
      expect(text).toContain(line)
  })
})

describe('types of 1.x that are wider than those of Tenon', () => {
  const program = (options: string, list = 'return { tools: [] }') =>
    `import { Server } from '@modelcontextprotocol/sdk/server/index.js'
import { ListToolsRequestSchema } from '@modelcontextprotocol/sdk/types.js'
const server = new Server({ name: 'demo', version: '1.0.0' }, ${options})
server.setRequestHandler(ListToolsRequestSchema, async () => { ${list} })
`

  it('are cast: a list of tools in a variable', () => {
    const list =
      "const found = { tools: [{ name: 'a', inputSchema: { type: 'object', properties: {} } }] }\n  return found"
    const { text } = migrateOne(program('{ capabilities: { tools: {} } }', list))
    expect(text).toContain('return found as ListToolsResult')
    expect(text).toContain("import type { ListToolsResult } from 'tenon'")
  })

  it.each(['{ tools: { query: { description: "Runs SQL" } } }', '{ tools: {}, sql: {} }'])(
    'are cast: capabilities with names of the program: %s',
    (capabilities) => {
      const { text } = migrateOne(program(`{ capabilities: ${capabilities} }`))
      expect(text).toContain(`{ capabilities: ${capabilities} as ServerCapabilities }`)
      expect(text).toContain("import type { ServerCapabilities } from 'tenon'")
      expect(migrateOne(program(`{ capabilities: ${capabilities} }`), 'index.js').text).not.toContain(' as ')
    },
  )

  it('are not cast: capabilities of the protocol', () => {
    const { text } = migrateOne(
      program('{ capabilities: { tools: { listChanged: true }, resources: { subscribe: true }, logging: {} } }'),
    )
    expect(text).not.toContain(' as ')
  })
})

describe('options of a factory of 2.x', () => {
  it('become options of the server, or stay', () => {
    const program = (call: string) => `import { McpServer } from '@modelcontextprotocol/server'
import { serveStdio } from '@modelcontextprotocol/server/stdio'
${call}
`
    const inline = migrateOne(
      program("serveStdio(() => new McpServer({ name: 'a', version: '1' }), { onerror: (error) => log(error) })"),
    )
    expect(inline.text).toContain(
      "serveStdio(new McpServer({ name: 'a', version: '1' }, { onError: (error) => log(error) }))",
    )
    expect(inline.findings).toEqual([])
    const second = migrateOne(
      program("serveStdio(() => new McpServer({ name: 'a', version: '1' }, { instructions: 'Hi' }), { onerror })"),
    )
    expect(second.text).toContain(
      "serveStdio(new McpServer({ name: 'a', version: '1' }, { instructions: 'Hi', onError: onerror }))",
    )
    const named = migrateOne(program('const createServer = () => make()\nserveStdio(createServer, { onerror: log })'))
    expect(named.text).toContain('serveStdio(createServer(), { onerror: log })')
    expect(named.findings).toHaveLength(1)
    const legacy = migrateOne(program("serveStdio(() => createServer(), { legacy: 'reject' })"))
    expect(legacy.text).toContain("serveStdio(createServer(), { legacy: 'reject' })")
    expect(legacy.findings[0]?.action).toContain('revisions')
  })
})

describe('a factory of 2.x for HTTP', () => {
  const program = (factory: string) => `import { createMcpHandler, McpServer } from '@modelcontextprotocol/server'
function createServer() {
  const server = new McpServer({ name: 'a', version: '1' })
  const limits = { items: 5 }
  const cart: string[] = []
  server.registerTool('add', {}, async () => {
    cart.push('tea')
    return { content: [{ type: 'text', text: String(limits.items - cart.length) }] }
  })
  return server
}
${factory}
`

  it.each([
    ['createMcpHandler(createServer)', 'createMcpHandler(GIVE_EACH_CALLER_ITS_OWN(createServer()))'],
    ['createMcpHandler(() => createServer())', 'createMcpHandler(GIVE_EACH_CALLER_ITS_OWN(createServer()))'],
  ])('does not share what its handlers change between callers: %s', (before, after) => {
    const { text, findings } = migrateOne(program(before))
    expect(text).toContain(after)
    expect(findings).toMatchObject([{ line: 5, found: 'cart' }])
    expect(findings[0]?.reason).toContain('does not compile')
  })

  it('is called once if its handlers only read what it declares', () => {
    const { text, findings } = migrateOne(
      program('createMcpHandler(createServer)').replace("    cart.push('tea')\n", ''),
    )
    expect(text).toContain('createMcpHandler(createServer())')
    expect(findings).toEqual([])
  })

  it('keeps onerror where the class of the server is one of the program', () => {
    const { text, findings } = migrateOne(`import { createMcpHandler, McpServer } from '@modelcontextprotocol/server'
class Shop extends McpServer {
  constructor(url, options) { super({ name: 'shop', version: '1' }) }
}
createMcpHandler(() => new Shop('http://shop', { readonly: true }), { onerror: log })
`)
    expect(text).toContain("createMcpHandler(new Shop('http://shop', { readonly: true }), { onerror: log })")
    expect(findings).toMatchObject([{ found: '{ onerror: log }' }])
  })
})

describe('commonJsFindings', () => {
  const manifest = (type?: string) =>
    `{\n  "name": "demo",\n${type ? `  "type": "${type}",\n` : ''}  "dependencies": {}\n}\n`

  it('reports a CommonJS package whose compiler refuses modules (TS1479)', () => {
    const found = (config: string | undefined, type?: string) =>
      commonJsFindings({
        root: '',
        sources: new Map([['src/index.ts', '']]),
        packages: new Map([['package.json', manifest(type)]]),
        configs: config === undefined ? new Map() : new Map([['tsconfig.json', config]]),
      })
    const config = '{ "compilerOptions": { "module": "Node16", /* no type */ } }'
    expect(found(config)).toMatchObject([{ file: 'package.json', line: 2, reason: expect.stringContaining('TS1479') }])
    expect(found('{ "compilerOptions": { "module": "nodenext" } }', 'commonjs')[0]).toMatchObject({ line: 3 })
    expect(found(config, 'module')).toEqual([])
    expect(found('{ "compilerOptions": { "module": "esnext" } }')).toEqual([])
    expect(found(undefined)).toEqual([])
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
