import { editDistance } from '../config/edit-distance.ts'

/** Where a package comes from. */
export type Registry = 'npm' | 'pypi' | 'image'

/**
 * Returns the well-known package that a name is, or that it imitates: by one different letter, or by letters that look the same.
 * Undefined if it is near to none of them.
 */
export function knownPackage(name: string, registry: Registry): string | undefined {
  if (registry === 'npm')
    return name.startsWith('@') ? knownScope(name) : (similar(name, npmPackages) ?? withoutScope(name))
  if (registry === 'image') return similar(name, images)
  const normal = name.toLowerCase().replace(/[-_.]+/g, '-')
  const found = similar(normal, pypiPackages)
  return found === normal ? name : found
}

/**
 * Returns the well-known name that the name of a server is, or that it imitates. In the registry of MCP a name is a reversed
 * domain and a path, such as `io.github.github/github-mcp-server`. Elsewhere it often is the name of a package.
 */
export function knownRegistryName(name: string): string | undefined {
  const parts = /^((?:io\.github|com|io|dev|ai|app|org)\.)([\w-]+)(\/.*)?$/is.exec(name)
  if (!parts && name.startsWith('@')) return knownScope(name)
  if (!parts) return name.length >= minNameChars ? similar(name, npmPackages) : undefined
  const [, domain = '', owner = '', path = ''] = parts
  const known = similar(owner, owners)
  return known === undefined ? undefined : `${domain}${known}${path}`
}

/** Servers also have short names, which differ by one letter by chance. */
const minNameChars = 8

/**
 * Names within a scope belong to one owner, so an attacker can imitate the scope only. A name that nearly is a well-known one
 * of the scope is still worth a look: another registry may have it.
 */
function knownScope(name: string): string | undefined {
  const at = name.indexOf('/')
  const scope = name.slice(1, at < 0 ? undefined : at)
  const known = similar(scope, npmScopes) ?? npmScopes.find((each) => each === withoutSeparators(scope))
  if (known === undefined) return undefined
  const scoped = `@${known}${at < 0 ? '' : name.slice(at)}`
  return similar(scoped, scopedPackages) ?? scoped
}

/**
 * `modelcontextprotocol-server-github` looks like `@modelcontextprotocol/server-github`, but anybody can publish it. Names of
 * companies are ordinary in the packages of others.
 */
function withoutScope(name: string): string | undefined {
  const plain = withoutSeparators(name)
  if (!plain.startsWith('modelcontextprotocol')) return undefined
  return scopedPackages.find((each) => withoutSeparators(each) === plain)
}

function withoutSeparators(name: string): string {
  return name.toLowerCase().replace(/[@/._-]/g, '')
}

function similar(name: string, known: readonly string[]): string | undefined {
  if (known.includes(name)) return name
  if (name.length > maxName) return undefined
  const looks = appearance(name)
  return known.find((each) => appearance(each) === looks) ?? known.find((each) => isOneLetterOff(name, each))
}

/** The limit of npm. */
const maxName = 214

/** In short names one letter is much: `exa-mcp-server` and `eka-mcp-server` are different things. */
function isOneLetterOff(name: string, known: string): boolean {
  const distinctive = known.replace(/mcp|server|[-_.]/g, '')
  return distinctive.length >= 5 && editDistance(name.toLowerCase(), known, 1) === 1
}

/** Returns the Latin name that a name looks like, if all its other letters imitate Latin ones; otherwise undefined. */
export function latinAppearance(name: string): string | undefined {
  const latin = toLatin(name)
  return latin !== name && /^[\x20-\x7e]+$/.test(latin) ? latin : undefined
}

function toLatin(name: string): string {
  return Array.from(name.normalize('NFKC'), (char) => lookAlikes.get(char) ?? char).join('')
}

/** Reduces a name to how it looks, so that names with similar letters become equal. */
function appearance(name: string): string {
  return toLatin(name)
    .replace(/[I1|]/g, 'l')
    .toLowerCase()
    .replaceAll('0', 'o')
    .replaceAll('rn', 'm')
    .replaceAll('vv', 'w')
}

