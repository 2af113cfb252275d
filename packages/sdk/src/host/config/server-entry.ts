import type { Connectable } from '../../connect/connect.ts'
import { isObject, type JsonObject } from '../../util/objects.ts'
import { closest } from './edit-distance.ts'
import { ignoredMembers, knownMembers, unsupportedMembers } from './member-names.ts'
import { type EntryContext, Members } from './members.ts'
import type { ServerProblems } from './problems.ts'
import { readProcess } from './process-members.ts'
import type { CommonServerConfig, LocalServerConfig, ServerConfig, UrlServerConfig } from './server-config.ts'
import { checkServerUrl } from './server-url.ts'
import { expandVariables } from './variables.ts'

/** Validates one server, in the format of any known host. Returns undefined if there is nothing to start. */
export function readServer(entry: unknown, context: EntryContext): ServerConfig | undefined {
  const { problems } = context
  if (!isObject(entry)) {
    problems.fail(undefined, 'must be an object with "command" or "url".')
    return undefined
  }
  checkNames(entry, problems)
  const members = new Members(entry, problems, expanderOf(entry, context))
  const common = readCommon(members, problems)
  const kind = kindOf(members, problems)
  if (kind === 'command') return compact({ ...common, ...readProcess(members, context) })
  if (kind === 'url') return compact({ ...common, ...readUrl(members, problems) })
  const local = kind === 'server' ? readLocal(members, problems) : undefined
  return local && compact({ ...common, ...local })
}

/** The values of a disabled server are not needed yet, so variables without a value stay as they are. */
function expanderOf(entry: JsonObject, { variables, problems }: EntryContext) {
  const isDisabled = entry.disabled === true || entry.enabled === false || entry.isActive === false
  const reported = isDisabled ? { ...problems, fail: () => {} } : problems
  return (text: string, member: string) => expandVariables(text, member, variables, reported)
}

/** A misspelt member is an error, because without `disabled` or `tools` more would run than the user wanted. */
function checkNames(entry: JsonObject, problems: ServerProblems): void {
  const known: readonly string[] = knownMembers
  for (const name of Object.keys(entry)) {
    if (known.includes(name) || ignoredMembers.has(name)) continue
    const reason = unsupportedMembers.get(name)
    const intended = reason === undefined ? closest(name, known) : undefined
    if (intended !== undefined) problems.fail(name, `is not known. Did you mean "${intended}"?`)
    else problems.warn(name, reason ?? 'is not known and not used.')
  }
}

function readCommon(members: Members, problems: ServerProblems): CommonServerConfig {
  const flags = [members.boolean('enabled'), members.boolean('isActive')]
  const isDisabled = members.boolean('disabled')
  return {
    trust: readTrust(members, problems),
    disabled: isDisabled === true || flags.includes(false) ? true : undefined,
    idleMs: members.positive('idleMs'),
    timeoutMs: members.positive('timeoutMs'),
    tools: members.strings('tools') ?? members.strings('includeTools'),
    shared: members.boolean('shared'),
    prefix: members.boolean('prefix'),
  }
}

function readTrust(members: Members, problems: ServerProblems): CommonServerConfig['trust'] {
  const trust = members.raw('trust')
  if (trust === undefined || trust === 'trusted' || trust === 'untrusted') return trust
  // For Gemini CLI, true skips all confirmations, which is more than our trust means.
  if (typeof trust === 'boolean')
    problems.warn('trust', 'is not used: true and false are for Gemini CLI. Set "trusted" or "untrusted".')
  else problems.fail('trust', 'must be "trusted" or "untrusted".')
  return undefined
}

type Kind = 'command' | 'url' | 'server'

const urlMembers = ['url', 'serverUrl', 'httpUrl']

