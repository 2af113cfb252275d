import { grantedTo, isAllowed } from '../../era/access.ts'
import type { ListName } from '../../era/changes.ts'
import { ProtocolError, RpcCode } from '../../errors.ts'
import { iconsProblem } from '../../protocol/icons.ts'
import type { Meta } from '../../protocol/meta.ts'
import { lintMeta } from '../../protocol/meta-key.ts'
import { isObject } from '../../util/objects.ts'
import type { Context } from '../context.ts'
import type { McpServer } from '../mcp-server.ts'
import type { Pages } from './pages.ts'

/** Another server whose features appear here under a prefix. */
export interface Mount {
  readonly prefix: string
  readonly server: McpServer
}

/** What a feature needs from the server it belongs to. */
export interface FeatureHost {
  readonly pages: Pages
  readonly mounts: readonly Mount[]
  readonly maskErrors: boolean
  readonly hideUnauthorized: boolean
  /** Whether calls can run as tasks. */
  readonly hasTasks: boolean
  changed(list: ListName): void
  /** A tool returned the contents of a resource. */
  embedsResource(tool: string): void
  reportError(error: unknown): void
}

/** A value, or the promise of one. `Promise` is named because compilers explain mismatches in it better than in a thenable. */
export type Settled<T> = T | Promise<T> | PromiseLike<T>

/** An `InputRequiredResult`, without the fields that compilers would suggest for a result of another kind. */
export interface InputRequired {
  resultType: 'input_required'
}

/** An item that only some callers may use. */
export interface Guarded {
  /**
   * Scopes that a caller needs. Others get an error that names the scopes (403 with a challenge over HTTP), so that clients
   * can request a token with them. Does not apply on stdio without `auth`, where the caller is the local user.
   */
  requiredScopes?: readonly string[] | undefined
  /** Leaves it out of lists for callers without the scopes. Default: the option of the server, which is false. */
  hideUnauthorized?: boolean | undefined
}

export function mayUse(ctx: Context, { requiredScopes }: Guarded): boolean {
  return requiredScopes === undefined || isAllowed(grantedTo(ctx.call), requiredScopes)
}

/** Whether lists leave the item out for callers without its scopes. */
export function isHideable({ requiredScopes, hideUnauthorized }: Guarded, byDefault: boolean): boolean {
  return requiredScopes !== undefined && (hideUnauthorized ?? byDefault)
}

export function isListed(ctx: Context, item: Guarded, hidesByDefault: boolean): boolean {
  return !isHideable(item, hidesByDefault) || mayUse(ctx, item)
}

/** Throws at registration on members that every kind of item has. */
export function checkItem(item: string, config: Guarded & { icons?: unknown; _meta?: Meta | undefined }): void {
  const { requiredScopes, icons } = config
  lintMeta(item, config._meta)
  const problem = iconsProblem(icons)
  if (problem !== undefined) throw new TypeError(`${item}: ${problem}`)
  if (requiredScopes === undefined) return
  // RFC 6749 3.3: a scope is printable ASCII without spaces, quotes and backslashes.
  const isScope = (scope: unknown) => typeof scope === 'string' && /^[!#-[\]-~]+$/.test(scope)
  const isList = Array.isArray(requiredScopes) && requiredScopes.every(isScope)
  if (!isList)
    throw new TypeError(`${item}: requiredScopes must be an array of scopes, such as ['admin', 'files:read']`)
}

/** The author's mistake, not the caller's: `onError` hears of it, and the error names the item and the field. */
export function badOutput(host: Pick<FeatureHost, 'reportError'>, message: string): ProtocolError {
  host.reportError(new TypeError(message))
  return new ProtocolError(RpcCode.InternalError, message)
}

/** `shop_add` is `add` of the server mounted as `shop`. Underscore, because some hosts allow no dot in a tool name. */
export function prefixed(prefix: string, name: string): string {
  return `${prefix}_${name}`
}

/** The mount that a prefixed name leads to, and the name there. One prefix may begin with another. */
export function findMount(
  mounts: readonly Mount[],
  name: string,
  has: (server: McpServer, name: string) => boolean,
): { server: McpServer; name: string } | undefined {
  let longest = -1
  let found: { server: McpServer; name: string } | undefined
  for (const { prefix, server } of mounts) {
    const rest = name.slice(prefix.length + 1)
    // The longest prefix wins, so that a server cannot take over names of one mounted under a longer prefix.
    if (prefix.length <= longest || !name.startsWith(`${prefix}_`) || !has(server, rest)) continue
    longest = prefix.length
    found = { server, name: rest }
  }
  return found
}

/** A full result, told by the list that it must have. */
export function isResultWith(value: unknown, member: string): value is Record<string, unknown> {
  return isObject(value) && Array.isArray(value[member])
}

/** The first of several items with one key; own ones come before mounted ones, and win. */
export function uniqueBy<T>(items: readonly T[], keyOf: (item: T) => string): T[] {
  const seen = new Set<string>()
  return items.filter((item) => !seen.has(keyOf(item)) && seen.add(keyOf(item)))
}

/** A copy without members that are undefined, so that they do not appear on the wire as null or at all. */
export function defined<T extends object>(value: T): T {
  return Object.fromEntries(Object.entries(value).filter(([, member]) => member !== undefined)) as T
}
