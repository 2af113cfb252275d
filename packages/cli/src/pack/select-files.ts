import { existsSync, readdirSync, readFileSync, realpathSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import ignore from 'ignore'
import { isObject } from 'tenon/internal'
import { CliError, exitCodes } from '../exit-codes.ts'
import { readJsonFile } from './json-file.ts'

/** A file of a bundle. */
export interface BundleFile {
  /** With slashes, relative to the bundle. */
  readonly path: string
  /** Where it is now. */
  readonly source: string
  /** True for files of dependencies. */
  readonly isDependency: boolean
}

/** Lists the files of a bundle in a stable order: those of the package, and its dependencies without those for development. */
export function selectFiles(folder: string, patterns: readonly string[] | undefined): BundleFile[] {
  const own = walk(folder, isOwnFile(folder, patterns))
  const files = own.map((path) => ({ path, source: join(folder, path), isDependency: false }))
  return [...files, ...dependencyFiles(folder)].sort((a, b) => (a.path < b.path ? -1 : 1))
}

/** Never part of a bundle, whatever `files` says. */
const never = ['node_modules/', '.git/', '*.mcpb', '*.log', '.DS_Store', 'server.json', 'manifest.json']

/** Left out if package.json has no `files`: tests, sources and settings of tools. */
const development = [
  'test/',
  'tests/',
  '__tests__/',
  '*.test.*',
  '*.spec.*',
  'coverage/',
  'docs/',
  'examples/',
  '*.ts',
  '*.tsx',
  '*.map',
  '*.tsbuildinfo',
  'tsconfig*.json',
  '*.config.*',
  'package-lock.json',
  'npm-shrinkwrap.json',
  'yarn.lock',
  'pnpm-lock.yaml',
  'bun.lock*',
  'Dockerfile*',
  'docker-compose*',
  'Makefile',
  '.*/',
  '.gitignore',
  '.gitattributes',
  '.dockerignore',
  '.editorconfig',
  '.mcpbignore',
  '.npmignore',
  '.prettierrc*',
  '.eslintrc*',
  '.nvmrc',
  '.node-version',
]

/** Part of a bundle even if `files` does not list them. */
const always = ['/package.json', '/README*', '/LICENSE*', '/LICENCE*', '/NOTICE*']

function isOwnFile(folder: string, patterns: readonly string[] | undefined): (path: string) => boolean {
  const excluded = ignore()
    .add(never)
    .add(patterns === undefined ? development : [])
  const ignoreFile = join(folder, '.mcpbignore')
  if (existsSync(ignoreFile)) excluded.add(readFileSync(ignoreFile, 'utf8'))
  if (patterns === undefined) return (path) => !excluded.ignores(path)
  // `files` of package.json has the syntax of .gitignore, for what to keep.
  const included = ignore()
    .add(patterns.map((pattern) => pattern.replace(/^(!?)(?:\.\/|\/)?/, '$1/')))
    .add(always)
  return (path) => (path.endsWith('/') || included.ignores(path)) && !excluded.ignores(path)
}

function walk(root: string, isWanted: (path: string) => boolean, folder = ''): string[] {
  return readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = folder === '' ? entry.name : `${folder}/${entry.name}`
    const isFolder = entry.isDirectory() || (entry.isSymbolicLink() && isFolderLink(join(root, path)))
    if (!isWanted(isFolder ? `${path}/` : path)) return []
    // A link could point anywhere, also to secrets, and a bundle has to work elsewhere.
    if (entry.isSymbolicLink()) throw linked(join(root, path))
    return isFolder ? walk(root, isWanted, path) : entry.isFile() ? [path] : []
  })
}

function isFolderLink(path: string): boolean {
  return existsSync(path) && statSync(path).isDirectory()
}

function linked(path: string): CliError {
  return new CliError('invalid-package', `Symbolic links cannot be packed: ${path}`, {
    hint: 'Replace it by the file, or list it in .mcpbignore.',
    exitCode: exitCodes.checkFailed,
  })
}

/** Not used at run time: types, source maps, and TypeScript, which Node.js does not run in dependencies. */
const unused = ignore().add(['*.map', '*.ts', '*.mts', '*.cts', '.bin/', 'node_modules/', '.package-lock.json'])

interface Dependency {
  readonly name: string
  /** The folder of the package that depends on it. */
  readonly from: string
  /** The place of that package in the bundle, with a slash at the end. */
  readonly parent: string
  readonly isOptional: boolean
}

/** Follows `dependencies` like Node.js does, so that nothing for development gets in. Direct ones come first. */
function dependencyFiles(folder: string): BundleFile[] {
  const files: BundleFile[] = []
  const placed = new Map<string, string>()
  const queue = dependenciesOf(folder, '')
  for (let next = queue.shift(); next; next = queue.shift()) {
    const source = findPackage(next.name, next.from)
    if (source === undefined) {
      if (next.isOptional) continue
      throw notInstalled(next.name)
    }
    const path = placeOf(next, source, placed)
    if (path === undefined) continue
    placed.set(path, source)
    for (const file of walk(source, isPackageFile(source)))
      files.push({ path: `${path}/${file}`, source: join(source, file), isDependency: true })
    queue.push(...dependenciesOf(source, `${path}/`))
  }
  return files
}

/** At the top, or inside its parent if another version is at the top. Undefined if it is there already. */
function placeOf(
  { name, parent }: Dependency,
  source: string,
  placed: ReadonlyMap<string, string>,
): string | undefined {
  const path = [`node_modules/${name}`, `${parent}node_modules/${name}`].find(
    (each) => !placed.has(each) || placed.get(each) === source,
  )
  return path === undefined || placed.has(path) ? undefined : path
}

function dependenciesOf(from: string, parent: string): Dependency[] {
  const manifest = readJsonFile(join(from, 'package.json')) ?? {}
  const { dependencies, optionalDependencies, peerDependencies, peerDependenciesMeta: meta } = manifest
  const isOptionalPeer = (name: string) => isObject(meta) && isObject(meta[name]) && meta[name].optional === true
  const optional = new Set(namesOf(optionalDependencies))
  const peers = namesOf(peerDependencies).filter((name) => !isOptionalPeer(name))
  return [...new Set([...namesOf(dependencies), ...optional, ...peers])].map((name) => ({
    name,
    from,
    parent,
    isOptional: optional.has(name),
  }))
}

function namesOf(value: unknown): string[] {
  return isObject(value) ? Object.keys(value) : []
}

/** The folder of a package, without links. */
function findPackage(name: string, from: string): string | undefined {
  for (let folder = from; ; folder = dirname(folder)) {
    const candidate = join(folder, 'node_modules', name)
    if (existsSync(join(candidate, 'package.json'))) return realpathSync(candidate)
    if (folder === dirname(folder)) return undefined
  }
}

/** A package of a workspace is a link to its sources, so what npm would leave out has to be left out here. */
function isPackageFile(source: string): (path: string) => boolean {
  if (/[\\/]node_modules[\\/]/.test(source)) return (path) => !unused.ignores(path)
  const files = readJsonFile(join(source, 'package.json'))?.files
  const isOwn = isOwnFile(source, Array.isArray(files) ? files.map(String) : undefined)
  return (path) => isOwn(path) && !unused.ignores(path)
}

function notInstalled(name: string): CliError {
  return new CliError('not-installed', `The dependency "${name}" is not installed.`, {
    hint: 'Run "npm install" and try again.',
    exitCode: exitCodes.checkFailed,
  })
}
