import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { beforeAll, describe, expect, it } from 'vitest'

const root = fileURLToPath(new URL('../../../../..', import.meta.url))

const preamble = `
import { connect } from 'tenon/client'
import { McpServer, ResourceTemplate } from 'tenon/server'
import * as z from 'zod'
const server = new McpServer({ name: 'x', version: '1' })
const client = await connect(server)
`

/** Mistakes in user code, and the message that the compiler must give for each. */
const mistakes: [what: string, code: string, message: RegExp][] = [
  ['a result with a misspelt content', "server.registerTool('a', {}, () => ({ contents: [] }))", /contents/],
  [
    'a promised result with a misspelt content',
    "server.registerTool('a', {}, async () => ({ contents: [] }))",
    /contents/,
  ],
  [
    'a result with an unknown field',
    "server.registerTool('a', {}, () => ({ content: [], isEror: true }))",
    /isEror is not a field of a tool result/,
  ],
  [
    'a promised result with an unknown field, in one of two branches',
    "server.registerTool('a', {}, async (_, ctx) => (ctx.auth ? 'x' : { content: [], structured: 1 }))",
    /structured is not a field of a tool result/,
  ],
  [
    'a content block with a misspelt field',
    "server.registerTool('a', {}, () => ({ content: [{ type: 'text', txt: 'x' }] }))",
    /'txt' does not exist in type 'TextContent'/,
  ],
  [
    'a content block of an unknown type',
    "server.registerTool('a', {}, () => ({ content: [{ type: 'smell', text: 'x' }] }))",
    /'"smell"' is not assignable/,
  ],
  [
    'output of the wrong type',
    "server.registerTool('a', { outputSchema: { sum: z.number() } }, () => ({ sum: 'one' }))",
    /'string' is not assignable to type 'number'/,
  ],
  [
    'promised output of the wrong type',
    "server.registerTool('a', { outputSchema: { sum: z.number() } }, async () => ({ sum: 'one' }))",
    /property 'sum' are incompatible/,
  ],
  [
    'output with a misspelt field',
    "server.registerTool('a', { outputSchema: { sum: z.number() } }, () => ({ smu: 1 }))",
    /smu/,
  ],
  [
    'a wrong role in a prompt',
    "server.registerPrompt('a', {}, () => ({ messages: [{ role: 'system', content: { type: 'text', text: 'x' } }] }))",
    /'"system"' is not assignable to type 'Role'/,
  ],
  ['a prompt with a misspelt field', "server.registerPrompt('a', {}, () => ({ message: [] }))", /message/],
  [
    'contents of a resource with a misspelt field',
    "server.registerResource('a', 'a://b', {}, () => ({ contents: [{ url: 'a://b', text: 'x' }] }))",
    /'url' does not exist in type 'ResourceContents'/,
  ],
  [
    'a variable that a template does not have',
    "server.registerResource('a', new ResourceTemplate('a://{name}'), {}, (_, { nmae }) => nmae)",
    /Property 'nmae' does not exist/,
  ],
  [
    'suggestions for a variable that a template does not have',
    "new ResourceTemplate('a://{name}', { complete: { nmae: () => [] } })",
    /'nmae' does not exist/,
  ],
  [
    'a new handler with the wrong arguments',
    "server.registerTool('a', { inputSchema: { a: z.number() } }, () => 'x').update({ handler: ({ b }) => String(b) })",
    /Property 'b' does not exist/,
  ],
  [
    'a misspelt field of a result that a client got',
    "console.log((await client.callTool('a')).contents)",
    /Property 'contents' does not exist/,
  ],
  [
    'structured content of another type than its schema',
    "const text: string | undefined = (await client.callTool('a', {}, { outputSchema: { n: z.number() } })).structuredContent?.n",
    /'number \| undefined' is not assignable to type 'string \| undefined'/,
  ],
]

/** Types as an editor displays them. */
const shown: [what: string, code: string, type: string][] = [
  [
    'the arguments of a shape',
    "server.registerTool('a', { inputSchema: { a: z.number(), b: z.string().optional() } }, (args) => { const _: never = args })",
    '{ a: number; b?: string | undefined; }',
  ],
  [
    'the arguments of an object schema',
    "server.registerTool('a', { inputSchema: z.object({ a: z.number() }) }, (args) => { const _: never = args })",
    '{ a: number; }',
  ],
  [
    'the arguments of a prompt',
    "server.registerPrompt('a', { argsSchema: { a: z.string() } }, (args) => { const _: never = args; return 'x' })",
    '{ a: string; }',
  ],
  [
    'the variables of a template',
    "server.registerResource('a', new ResourceTemplate('a://{x}{/rest*}{?q,n}'), {}, (_uri, vars) => { const _: never = vars })",
    '{ n?: string | undefined; q?: string | undefined; rest: string[]; x: string; }',
  ],
]

describe('the compiler', () => {
  let output = ''
  beforeAll(async () => {
    output = await compile([...mistakes, ...shown].map(([, code]) => code))
  }, 120_000)

  it.each(mistakes)('names the incorrect field in %s', (_what, code, message) => {
    const diagnostics = diagnosticsOf(code)
    expect(diagnostics).toMatch(message)
    expect(diagnostics).not.toContain('InputRequired')
    expect(diagnostics).not.toContain('No overload matches')
  })

  it.each(shown)('shows %s as a plain object type', (_what, code, type) => {
    expect(diagnosticsOf(code)).toContain(`Type '${type}' is not assignable to type 'never'`)
  })

  /** Returns the diagnostics of one snippet. Each snippet is on its own line. */
  function diagnosticsOf(code: string): string {
    const line = [...mistakes, ...shown].findIndex(([, snippet]) => snippet === code) + preamble.split('\n').length
    const found = output.split(/\n(?=\S)/).filter((text) => text.includes(`snippet.ts(${line},`))
    return found.join('\n')
  }
})

async function compile(lines: string[]): Promise<string> {
  const folder = await mkdtemp(join(root, 'node_modules/.types-'))
  try {
    await writeFile(join(folder, 'snippet.ts'), `${preamble}${lines.join('\n')}\n`)
    const config = { extends: join(root, 'tsconfig.json'), include: [], files: ['snippet.ts'] }
    await writeFile(join(folder, 'tsconfig.json'), JSON.stringify(config))
    await writeFile(join(folder, 'package.json'), '{ "type": "module" }')
    const compiler = join(root, 'node_modules/typescript/bin/tsc')
    return await new Promise((resolve) => {
      execFile(process.execPath, [compiler, '-p', folder, '--pretty', 'false'], (_failed, stdout) => resolve(stdout))
    })
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
