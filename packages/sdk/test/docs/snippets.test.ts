import { execFile, spawnSync } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { promisify } from 'node:util'
import { beforeAll, describe, expect, it } from 'vitest'

const root = new URL('../../../..', import.meta.url).pathname
const folder = join(root, 'node_modules/.snippets')
const pages = ['README.md', ...readdirSync(join(root, 'docs')).map((name) => `docs/${name}`)].filter((name) =>
  name.endsWith('.md'),
)

interface Snippet {
  page: string
  /** The name in the first line (`// server.ts`), so that a later snippet of the page can start it; or a number. */
  file: string
  code: string
}

const snippets = pages.flatMap(snippetsOf)

describe('TypeScript snippets of the README and the docs', () => {
  beforeAll(() => {
    rmSync(folder, { recursive: true, force: true })
    for (const { page, file, code } of snippets) {
      mkdirSync(join(folder, slug(page)), { recursive: true })
      writeFileSync(join(folder, slug(page), file), code)
    }
    writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(configuration))
  })

  it('are found', () => {
    expect(snippets.length).toBeGreaterThan(10)
  })

  it('compile', () => {
    const { stdout, status } = spawnSync(join(root, 'node_modules/.bin/tsc'), ['-p', folder], { encoding: 'utf8' })
    expect(stdout).toBe('')
    expect(status).toBe(0)
  })

  for (const { page, file } of snippets.filter(({ file }) => !file.endsWith('.test.ts'))) {
    it(`run without an error: ${page}, ${file}`, async () => {
      const cwd = join(folder, slug(page))
      // Temporary files of snippets go to the folder that the next run replaces.
      const env = { ...process.env, TMPDIR: cwd }
      const run = promisify(execFile)(process.execPath, [file.replace('.ts', '.js')], { cwd, env, timeout: 55_000 })
      // Servers exit when their stdin ends.
      run.child.stdin?.end()
      await run
    })
  }
})

const configuration = {
  extends: join(root, 'tsconfig.json'),
  compilerOptions: {
    noEmit: false,
    paths: {},
    rootDir: folder,
    outDir: folder,
    typeRoots: [join(root, 'node_modules/@types')],
  },
  include: [`${folder}/**/*.ts`],
  exclude: [],
}

function snippetsOf(page: string): Snippet[] {
  const blocks = readFileSync(join(root, page), 'utf8').matchAll(/^```ts\n([\s\S]*?)^```/gm)
  return [...blocks].map(([, code], index) => {
    const named = code!.match(/^\/\/ (\S+\.ts)\n/)?.[1]
    return { page, file: named ?? `snippet-${index + 1}.ts`, code: code! }
  })
}

function slug(page: string): string {
  return basename(page, '.md').toLowerCase()
}
