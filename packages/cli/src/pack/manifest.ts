import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Tool } from 'tenon'
import { isObject } from 'tenon/internal'
import { compact, type Members, textOf } from './json-file.ts'
import type { PackageFacts } from './package-facts.ts'
import { Problems } from './problems.ts'

/** The version of the manifest format (https://github.com/modelcontextprotocol/mcpb, MANIFEST.md). */
export const manifestVersion = '0.3'

/** What the running server offers. */
export interface Offer {
  readonly title: string | undefined
  readonly tools: readonly Tool[]
  readonly hasPrompts: boolean
}

/** Options of `createManifest`. */
export interface ManifestOptions {
  readonly facts: PackageFacts
  /** The file to start, relative to the bundle. */
  readonly entry: string
  /** A manifest.json that the author wrote. Its members win, except for the version and the tools. */
  readonly base: Members | undefined
  readonly offer: Offer
}

/** Creates the manifest of a bundle. */
export function createManifest({ facts, entry, base = {}, offer }: ManifestOptions): Members {
  const { repository, nodeRange } = facts
  const current: Members = {
    version: facts.version,
    tools: offer.tools.map(({ name, description }) => compact({ name, description })),
    prompts_generated: offer.hasPrompts && base.prompts === undefined ? true : base.prompts_generated,
  }
  return compact({
    manifest_version: manifestVersion,
    name: facts.name.replace(/^@[^/]*\//, ''),
    display_name: offer.title,
    version: facts.version,
    description: facts.description,
    author: facts.author,
    repository: repository && { type: 'git', url: repository.url },
    homepage: facts.homepage,
    support: facts.support,
    license: facts.license,
    keywords: facts.keywords,
    server: {
      type: 'node',
      entry_point: entry,
      mcp_config: { command: 'node', args: [`\${__dirname}/${entry}`] },
    },
    compatibility: { platforms: ['darwin', 'win32', 'linux'], runtimes: { node: nodeRange ?? '>=20.0.0' } },
    ...base,
    ...current,
  })
}

/** Throws if hosts would refuse the manifest. */
export function checkManifest(manifest: Members, folder: string): void {
  const problems = new Problems()
  const { name, version, description, author, server } = manifest
  problems.require(manifest.manifest_version === manifestVersion, `manifest_version must be "${manifestVersion}"`)
  problems.require(/^[\w.-]{1,128}$/.test(textOf(name) ?? ''), `name must be letters, digits, ".", "_" or "-": ${name}`)
  problems.require(isSemver(version), `version must be a semantic version such as 1.0.0: ${version ?? 'missing'}`)
  problems.require(textOf(description) !== undefined, 'description is missing in package.json')
  problems.require(
    isObject(author) && textOf(author.name) !== undefined,
    'author is missing in package.json: "author": "Ada <ada@example.com>"',
  )
  checkUrls(manifest, problems)
  checkServer(server, folder, problems)
  checkUserConfig(manifest, problems)
  for (const key of Object.keys(manifest)) problems.require(knownMembers.has(key), `unknown member "${key}"`)
  const { icon } = manifest
  if (typeof icon === 'string' && !/^https:/.test(icon))
    problems.require(existsSync(join(folder, icon)), `icon does not exist: ${icon}`)
  problems.throwIfAny('The manifest is not valid')
}

/** Whether a text is a semantic version, without a range. */
export function isSemver(version: unknown): version is string {
  return typeof version === 'string' && /^\d+\.\d+\.\d+(?:-[0-9A-Za-z.-]+)?(?:\+[0-9A-Za-z.-]+)?$/.test(version)
}

const knownMembers = new Set([
  ...['$schema', 'manifest_version', 'name', 'display_name', 'version', 'description', 'long_description', 'author'],
  ...['repository', 'homepage', 'documentation', 'support', 'icon', 'icons', 'screenshots', 'localization', 'server'],
  ...['tools', 'tools_generated', 'prompts', 'prompts_generated', 'keywords', 'license', 'privacy_policies'],
  ...['compatibility', 'user_config', '_meta'],
])

function checkUrls(manifest: Members, problems: Problems): void {
  const { author, repository, privacy_policies } = manifest
  const urls: [string, unknown][] = [
    ...['homepage', 'documentation', 'support'].map((key): [string, unknown] => [key, manifest[key]]),
    ['author.url', isObject(author) ? author.url : undefined],
    ['repository.url', isObject(repository) ? repository.url : undefined],
    ...(Array.isArray(privacy_policies) ? privacy_policies : []).map((url): [string, unknown] => [
      'privacy_policies',
      url,
    ]),
  ]
  for (const [key, url] of urls)
    if (url !== undefined) problems.require(URL.canParse(String(url)), `${key} is not a URL: ${url}`)
  const email = isObject(author) ? author.email : undefined
  if (email !== undefined)
    problems.require(/^[^\s@]+@[^\s@]+\.[^\s@]+$/.test(String(email)), `author.email is not valid: ${email}`)
}

function checkServer(server: unknown, folder: string, problems: Problems): void {
  if (!isObject(server) || !isObject(server.mcp_config)) return problems.add('server.mcp_config is missing')
  const { type, entry_point: entry } = server
  problems.require(['node', 'python', 'binary'].includes(String(type)), `server.type is not known: ${type}`)
  const path = textOf(entry)
  problems.require(
    path !== undefined && !path.startsWith('..') && existsSync(join(folder, path)),
    `server.entry_point does not exist: ${entry}`,
  )
  problems.require(textOf(server.mcp_config.command) !== undefined, 'server.mcp_config.command is missing')
}

const configTypes = ['string', 'number', 'boolean', 'directory', 'file']

/** Every `${user_config.x}` must be declared, and every declaration needs a title, a description and a type. */
function checkUserConfig({ user_config: config, server }: Members, problems: Problems): void {
  const declared = isObject(config) ? config : {}
  for (const [key, option] of Object.entries(declared)) {
    const isComplete = isObject(option) && textOf(option.title) && textOf(option.description)
    problems.require(Boolean(isComplete), `user_config.${key} needs a title and a description`)
    if (isObject(option))
      problems.require(
        configTypes.includes(String(option.type)),
        `user_config.${key}.type must be ${configTypes.join(', ')}`,
      )
  }
  for (const [, key = ''] of (JSON.stringify(server) ?? '').matchAll(/\$\{user_config\.([^}]+)\}/g))
    problems.require(Object.hasOwn(declared, key), `user_config.${key} is used, but not declared`)
}
