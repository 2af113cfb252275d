import { copyFileSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { transform } from 'esbuild'
import { blocks } from './blocks.js'

const output = new URL('../dist/seed/', import.meta.url)

/** The minimal additions that an example needs to run. */
const additions = {
  // The document shows it without its import.
  'server.ts': (code) => exportServer(`import { McpServer } from 'tenon/server'\n${code}`),
  'echo.ts': exportServer,
  'sqlite.ts': exportServer,
  // Adds a tool where the comment says that tools are set up.
  'without-sessions.ts': (code) => code.replace('// Set up tools, resources, prompts\n', `$&${meetingTool}`),
  // A fragment of a server: inserted where the previous example creates its app.
  'cors.ts': (code) => read('with-sessions.ts').replace('const app = express();\n', `$&${code}`),
  // Also a fragment of a server: its dependencies come before it, and the code that uses it after it.
  'dns-rebinding.ts': (code) => `${beforeTransport}${code}${afterTransport}`,
}

/** Returns only when the given number of calls have arrived, the last one first, so that mix-ups are detected. */
const meetingTool = `
const waiting = [];
server.registerTool('meet', { inputSchema: { name: z.string(), of: z.number() } }, async ({ name, of }) => {
    await new Promise((resolve) => {
        waiting.unshift(resolve);
        if (waiting.length === of) for (const goOn of waiting.splice(0)) goOn();
    });
    return { content: [{ type: 'text', text: name }] };
});
`

const beforeTransport = `
import express from 'express'
import { randomUUID } from 'node:crypto'
import { McpServer, StreamableHTTPServerTransport } from 'tenon/server'
const app = express()
app.use(express.json())
`

const afterTransport = `
const server = new McpServer({ name: 'example-server', version: '1.0.0' })
await server.connect(transport)
app.all('/mcp', (req, res) => transport.handleRequest(req, res, req.body))
app.listen(3000)
`

/** Builds the examples into modules under dist/. Types are stripped, not checked: one is wrong with zod 4. */
export async function buildSeed() {
  mkdirSync(output, { recursive: true })
  copyFileSync(new URL('sqlite3.js', import.meta.url), new URL('sqlite3.js', output))
  for (const { file } of blocks) {
    const code = read(file)
    const { code: script } = await transform(additions[file]?.(code) ?? code, {
      loader: 'ts',
      target: 'node20',
      // Keeps imports as written, used or not.
      tsconfigRaw: { compilerOptions: { verbatimModuleSyntax: true } },
    })
    write(file.replace(/ts$/, 'js'), script)
  }
}

/** The examples end with a server that is not connected yet; this line exports it for run.js. */
function exportServer(code) {
  return `${code}\nexport { server }\n`
}

function read(file) {
  return readFileSync(new URL(file, import.meta.url), 'utf8')
}

/** Writes atomically, because test files that run in parallel all build and read the output. */
function write(file, script) {
  const unfinished = new URL(`${file}.${process.pid}`, output)
  writeFileSync(unfinished, script)
  renameSync(unfinished, new URL(file, output))
}
