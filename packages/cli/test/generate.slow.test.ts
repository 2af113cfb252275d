import { execFile } from 'node:child_process'
import { mkdirSync, readFileSync, symlinkSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { readJson } from './json-output.ts'
import { fixture, Workspace } from './support.ts'

const run = promisify(execFile)
const tsc = fileURLToPath(new URL('../../../node_modules/typescript/bin/tsc', import.meta.url))

/** A project in which `tenon` is installed. */
function createProject(): Workspace {
  const work = new Workspace()
  mkdirSync(work.file('node_modules'))
  symlinkSync(fileURLToPath(new URL('../../sdk', import.meta.url)), work.file('node_modules/tenon'))
  work.write('package.json', { type: 'module' })
  work.write('tsconfig.json', {
    compilerOptions: {
      target: 'ES2022',
      module: 'NodeNext',
      lib: ['ES2023', 'ESNext.Disposable', 'DOM'],
      types: [],
      strict: true,
      noUnusedLocals: true,
      skipLibCheck: true,
      outDir: 'out',
    },
    include: ['*.ts'],
  })
  return work
}

async function compile(work: Workspace): Promise<string> {
  try {
    return (await run(process.execPath, [tsc, '-p', work.path])).stdout
  } catch (error) {
    return String((error as { stdout?: string }).stdout)
  }
}

/** Texts that would end a comment, a string or a template, or look like something else. */
const hostile = [
  '*/ globalThis.hacked = true /*',
  '`$' + '{globalThis.hacked = true}`',
  "'); globalThis.hacked = true; ('",
  '"); globalThis.hacked = true; ("',
  'a\nglobalThis.hacked = true\nb',
  'a\u2028globalThis.hacked = true',
  '\\',
  '__proto__',
  'constructor',
  'then',
  'client',
  '漢字',
  '---',
  '\u202eevil',
  '</script>',
  '@ts-ignore',
]

const hostileSchema = (text: string) => ({
  type: 'object',
  description: text,
  properties: Object.fromEntries([
    [text, { type: 'string', description: text, enum: [text, 'ok'] }],
    ['ref', { $ref: `#/$defs/${encodeURIComponent(text.replaceAll('~', '~0').replaceAll('/', '~1'))}` }],
  ]),
  $defs: Object.fromEntries([[text, { type: 'object', properties: Object.fromEntries([[text, { const: text }]]) }]]),
})

describe('tenon generate', () => {
  it('writes a client that compiles and calls tools, prompts and resources of the server', async () => {
    using work = createProject()
    const address = { type: 'object', properties: { city: { type: 'string' }, next: { $ref: '#/$defs/address' } } }
    const file = work.write('definitions.json', {
      name: 'address book',
      instructions: 'Be kind',
      tools: [
        {
          name: 'save_address',
          description: 'Saves an address',
          inputSchema: {
            type: 'object',
            properties: { address: { $ref: '#/$defs/address' }, tags: { type: 'array', items: { enum: ['a', 'b'] } } },
            required: ['address'],
            $defs: { address },
          },
          outputSchema: { type: 'object', properties: { address: { type: 'object' } }, required: ['address'] },
        },
        { name: 'ping', inputSchema: { type: 'object' } },
      ],
      prompts: [{ name: 'greet', arguments: [{ name: 'who', required: true }, { name: 'how' }] }],
      resourceTemplates: [{ uriTemplate: 'book://{page}', name: 'page' }],
    })
    const server = [process.execPath, fixture('defined.js'), file]
    const { code, stdout } = await work.run(['generate', '--json', '-o', work.file('client.ts'), '--', ...server])
    expect(code).toBe(0)
    expect(readJson('generate', stdout)).toMatchObject({ className: 'AddressBookClient' })
    work.write(
      'main.ts',
      `import { AddressBookClient } from './client.js'
      await using book = await AddressBookClient.connect(${JSON.stringify({ command: server[0], args: server.slice(1) })})
      const saved = await book.saveAddress({ address: { city: 'Oslo', next: { city: 'Bergen' } }, tags: ['a'] })
      const kept: object | undefined = saved.structuredContent?.address
      // @ts-expect-error An unknown tag.
      const wrong: Parameters<typeof book.saveAddress>[0] = { address: {}, tags: ['c'] }
      // @ts-expect-error A missing argument.
      const missing: Parameters<typeof book.saveAddress>[0] = {}
      // @ts-expect-error A missing argument of a prompt.
      const nobody: Parameters<typeof book.prompts.greet>[0] = {}
      const prompt = await book.prompts.greet({ who: 'Ann' })
      const page = await book.resources.page({ page: '7' })
      console.log(JSON.stringify([kept, (await book.ping()).text, prompt.messages, page.contents, [wrong, missing, nobody].length]))
      `.replaceAll('console.log', ';(globalThis as unknown as { console: { log(text: string): void } }).console.log'),
    )
    expect(await compile(work)).toBe('')
    const printed = (await run(process.execPath, [work.file('out/main.js')])).stdout
    expect(JSON.parse(printed)).toMatchObject([
      { city: 'Oslo' },
      '{"name":"ping","args":{}}',
      [{ content: { text: '{"name":"greet","args":{"who":"Ann"}}' } }],
      [{ uri: 'book://7' }],
      3,
    ])
  })

  it('keeps hostile names and descriptions out of the code of a client', async () => {
    using work = createProject()
    const definitions = {
      name: hostile[0],
      instructions: hostile.join('\n'),
      tools: hostile.map((text) => ({
        name: text,
        title: text,
        description: text,
        inputSchema: hostileSchema(text),
        outputSchema: hostileSchema(text),
      })),
      prompts: hostile.map((text) => ({
        name: text,
        description: text,
        arguments: [{ name: text, description: text }],
      })),
      resourceTemplates: hostile.map((text) => ({ uriTemplate: 'a://{b}', name: text, description: text })),
    }
    const file = work.write('definitions.json', definitions)
    const server = [process.execPath, fixture('defined.js'), file]
    await work.run(['generate', '-o', work.file('client.ts'), '--class-name', 'Hostile', '--', ...server])
    const { stdout } = await work.run(['generate', '--json', '--', ...server])
    const { tools } = readJson('generate', stdout)
    expect(readFileSync(work.file('client.ts'), 'utf8')).not.toMatch(/[^\n\P{C}]/u)
    work.write(
      'main.ts',
      `import { Hostile } from './client.js'
      await using client = await Hostile.connect(${JSON.stringify({ command: server[0], args: server.slice(1) })})
      const names: string[] = []
      for (const method of ${JSON.stringify(tools.map(({ method }: { method: string }) => method))} as string[]) {
        const call = (client as unknown as Record<string, (args: object) => Promise<{ text: string }>>)[method]!
        names.push(JSON.parse((await call.call(client, JSON.parse('{"__proto__": "ok"}'))).text).name)
      }
      const { console, hacked } = globalThis as unknown as { console: { log(text: string): void }; hacked: unknown }
      console.log(JSON.stringify({ names, hacked: hacked ?? null }))
      `,
    )
    expect(await compile(work)).toBe('')
    const printed = JSON.parse((await run(process.execPath, [work.file('out/main.js')])).stdout)
    expect(printed).toEqual({ names: [...hostile].sort(), hacked: null })
  })

  it('writes a command line that takes arguments as flags', async () => {
    using work = createProject()
    const file = work.write('definitions.json', {
      name: 'demo',
      tools: [
        {
          name: 'makeThing',
          description: 'Makes a thing',
          inputSchema: {
            type: 'object',
            properties: {
              count: { type: 'integer' },
              fullName: { type: 'string', description: 'The name' },
              tags: { type: 'array', items: { type: 'string' } },
              deep: { type: 'object' },
              loud: { type: 'boolean' },
              quiet: { type: 'boolean' },
              json: { type: 'string' },
              __proto__: null,
            },
            required: ['fullName'],
          },
        },
        ...hostile.map((text) => ({ name: text, description: text, inputSchema: hostileSchema(text) })),
      ],
    })
    const server = [process.execPath, fixture('defined.js'), file]
    const { code } = await work.run(['generate', '--cli', '-o', work.file('demo.mjs'), '--', ...server])
    expect(code).toBe(0)
    const demo = (...args: string[]) => run(process.execPath, [work.file('demo.mjs'), ...args])
    const flags = ['--full-name', 'Ann', '--count', '3', '--tags', 'a', '--tags', 'b', '--deep', '{"x":1}']
    const { stdout } = await demo('make-thing', ...flags, '--loud', '--no-quiet', '--json2', 'j')
    expect(JSON.parse(stdout)).toEqual({
      name: 'makeThing',
      args: { fullName: 'Ann', count: 3, tags: ['a', 'b'], deep: { x: 1 }, loud: true, quiet: false, json: 'j' },
    })
    expect((await demo('make-thing', '--help')).stdout).toContain('--full-name <string> (required)  The name')
    const help = (await demo('help')).stdout
    expect(help).toContain('make-thing')
    expect(help).not.toMatch(/[^\n\P{C}]/u)
    await expect(demo('make-thing')).rejects.toMatchObject({ code: 2, stderr: expect.stringContaining('--full-name') })
    await expect(demo('make-thing', '--count', 'x')).rejects.toMatchObject({ code: 2 })
    await expect(demo('make-thing', '--bogus')).rejects.toMatchObject({ code: 2 })
    expect(JSON.parse((await demo('proto', '--args', '{"__proto__":"ok"}')).stdout).name).toBe('__proto__')
  })
})
