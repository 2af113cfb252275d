import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { versions } from './versions.ts'

/** How a server is reached. */
export type ProjectTransport = 'stdio' | 'http'

/** A new project. */
export interface ProjectOptions {
  /** A valid package name. */
  readonly name: string
  readonly transport: ProjectTransport
  /** The version of `tenon`: a range, a tag, a URL or a file. */
  readonly tenon: string
  /** The version of `@tenon/cli`. */
  readonly cli: string
  /** The author, whom `tenon pack` needs. */
  readonly author: string
}

/** Returns the files of a new project: the path in the project, and the content. */
export function projectFiles(options: ProjectOptions): Map<string, string> {
  const files = new Map([['package.json', manifestOf(options)]])
  for (const path of templatePaths()) {
    const target = targetOf(path, options.transport)
    if (target === undefined) continue
    files.set(target, readFileSync(join(templates, path), 'utf8').replaceAll(placeholder, options.name))
  }
  return files
}

/** Turns any text into a valid package name. */
export function toPackageName(text: string): string {
  const name = text
    .toLowerCase()
    .replace(/[^a-z0-9._-]+/g, '-')
    .replace(/^[._-]+|[._-]+$/g, '')
  return name.slice(0, 100) || placeholder
}

/** The name of the server in the templates, which makes them valid programs. */
const placeholder = 'my-mcp-server'

const templates = fileURLToPath(new URL('../../templates', import.meta.url))

function templatePaths(folder = ''): string[] {
  return readdirSync(join(templates, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = folder === '' ? entry.name : `${folder}/${entry.name}`
    return entry.isDirectory() ? templatePaths(path) : [path]
  })
}

/** `src/main.http.ts` is for one transport; `gitignore` has no dot, because npm would leave it out of the package. */
function targetOf(path: string, transport: ProjectTransport): string | undefined {
  const [, choice] = /\.(stdio|http)(?=\.|$)/.exec(path) ?? []
  if (choice !== undefined && choice !== transport) return undefined
  return path.replace(/\.(?:stdio|http)(?=\.|$)/, '').replace(/^(?=(?:git|docker)ignore$)/, '.')
}

function manifestOf({ name, transport, tenon, cli, author }: ProjectOptions): string {
  const { zod, ...tools } = versions
  const manifest = {
    name,
    version: '0.1.0',
    description: 'An MCP server',
    author,
    private: true,
    type: 'module',
    engines: { node: '>=20.19' },
    main: './dist/main.js',
    bin: { [name]: './dist/main.js' },
    files: ['dist'],
    scripts: {
      build: 'tsc -p tsconfig.build.json',
      prepack: 'npm run build',
      ...(transport === 'http' && { prestart: 'npm run build' }),
      start: 'node dist/main.js',
      test: 'vitest run',
      types: 'tsc',
    },
    dependencies: { tenon, zod },
    devDependencies: { '@tenon/cli': cli, ...tools },
  }
  return `${JSON.stringify(manifest, null, 2)}\n`
}
