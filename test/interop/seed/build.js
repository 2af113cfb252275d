import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { transform } from 'esbuild'
import { blocks } from './blocks.js'

const output = new URL('../dist/seed/', import.meta.url)

/** What a block needs besides itself to be run, and nothing else. */
const additions = {
  // Its HTTP part is left out: two imports, and everything from the comment on.
  'quick-start.ts': (code) =>
    exportServer(
      code.split('// Set up Express and HTTP transport')[0].replace(/^import .*(streamableHttp|express).*\n/gm, ''),
    ),
  // The document shows it without its import.
  'server.ts': (code) => exportServer(`import { McpServer } from 'tenon/server'\n${code}`),
  'echo.ts': exportServer,
  'sqlite.ts': exportServer,
}

/** Makes the blocks of the seed into modules under dist/. Types are stripped, not checked: under zod 4 one is wrong. */
export async function buildSeed() {
  mkdirSync(output, { recursive: true })
  copyFileSync(new URL('sqlite3.js', import.meta.url), new URL('sqlite3.js', output))
  for (const { file } of blocks.filter(({ file }) => file)) {
    const code = readFileSync(new URL(file, import.meta.url), 'utf8')
    const { code: script } = await transform(additions[file]?.(code) ?? code, {
      loader: 'ts',
      target: 'node20',
      // Imports stay as they are written, used or not.
      tsconfigRaw: { compilerOptions: { verbatimModuleSyntax: true } },
    })
    writeFileSync(new URL(file.replace(/ts$/, 'js'), output), script)
  }
}

/** The blocks end with a server that is not connected yet; this one line lets run.js have it. */
function exportServer(code) {
  return `${code}\nexport { server }\n`
}
