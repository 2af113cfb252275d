import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { basename, dirname, join, relative, sep } from 'node:path'
import { usageError } from '../exit-codes.ts'

/** The files of a program. */
export interface ProjectFiles {
  /** The folder that paths are relative to. */
  readonly root: string
  /** TypeScript and JavaScript by path, with forward slashes. */
  readonly sources: ReadonlyMap<string, string>
  /** The `package.json` files by path. */
  readonly packages: ReadonlyMap<string, string>
  /** The `tsconfig.json` files by path. */
  readonly configs: ReadonlyMap<string, string>
}

const sourceName = /\.[cm]?[jt]sx?$/
const ignoredFolders = new Set(['node_modules', 'dist', 'build', 'out', 'coverage'])

/** Reads the sources and `package.json` files of a folder, or one file. Leaves out what git ignores. */
export function readProject(path: string): ProjectFiles {
  const stats = statSync(path, { throwIfNoEntry: false })
  if (!stats) throw usageError(`File or folder not found: ${path}`)
  const root = stats.isDirectory() ? path : dirname(path)
  const names = stats.isDirectory() ? (listWithGit(root) ?? listFolder(root)) : [basename(path)]
  const sources = new Map<string, string>()
  const packages = new Map<string, string>()
  const configs = new Map<string, string>()
  for (const name of names) {
    if (name.split('/').includes('node_modules')) continue
    if (basename(name) === 'package.json') packages.set(name, readFileSync(join(root, name), 'utf8'))
    else if (basename(name) === 'tsconfig.json') configs.set(name, readFileSync(join(root, name), 'utf8'))
    else if (sourceName.test(name) && !name.endsWith('.d.ts')) sources.set(name, readFileSync(join(root, name), 'utf8'))
  }
  return { root, sources, packages, configs }
}

/** Returns the files with changes that are not committed. Empty outside of a git repository. */
export function uncommittedFiles(root: string): string[] {
  return (runGit(root, ['status', '--porcelain', '--', '.']) ?? '').split('\n').filter(Boolean)
}

function listWithGit(root: string): string[] | undefined {
  const output = runGit(root, ['ls-files', '-z', '--cached', '--others', '--exclude-standard'])
  if (output === undefined) return undefined
  const names = output.split('\0').filter(Boolean)
  return names.filter((name) => statSync(join(root, name), { throwIfNoEntry: false })?.isFile())
}

function runGit(root: string, args: readonly string[]): string | undefined {
  try {
    return execFileSync('git', [...args], {
      cwd: root,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
      maxBuffer: 1 << 28,
    })
  } catch {
    return undefined
  }
}

function listFolder(root: string, folder = root): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) {
      return entry.name.startsWith('.') || ignoredFolders.has(entry.name) ? [] : listFolder(root, path)
    }
    return entry.isFile() ? [relative(root, path).split(sep).join('/')] : []
  })
}
