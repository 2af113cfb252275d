import { grantedTo, isAllowed } from '../../era/access.ts'
import type { ListName } from '../../era/changes.ts'
import { ErrorCode, ProtocolError } from '../../errors.ts'
import { iconsProblem } from '../../protocol/icons.ts'
import type { Meta } from '../../protocol/meta.ts'
import { lintMeta } from '../../protocol/meta-key.ts'
import type { JsonSchemaCompiler } from '../../schema/json-schema.ts'
import { isObject } from '../../util/objects.ts'
import type { Context } from '../context.ts'
import type { McpServer } from '../mcp-server.ts'
import type { Sanitize } from '../options.ts'
import type { Pages } from './pages.ts'

/** A mounted server, whose features are offered under a prefix. */
export interface Mount {
  readonly prefix: string
  readonly server: McpServer
}

/** The part of its server that a feature uses. */
export interface FeatureServer {
  readonly pages: Pages
  readonly mounts: readonly Mount[]
  readonly maskErrors: boolean
  readonly hideUnauthorized: boolean
  /** Cleans text for clients. */
  readonly sanitize: Sanitize | undefined
  /** Whether results of tools are cleaned too. */
  readonly sanitizesResults: boolean
  /** True if calls can run as tasks. */
  readonly hasTasks: boolean
  /** Compiles the JSON Schemas of tools and prompts. Undefined: Tenon's own engine. */
  readonly compileJsonSchema: JsonSchemaCompiler | undefined
  /** Returns the scopes that reading a resource requires. */
  requiredScopesOf(uri: string): readonly string[] | undefined
  /** Notifies clients that a list changed. */
  changed(list: ListName): void
  /** Called when a tool returned the contents of a resource. */
  onEmbeddedResource(tool: string): void
  reportError(error: unknown): void
}

/** A value or a promise of it. Names `Promise` because compilers explain mismatches better there than in a thenable. */
export type Awaitable<T> = T | Promise<T> | PromiseLike<T>

/** An `InputRequiredResult`, without the fields that editors would suggest for other results. */
export interface InputRequired {
  resultType: 'input_required'
}

/** Restricts a tool, resource or prompt to callers with certain scopes. */
export interface AccessOptions {
  /**
   * The scopes that a caller needs. Without them, the caller gets an error that names them (over HTTP a 403 with a
   * challenge), so that clients can request a token with them. Not checked on stdio without `auth`, where the caller is the
   * local user.
   */
  requiredScopes?: readonly string[] | undefined
  /** Hides the item in lists from callers without the scopes. Default: the `hideUnauthorized` option of the server. */
  hideUnauthorized?: boolean | undefined
}

/** Returns whether the caller has the required scopes. */
export function mayUse(ctx: Context, { requiredScopes }: AccessOptions): boolean {
  return requiredScopes === undefined || isAllowed(grantedTo(ctx.call), requiredScopes)
}

/** Returns whether lists hide the item from callers without its scopes. */
export function isHideable({ requiredScopes, hideUnauthorized }: AccessOptions, byDefault: boolean): boolean {
  return requiredScopes !== undefined && (hideUnauthorized ?? byDefault)
}

/** Returns whether lists show the item to this caller. */
export function isListed(ctx: Context, item: AccessOptions, hidesByDefault: boolean): boolean {
  return !isHideable(item, hidesByDefault) || mayUse(ctx, item)
}

/** Checks the options that all items have in common. */
export function checkItem(item: string, config: AccessOptions & { icons?: unknown; _meta?: Meta | undefined }): void {
  const { requiredScopes, icons } = config
  lintMeta(item, config._meta)
  const problem = iconsProblem(icons)
  if (problem !== undefined) throw new TypeError(`${item}: ${problem}`)
  if (requiredScopes === undefined) return
  // RFC 6749 3.3: a scope is printable ASCII without spaces, quotes and backslashes.
  const isScope = (scope: unknown) => typeof scope === 'string' && /^[!#-[\]-~]+$/.test(scope)
  const isList = Array.isArray(requiredScopes) && requiredScopes.every(isScope)
  if (!isList)
    throw new TypeError(`${item}: requiredScopes must be an array of scopes, for example ['admin', 'files:read']`)
}

/** Reports an invalid result to `onError` and returns the error for the caller: the author of the server made a mistake. */
export function badOutput(server: Pick<FeatureServer, 'reportError'>, message: string): ProtocolError {
  server.reportError(new TypeError(message))
  return new ProtocolError(ErrorCode.InternalError, message)
}

/** Returns the name of a mounted item: `shop_add` is `add` of the server mounted as `shop`. Some hosts reject dots in tool names. */
export function prefixed(prefix: string, name: string): string {
  return `${prefix}_${name}`
}

/** Finds the mounted server that a prefixed name refers to, and the name there. */
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

/** Returns whether a value is a full result, recognized by its list. */
export function isResultWith(value: unknown, member: string): value is Record<string, unknown> {
  return isObject(value) && Array.isArray(value[member])
}

/** Removes items whose key appeared before. */
export function uniqueBy<T>(items: readonly T[], keyOf: (item: T) => string): T[] {
  const seen = new Set<string>()
  return items.filter((item) => !seen.has(keyOf(item)) && seen.add(keyOf(item)))
}

/** Returns a copy without members that are undefined. */
export function defined<T extends object>(value: T): T {
  return Object.fromEntries(Object.entries(value).filter(([, member]) => member !== undefined)) as T
}