function kindOf(members: Members, problems: ServerProblems): Kind | undefined {
  const present = ['command', ...urlMembers, 'server'].filter((name) => members.raw(name) !== undefined)
  const [first, second] = present
  if (second !== undefined) problems.fail(second, `cannot be combined with "${first}". Remove one of them.`)
  if (first !== undefined) return first === 'command' || first === 'server' ? first : 'url'
  // Zed starts the servers of its extensions itself; their configuration has settings only.
  if (members.raw('source') === 'extension' || members.raw('settings') !== undefined)
    problems.warn(undefined, 'is skipped: it belongs to an extension of Zed. Add "command" or "url" to use it.')
  else problems.fail(undefined, 'needs "command" (a program to start) or "url".')
  return undefined
}

function readUrl(members: Members, problems: ServerProblems): UrlServerConfig {
  const name = urlMembers.find((each) => members.raw(each) !== undefined) ?? 'url'
  members.warnUnused(['args', 'env', 'environment', 'envFile', 'cwd', 'sandbox'], 'because the server has a URL')
  const allowInsecure = members.boolean('allowInsecure')
  const url = members.string(name) ?? ''
  const problem = url.includes('${') ? undefined : checkServerUrl(url, allowInsecure ?? false)
  if (problem !== undefined && typeof members.raw(name) === 'string') problems.fail(name, problem)
  return {
    url,
    transport: readTransport(members, name, problems),
    headers: readHeaders(members, problems),
    auth: readAuth(members, problems),
    allowInsecure,
  }
}

/** What hosts call their transports. `remote` of opencode leaves it open. */
const transports = new Map<string, UrlServerConfig['transport']>([
  ['http', 'http'],
  ['streamable-http', 'http'],
  ['streamableHttp', 'http'],
  ['streamable_http', 'http'],
  ['sse', 'sse'],
  ['remote', undefined],
])

function readTransport(members: Members, urlMember: string, problems: ServerProblems): UrlServerConfig['transport'] {
  const name = ['transport', 'type', 'transportType'].find((each) => members.raw(each) !== undefined)
  if (name === undefined) return urlMember === 'httpUrl' ? 'http' : undefined
  const value = members.raw(name)
  if (typeof value === 'string' && transports.has(value)) return transports.get(value)
  problems.fail(name, `must be "http" or "sse" for a server with a URL, not ${JSON.stringify(value)}.`)
  return undefined
}

function readHeaders(members: Members, problems: ServerProblems): UrlServerConfig['headers'] {
  const headers = members.map('headers', (key) =>
    /^[\w!#$%&'*+.^`|~-]+$/.test(key) ? undefined : 'is not a valid header name.',
  )
  for (const [key, value] of Object.entries(headers ?? {})) {
    if (/[\r\n]/.test(value)) problems.fail(`headers.${key}`, 'must not contain line breaks.')
  }
  return headers
}

function readAuth(members: Members, problems: ServerProblems): UrlServerConfig['auth'] {
  const auth = members.raw('auth')
  if (auth === undefined || isAuth(auth)) return auth
  problems.warn('auth', 'is not used. Pass it in code, for example `auth: oauth()`.')
  return undefined
}

/** What `oauth()` and the like return, or an `OAuthClientProvider`. A file cannot contain functions. */
function isAuth(value: unknown): value is NonNullable<UrlServerConfig['auth']> {
  if (typeof value === 'function') return true
  return isObject(value) && ['headers', 'tokens'].some((member) => typeof value[member] === 'function')
}

function readLocal(members: Members, problems: ServerProblems): LocalServerConfig | undefined {
  const server = members.raw('server')
  if (isConnectable(server)) return { server }
  problems.fail('server', 'must be an McpServer or a Server. Set "command" or "url" for other servers.')
  return undefined
}

function isConnectable(value: unknown): value is Connectable {
  return isObject(value) && typeof value.connect === 'function'
}

/** A copy without the members that are undefined. */
function compact<T extends object>(config: T): T {
  const defined = Object.entries(config).filter(([, value]) => value !== undefined)
  return Object.fromEntries(defined) as T
}
