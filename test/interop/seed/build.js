import { copyFileSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { transform } from 'esbuild'
import { blocks } from './blocks.js'

const output = new URL('../dist/seed/', import.meta.url)

/** What a block needs besides itself to be run, and nothing else. */
const additions = {
  // The document shows it without its import.
  'server.ts': (code) => exportServer(`import { McpServer } from 'tenon/server'\n${code}`),
  'echo.ts': exportServer,
  'sqlite.ts': exportServer,
  // A tool, where its comment says that tools are to be set up.
  'without-sessions.ts': (code) => code.replace('// Set up tools, resources, prompts\n', `$&${meetingTool}`),
  // A piece of a server: it goes where the app of the block before it is made.
  'cors.ts': (code) => read('with-sessions.ts').replace('const app = express();\n', `$&${code}`),
  // A piece of a server, too: what it uses comes before it, and what uses it after it.
  'dns-rebinding.ts': (code) => `${beforeTransport}${code}${afterTransport}`,
}

/** Answers only when so many calls have come, the last one first: calls that could be taken for each other are all there. */
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

/** Makes the blocks of the seed into modules under dist/. Types are stripped, not checked: under zod 4 one is wrong. */
export async function buildSeed() {
  mkdirSync(output, { recursive: true })
  copyFileSync(new URL('sqlite3.js', import.meta.url), new URL('sqlite3.js', output))
  for (const { file } of blocks) {
    const code = read(file)
    const { code: script } = await transform(additions[file]?.(code) ?? code, {
      loader: 'ts',
      target: 'node20',
      // Imports stay as they are written, used or not.
      tsconfigRaw: { compilerOptions: { verbatimModuleSyntax: true } },
    })
    write(file.replace(/ts$/, 'js'), script)
  }
}

/** The blocks end with a server that is not connected yet; this one line lets run.js have it. */
function exportServer(code) {
  return `${code}\nexport { server }\n`
}

function read(file) {
  return readFileSync(new URL(file, import.meta.url), 'utf8')
}

/** In one step: test files that run side by side all build, and read what is there. */
function write(file, script) {
  const unfinished = new URL(`${file}.${process.pid}`, output)
  writeFileSync(unfinished, script)
  renameSync(unfinished, new URL(file, output))
}
