import { type CacheHints, cacheHintsProblem } from '../../protocol/caching.ts'
import { type Annotations, annotationsProblem } from '../../protocol/content.ts'
import type { Icon } from '../../protocol/icons.ts'
import type { Meta, ResultMeta } from '../../protocol/meta.ts'
import type { Resource, ResourceContents, ResourceTemplateInfo } from '../../protocol/resources.ts'
import { isUri, normalizeUri } from '../../protocol/uri.ts'
import { UriTemplate } from '../../protocol/uri-template.ts'
import { checkOptions } from '../../util/unknown-options.ts'
import { warnOnce } from '../../util/warn.ts'
import type { Context } from '../context.ts'
import type { CompleterLike } from './completion.ts'
import { type AccessOptions, type Awaitable, checkItem, defined, type InputRequired } from './feature.ts'
import type { Registered, Updatable } from './registry.ts'

/** A registered resource. */
export interface ResourceEntry {
  key: string
  name: string
  enabled: boolean
  definition: Resource
  config: ResourceConfig
  read: ReadResource
}

/** A registered resource template. */
export interface TemplateEntry {
  key: string
  name: string
  enabled: boolean
  definition: ResourceTemplateInfo
  config: ResourceConfig
  template: ResourceTemplate
  read: ReadTemplate
}

/** Checks a resource. */
export function createResource(
  name: string,
  uri: string,
  config: ResourceConfig,
  read: ReadResource,
  enabled: boolean,
): ResourceEntry {
  if (/[{}]/.test(uri)) {
    throw new TypeError(
      `Resource "${name}": "${uri}" is a template. Pass new ResourceTemplate(${JSON.stringify(uri)}).`,
    )
  }
  if (!isUri(uri)) {
    throw new TypeError(
      `Resource "${name}": ${JSON.stringify(uri)} is not a URI. Start with a scheme, for example "notes://today".`,
    )
  }
  checkConfig(name, uri, config, read)
  const definition = { uri, name, ...describeResource(config), ...(config.size !== undefined && { size: config.size }) }
  return { key: normalizeUri(uri), name, enabled, definition, config, read }
}

