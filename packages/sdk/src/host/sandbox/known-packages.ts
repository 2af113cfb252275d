import { editDistance } from '../config/edit-distance.ts'

/** Where a package comes from. */
export type Registry = 'npm' | 'pypi' | 'image'

/**
 * Returns the well-known package that a name is, or that it imitates: by one different letter, or by letters that look the same.
 * Undefined if it is near to none of them.
 */
export function knownPackage(name: string, registry: Registry): string | undefined {
  if (registry === 'npm') return name.startsWith('@') ? knownScope(name) : similar(name, npmPackages)
  if (registry === 'image') return similar(name, images)
  const normal = name.toLowerCase().replace(/[-_.]+/g, '-')
  const found = similar(normal, pypiPackages)
  return found === normal ? name : found
}

/** Names within a scope belong to one owner, so only the scope can be imitated. */
function knownScope(name: string): string | undefined {
  const at = name.indexOf('/')
  const scope = name.slice(1, at < 0 ? undefined : at)
  const known = similar(scope, npmScopes)
  return known === undefined ? undefined : `@${known}${at < 0 ? '' : name.slice(at)}`
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
