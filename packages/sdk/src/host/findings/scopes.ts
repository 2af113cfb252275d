import type { Definitions } from '../definitions.ts'
import type { Finding } from './finding.ts'
import { toExcerpt } from './visible.ts'

/**
 * Finds scopes that allow far more than the tools of a server do by their names: to write or administer where all tools read,
 * or to administer where none does. Whoever gets such a token can do what no tool shows.
 */
export function checkScopes(scopes: readonly string[], { tools }: Definitions): Finding[] {
  if (tools.length === 0) return []
  const needed = Math.max(...tools.map(({ name }) => levelOfTool(name)))
  return scopes
    .filter((scope) => levelOfScope(scope) > needed)
    .slice(0, maxFindings)
    .map((scope) => ({
      rule: 'wide-scope',
      severity: levelOfScope(scope) === administers ? 'high' : 'low',
      where: 'scopes',
      message: `The scope allows more than the tools do: none of them ${levelOfScope(scope) === administers ? 'deletes or administers' : 'writes'} anything.`,
      excerpt: toExcerpt(scope, 80),
    }))
}

const maxFindings = 20

const reads = 0
const writes = 1
const administers = 2

function levelOfTool(name: string): number {
  const words = name
    .replace(/([a-z\d])([A-Z])/g, '$1_$2')
    .toLowerCase()
    .split(/[^a-z]+/)
  if (words.some((word) => administratorVerbs.has(word))) return administers
  // A verb that is not known may write.
  return words.some((word) => readingVerbs.has(word)) ? reads : writes
}

const readingVerbs: ReadonlySet<string> = new Set(
  'get list read search find fetch show view describe query count check lookup look status browse summarize explain analyze compare preview inspect resolve history info whoami ping download export scan watch monitor retrieve validate lint calculate convert translate echo'.split(
    ' ',
  ),
)
const administratorVerbs: ReadonlySet<string> = new Set(
  'delete remove destroy drop purge erase admin administer manage grant revoke invite ban member members permission permissions role roles transfer archive'.split(
    ' ',
  ),
)

/** Scopes have no common form; these words are in most of them. A scope that says nothing counts as reading. */
function levelOfScope(scope: string): number {
  const text = scope.toLowerCase()
  if (
    /(?:^|[^a-z])(?:admin|delete|destroy|owner|root|sudo|superuser|all|full|full_access|fullcontrol|manage)(?:[^a-z]|$)|\*|[._]all$/.test(
      text,
    )
  )
    return administers
  if (broadScopes.has(text.replace(/^https?:\/\/(?:www\.)?/, '').replace(/\/$/, ''))) return administers
  return /(?:^|[^a-z])(?:write|create|update|modify|edit|send|post|put|upload|readwrite|compose|insert|publish)(?:[^a-z]|$)/.test(
    text,
  )
    ? writes
    : reads
}

/** Well-known scopes that give access to everything, and do not say so. */
const broadScopes: ReadonlySet<string> = new Set([
  'repo',
  'api',
  'mail.google.com',
  'googleapis.com/auth/drive',
  'googleapis.com/auth/calendar',
  'googleapis.com/auth/contacts',
  'googleapis.com/auth/spreadsheets',
  'googleapis.com/auth/documents',
  'googleapis.com/auth/cloud-platform',
  'user_impersonation',
])