/** Checks a resource template. */
export function createTemplate(
  name: string,
  template: ResourceTemplate,
  config: ResourceConfig,
  read: ReadTemplate,
  enabled: boolean,
): TemplateEntry {
  const uriTemplate = template.uriTemplate.toString()
  // RFC 3986 section 3.1. A template may also start with a variable.
  if (!/^([a-z][a-z0-9+.-]*:|\{)/i.test(uriTemplate)) {
    throw new TypeError(
      `Resource template "${name}": "${uriTemplate}" does not produce URIs. Start with a scheme, for example "notes://{day}".`,
    )
  }
  checkConfig(name, uriTemplate, config, read)
  const definition = { uriTemplate, name, ...describeResource(config) }
  return { key: uriTemplate, name, enabled, definition, config, template, read }
}

function checkConfig(name: string, uri: string, config: ResourceConfig, read: unknown): void {
  if (typeof read !== 'function')
    throw new TypeError(`Resource "${name}": the fourth argument, the read function, must be a function`)
  checkItem(`Resource "${name}"`, config)
  checkOptions<ResourceConfig>(`Resource "${name}"`, config, knownOptions)
  const problem = cacheHintsProblem(config) ?? annotationsProblem(config.annotations ?? {})
  if (problem !== undefined) throw new TypeError(`Resource "${name}": ${problem}`)
  // 2025-11-25 resources, common URI schemes: https is for what clients can load from the web themselves.
  if (isOutOfReach(uri, config))
    warnOnce(
      `web ${uri}`,
      `Resource "${name}": clients may load "${uri}" from the web instead of asking this server, and cannot. Use another scheme, for example "docs://".`,
    )
}

/** Whether a client can certainly not load a web address: it needs scopes of this server, or its host is not public. */
function isOutOfReach(uri: string, { requiredScopes }: ResourceConfig): boolean {
  const [, host] = /^https?:\/\/(\[[^\]]*\]|[^/?#:]*)/i.exec(uri) ?? []
  if (host === undefined) return false
  return requiredScopes !== undefined || privateHost.test(host)
}

const privateHost =
  /^(?:[^.{}]+|.*\.(?:localhost|local|internal|lan|test|invalid)|(?:127|10|192\.168|169\.254|172\.(?:1[6-9]|2\d|3[01]))\..*|\[(?:::1|f[cde]).*)$/i

/** Returns the members that a resource and a template have in common. */
export function describeResource({ title, description, mimeType, annotations, icons, _meta }: ResourceConfig) {
  return defined({ title, description, mimeType, annotations, icons, _meta })
}

/** The definition of a resource or of a resource template. */
export interface ResourceConfig extends CacheHints, AccessOptions {
  title?: string | undefined
  description?: string | undefined
  mimeType?: string | undefined
  annotations?: Annotations | undefined
  /** Size in bytes, if known. */
  size?: number | undefined
  icons?: Icon[] | undefined
  _meta?: Meta | undefined
}

/** The full result of a read function. */
export interface ReadOutput extends CacheHints {
  contents: ResourceContents[]
  _meta?: ResultMeta | undefined
}

/** What a read function may return: text, bytes or full contents. Undefined means that the resource does not exist. */
export type ReadReturn = string | Uint8Array | ReadOutput | InputRequired | undefined

/** Reads a resource. */
export type ReadResource = (uri: URL, ctx: Context) => Awaitable<ReadReturn>
/** The values of the variables of a URI template. */
export type TemplateVariables = Record<string, string | string[]>
/** Reads a resource of a template. */
export type ReadTemplate<Uri extends string = string> = (
  uri: URL,
  variables: VariablesOf<Uri>,
  ctx: Context,
) => Awaitable<ReadReturn>

/**
 * The variables of a URI template by name. `{a}` is a string and `{a*}` a list of strings. Those of `{?a}`, `{&a}` and
 * `{;a}` may be absent.
 */
export type VariablesOf<Uri extends string> = string extends Uri ? TemplateVariables : Flat<ExpressionsOf<Uri>>

type Flat<T> = { [K in keyof T]: T[K] } & {}
type ExpressionsOf<Uri extends string> = Uri extends `${string}{${infer Expression}}${infer Rest}`
  ? ExpressionOf<Expression> & ExpressionsOf<Rest>
  : unknown
type ExpressionOf<Expression extends string> = Expression extends `${'?' | '&' | ';'}${infer Names}`
  ? Partial<NamesOf<Names>>
  : Expression extends `${'+' | '#' | '.' | '/'}${infer Names}`
    ? NamesOf<Names>
    : NamesOf<Expression>
type NamesOf<Names extends string> = Names extends `${infer First},${infer Rest}`
  ? NameOf<First> & NamesOf<Rest>
  : NameOf<Names>
type NameOf<Name extends string> = Name extends `${infer Exploded}*`
  ? { [K in Exploded]: string[] }
  : { [K in Name extends `${infer Cut}:${number}` ? Cut : Name]: string }

/** Options of a `ResourceTemplate`. */
export interface TemplateOptions<Uri extends string = string> {
  /** Returns the resources of this template that appear in `resources/list`. */
  list?: ((ctx: Context) => ListedResources | PromiseLike<ListedResources>) | undefined
  /** Suggestions by variable name. */
  complete?: { [K in keyof VariablesOf<Uri>]?: CompleterLike } | undefined
}

/** The resources that `list` of a template returns. */
export type ListedResources = { resources: Resource[] } | Resource[]

/**
 * Resources whose URIs match an RFC 6570 template.
 *
 * @example
 * ```ts
 * new ResourceTemplate('greeting://{name}', { complete: { name: ['Ada', 'Grace'] } })
 * ```
 */
export class ResourceTemplate<const Uri extends string = string> {
  readonly uriTemplate: UriTemplate
  readonly options: TemplateOptions<Uri>

  constructor(template: Uri, options: TemplateOptions<Uri> = {}) {
    this.uriTemplate = new UriTemplate(template)
    const unknown = Object.keys(options.complete ?? {}).find((name) => !this.uriTemplate.variableNames.includes(name))
    if (unknown !== undefined)
      throw new TypeError(`Unknown variable "${unknown}" in "complete": the template is "${template}"`)
    this.options = options
  }
}

/** The read function of a resource or of a template. */
export type ReaderFor<Where> = Where extends ResourceTemplate<infer Uri> ? ReadTemplate<Uri> : ReadResource

/** The handle of a resource or of a template. */
export type RegisteredFor<Where> =
  Where extends ResourceTemplate<infer Uri> ? RegisteredResourceTemplate<Uri> : RegisteredResource

/** What `update` may change. */
export interface ResourceChanges extends ResourceConfig {
  name?: string | undefined
  uri?: string | undefined
  read?: ReadResource | undefined
}

/** What `update` may change. */
export interface TemplateChanges<Uri extends string = string> extends ResourceConfig {
  name?: string | undefined
  template?: ResourceTemplate<Uri> | undefined
  read?: ReadTemplate<Uri> | undefined
}

/** A registered resource: change it, disable it or remove it. */
export type RegisteredResource = Updatable<ResourceChanges>

/** A registered template: change it, disable it or remove it. */
export interface RegisteredResourceTemplate<Uri extends string = string> extends Registered {
  /** Changes the template. A new read function is typed by the template passed with it, or by the registered one. */
  update<NewUri extends string = Uri>(changes: TemplateChanges<NewUri>): void
}

const knownOptions = {
  title: 1,
  description: 1,
  mimeType: 1,
  annotations: 1,
  size: 1,
  icons: 1,
  _meta: 1,
  ttlMs: 1,
  cacheScope: 1,
  requiredScopes: 1,
  hideUnauthorized: 1,
} as const