/** Cyrillic, Greek and other letters that look like Latin ones. */
const lookAlikes = new Map(
  Object.entries({
    a: 'аα',
    b: 'Ьв',
    c: 'сϲ',
    d: 'ԁ',
    e: 'её',
    g: 'ɡ',
    h: 'һ',
    i: 'іıι',
    j: 'ј',
    k: 'кκ',
    l: 'ӏΙІ',
    m: 'м',
    n: 'ո',
    o: 'оοօ',
    p: 'рρ',
    q: 'ԛ',
    r: 'г',
    s: 'ѕ',
    t: 'тτ',
    u: 'υս',
    v: 'νѵ',
    w: 'ԝω',
    x: 'хχ',
    y: 'уγ',
    z: 'ᴢ',
    '-': '‐‑–—−',
  }).flatMap(([latin, others]) => Array.from(others, (other): [string, string] => [other, latin])),
)

const npmScopes = [
  'modelcontextprotocol',
  'anthropic-ai',
  'apify',
  'auth0',
  'azure',
  'brightdata',
  'browserbasehq',
  'browsermcp',
  'circleci',
  'cloudflare',
  'composio',
  'contentful',
  'elastic',
  'executeautomation',
  'heroku',
  'hubspot',
  'microsoft',
  'neondatabase',
  'netlify',
  'notionhq',
  'perplexity-ai',
  'playwright',
  'salesforce',
  'sentry',
  'shopify',
  'smithery',
  'stripe',
  'supabase',
  'upstash',
  'vercel',
  'wonderwhy-er',
]

/** Owners of entries in the registry of MCP, by the name of their GitHub account or domain. */
const owners = [
  ...npmScopes,
  'github',
  'google',
  'awslabs',
  'figma',
  'linear',
  'notion',
  'atlassian',
  'mongodb',
  'docker',
]

const scopedPackages = [
  '@apify/actors-mcp-server',
  '@brave/brave-search-mcp-server',
  '@browsermcp/mcp',
  '@executeautomation/playwright-mcp-server',
  '@hubspot/mcp-server',
  '@modelcontextprotocol/inspector',
  '@modelcontextprotocol/sdk',
  '@modelcontextprotocol/server-brave-search',
  '@modelcontextprotocol/server-everything',
  '@modelcontextprotocol/server-filesystem',
  '@modelcontextprotocol/server-github',
  '@modelcontextprotocol/server-gitlab',
  '@modelcontextprotocol/server-google-maps',
  '@modelcontextprotocol/server-memory',
  '@modelcontextprotocol/server-postgres',
  '@modelcontextprotocol/server-puppeteer',
  '@modelcontextprotocol/server-redis',
  '@modelcontextprotocol/server-sequential-thinking',
  '@modelcontextprotocol/server-slack',
  '@notionhq/notion-mcp-server',
  '@playwright/mcp',
  '@sentry/mcp-server',
  '@supabase/mcp-server-supabase',
  '@upstash/context7-mcp',
]

const npmPackages = [
  'airtable-mcp-server',
  'chrome-devtools-mcp',
  'exa-mcp-server',
  'fastmcp',
  'figma-developer-mcp',
  'firecrawl-mcp',
  'mcp-framework',
  'mcp-hub',
  'mcp-obsidian',
  'mcp-proxy',
  'mcp-remote',
  'mcp-server-kubernetes',
  'mcporter',
  'mongodb-mcp-server',
  'n8n-mcp',
  'puppeteer-mcp-server',
  'supergateway',
  'task-master-ai',
  'tavily-mcp',
  'xcodebuildmcp',
]

const pypiPackages = [
  'arxiv-mcp-server',
  'basic-memory',
  'blender-mcp',
  'duckduckgo-mcp-server',
  'elevenlabs-mcp',
  'excel-mcp-server',
  'fastmcp',
  'markitdown-mcp',
  'mcp-atlassian',
  'mcp-clickhouse',
  'mcp-neo4j-cypher',
  'mcp-proxy',
  'mcp-server-fetch',
  'mcp-server-git',
  'mcp-server-motherduck',
  'mcp-server-qdrant',
  'mcp-server-sqlite',
  'mcp-server-time',
  'minimax-mcp',
  'office-word-mcp-server',
  'postgres-mcp',
]

const images = [
  'ghcr.io/github/github-mcp-server',
  'ghcr.io/sooperset/mcp-atlassian',
  'mcr.microsoft.com/playwright/mcp',
]
