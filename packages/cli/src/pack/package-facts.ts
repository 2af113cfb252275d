import { basename, join } from 'node:path'
import { isObject } from 'tenon/internal'
import { usageError } from '../exit-codes.ts'
import { compact, type Members, readJsonFile, textOf } from './json-file.ts'

/** What package.json says about a server, in one form. */
export interface PackageFacts {
  /** With the scope. */
  readonly name: string
  readonly version: string | undefined
  readonly description: string | undefined
  readonly author: Author | undefined
  readonly license: string | undefined
  readonly homepage: string | undefined
  readonly support: string | undefined
  readonly keywords: readonly string[] | undefined
  readonly repository: Repository | undefined
  /** The file to start, relative to the folder. */
  readonly entry: string | undefined
  readonly files: readonly string[] | undefined
  readonly nodeRange: string | undefined
  readonly isPrivate: boolean
  /** The names of the scripts. */
  readonly scripts: readonly string[]
  /** The name in the registry, which proves that the package belongs to it. */
  readonly mcpName: string | undefined
}

/** The author of a package. */
export interface Author {
  readonly name: string
  readonly email?: string
  readonly url?: string
}

/** The source code of a package. */
export interface Repository {
  readonly url: string
  /** The folder of the package in the repository. */
  readonly folder?: string
}

/** Reads package.json of a folder. */
export function readPackage(folder: string): PackageFacts {
  const manifest = readJsonFile(join(folder, 'package.json'))
  if (!manifest) throw usageError(`No package.json in ${folder}`, 'Run "tenon pack" in the folder of a server.')
  const { bugs, engines, keywords, files } = manifest
  return {
    name: textOf(manifest.name) ?? basename(folder),
    version: textOf(manifest.version),
    description: textOf(manifest.description),
    author: authorOf(manifest.author),
    license: textOf(manifest.license),
    homepage: textOf(manifest.homepage),
    support: isObject(bugs) ? textOf(bugs.url) : textOf(bugs),
    keywords: stringsOf(keywords),
    repository: repositoryOf(manifest.repository),
    entry: entryOf(manifest),
    files: stringsOf(files),
    nodeRange: isObject(engines) ? textOf(engines.node) : undefined,
    isPrivate: manifest.private === true,
    scripts: isObject(manifest.scripts) ? Object.keys(manifest.scripts) : [],
    mcpName: textOf(manifest.mcpName),
  }
}

/** `Ada <ada@example.com> (https://example.com)`, or an object. */
function authorOf(value: unknown): Author | undefined {
  if (isObject(value)) {
    const name = textOf(value.name)
    return name === undefined ? undefined : { name, ...compact({ email: textOf(value.email), url: textOf(value.url) }) }
  }
  const text = textOf(value)
  const [, name, email, url] = /^([^<(]+?)\s*(?:<([^>]*)>)?\s*(?:\(([^)]*)\))?$/.exec(text ?? '') ?? []
  return name === undefined ? undefined : { name, ...compact({ email, url }) }
}

/** npm has short forms (`github:me/x`) and forms for git (`git+https://...git`). The registry wants a page. */
function repositoryOf(value: unknown): Repository | undefined {
  const text = isObject(value) ? textOf(value.url) : textOf(value)
  if (text === undefined) return undefined
  const short = /^(?:(github|gitlab):)?([\w.-]+\/[\w.-]+)$/.exec(text)
  const url = short
    ? `https://${short[1] ?? 'github'}.com/${short[2]}`
    : text
        .replace(/^git\+/, '')
        .replace(/^(?:git|ssh):\/\/(?:git@)?/, 'https://')
        .replace(/^git@([^:]+):/, 'https://$1/')
        .replace(/\.git$/, '')
  const folder = isObject(value) ? textOf(value.directory) : undefined
  return { url, ...(folder !== undefined && { folder }) }
}

function entryOf({ bin, main }: Members): string | undefined {
  const commands = isObject(bin) ? Object.values(bin) : [bin]
  const [command] = commands.length === 1 ? commands : []
  return (textOf(command) ?? textOf(main))?.replace(/^\.\//, '')
}

function stringsOf(value: unknown): string[] | undefined {
  return Array.isArray(value) ? value.filter((item): item is string => typeof item === 'string') : undefined
}
