import { isObject } from 'tenon/internal'
import { compact, type Members, textOf } from './json-file.ts'
import { isSemver } from './manifest.ts'
import type { PackageFacts } from './package-facts.ts'
import { Problems } from './problems.ts'

/** The schema that the MCP registry uses (https://github.com/modelcontextprotocol/registry). */
export const serverSchema = 'https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json'

/** Options of `createServerJson`. */
export interface ServerJsonOptions {
  readonly facts: PackageFacts
  readonly title: string | undefined
  /** A server.json that exists. Its members win, except for the schema, the version and the packages of this version. */
  readonly base: Members | undefined
  /** The bundle, and where it will be downloaded from. */
  readonly bundle?: { readonly url: string; readonly sha256: string } | undefined
  /** URLs of the running server. */
  readonly remotes: readonly string[]
  /** The manifest of the bundle, whose settings are environment variables here. */
  readonly manifest?: Members | undefined
}

/** The name of a server in the registry: `mcpName` of package.json, or made of the GitHub repository. */
export function registryName({ mcpName, repository, name }: PackageFacts): string | undefined {
  if (mcpName !== undefined) return mcpName
  const [, owner] = /^https:\/\/github\.com\/([^/]+)\/[^/]+/.exec(repository?.url ?? '') ?? []
  return owner === undefined ? undefined : `io.github.${owner}/${name.replace(/^@[^/]*\//, '')}`
}

/** Creates the description of a server for the MCP registry. */
export function createServerJson(options: ServerJsonOptions): Members {
  const { facts, title, base = {}, remotes } = options
  const { repository } = facts
  const packages = packagesOf(options)
  const current: Members = {
    $schema: serverSchema,
    version: facts.version,
    packages: packages.length === 0 ? base.packages : packages,
  }
  return compact({
    $schema: serverSchema,
    name: registryName(facts),
    title,
    description: facts.description,
    version: facts.version,
    repository: repository && compact({ ...repositoryOf(repository.url), subfolder: repository.folder }),
    websiteUrl: facts.homepage,
    remotes: remotes.length === 0 ? undefined : remotes.map((url) => ({ type: 'streamable-http', url })),
    ...base,
    ...current,
  })
}

/** Throws if the registry would refuse the description. */
export function checkServerJson(server: Members, facts: PackageFacts): void {
  const problems = new Problems()
  const { name, title, description, version, packages, remotes, websiteUrl } = server
  const registered = textOf(name) ?? ''
  problems.require(
    /^[a-zA-Z0-9.-]+\/[a-zA-Z0-9._-]+$/.test(registered) && registered.length <= 200,
    `name must look like io.github.me/server: ${registered || 'missing; set "mcpName" in package.json'}`,
  )
  checkLength('description', description, problems)
  if (title !== undefined) checkLength('title', title, problems)
  problems.require(isSemver(version), `version must be a single version such as 1.0.0: ${version ?? 'missing'}`)
  if (websiteUrl !== undefined)
    problems.require(URL.canParse(String(websiteUrl)), `websiteUrl is not a URL: ${websiteUrl}`)
  for (const each of Array.isArray(packages) ? packages : []) checkPackage(each, registered, facts, problems)
  for (const each of Array.isArray(remotes) ? remotes : []) {
    const url = isObject(each) ? String(each.url) : ''
    problems.require(/^https:\/\/[^\s]+$/.test(url) && URL.canParse(url), `a remote needs an https URL: ${url}`)
  }
  problems.throwIfAny('server.json is not valid')
}

const maxText = 100

function checkLength(member: string, value: unknown, problems: Problems): void {
  const { length } = textOf(value) ?? ''
  problems.require(length > 0 && length <= maxText, `${member} must have 1 to ${maxText} characters, not ${length}`)
}

function checkPackage(value: unknown, name: string, facts: PackageFacts, problems: Problems): void {
  if (!isObject(value)) return problems.add('a package must be an object')
  const { registryType, identifier, fileSha256 } = value
  if (registryType === 'npm' && identifier === facts.name)
    problems.require(
      facts.mcpName === name,
      `"mcpName" in package.json must be "${name}", which proves that the package is yours`,
    )
  if (registryType !== 'mcpb') return
  problems.require(/^[a-f0-9]{64}$/.test(String(fileSha256)), 'fileSha256 of the bundle is missing')
  // The registry accepts releases on these two only, and looks for "mcp" in the URL.
  const isRelease = /^https:\/\/(?:github|gitlab)\.com\/.*mcp/.test(String(identifier))
  problems.require(isRelease, `the URL of a bundle must be a release on GitHub or GitLab: ${identifier}`)
}

function repositoryOf(url: string): Members {
  const source = /^https:\/\/(?:www\.)?(github|gitlab)\.com\//.exec(url)?.[1]
  return { url, source: source ?? new URL(url, 'https://unknown').hostname }
}

function packagesOf({ facts, bundle, manifest }: ServerJsonOptions): Members[] {
  const variables = variablesOf(manifest)
  const common = compact({ environmentVariables: variables.length === 0 ? undefined : variables })
  const transport = { type: 'stdio' }
  const packages: Members[] = []
  if (!facts.isPrivate && facts.mcpName !== undefined) {
    const npm = { registryType: 'npm', registryBaseUrl: 'https://registry.npmjs.org', identifier: facts.name }
    packages.push({ ...npm, version: facts.version, runtimeHint: 'npx', transport, ...common })
  }
  if (bundle) {
    const { url, sha256 } = bundle
    packages.push({ registryType: 'mcpb', identifier: url, version: facts.version, fileSha256: sha256, transport })
  }
  return packages
}

/** Settings that the manifest passes as environment variables. */
function variablesOf(manifest: Members | undefined): Members[] {
  const server = manifest?.server
  const config = isObject(server) && isObject(server.mcp_config) ? server.mcp_config.env : undefined
  const settings = isObject(manifest?.user_config) ? manifest.user_config : {}
  return Object.entries(isObject(config) ? config : {}).flatMap(([name, value]) => {
    const [, key = ''] = /^\$\{user_config\.([^}]+)\}$/.exec(String(value)) ?? []
    const setting = Object.hasOwn(settings, key) ? settings[key] : undefined
    if (!isObject(setting)) return []
    const { description, required, sensitive } = setting
    return [compact({ name, description, isRequired: required, isSecret: sensitive })]
  })
}
