import { checkAccess } from '../../era/access.ts'
import { ProtocolError, RpcCode } from '../../errors.ts'
import type { Params, ResultObject } from '../../jsonrpc/message.ts'
import type { CacheHints } from '../../protocol/caching.ts'
import { cacheHintsProblem } from '../../protocol/caching.ts'
import type { Annotations } from '../../protocol/content.ts'
import { annotationsProblem, contentsProblem, kindOf } from '../../protocol/content.ts'
import type { Icon } from '../../protocol/icons.ts'
import { isInputRequired } from '../../protocol/input-check.ts'
import type { Meta, ResultMeta } from '../../protocol/meta.ts'
import type { ReadResourceResult, Resource, ResourceContents, ResourceTemplateInfo } from '../../protocol/resources.ts'
import { decodedText, isUri, normalizeUri } from '../../protocol/uri.ts'
import { UriTemplate } from '../../protocol/uri-template.ts'
import type { Outcome } from '../../replay/conversation.ts'
import { chain } from '../../util/maybe-async.ts'
import type { Context } from '../context.ts'
import { type Completer, type CompleterLike, toCompleter, unknownArgument } from './completion.ts'
import {
  badOutput,
  checkItem,
  defined,
  type FeatureHost,
  type Guarded,
  type InputRequired,
  isHideable,
  isListed,
  isResultWith,
  mayUse,
  type Settled,
  uniqueBy,
} from './feature.ts'
import { type Registered, Registry, type Updatable } from './registry.ts'

export interface ResourceConfig extends CacheHints, Guarded {
  title?: string | undefined
  description?: string | undefined
  mimeType?: string | undefined
  annotations?: Annotations | undefined
  /** Bytes, if known. */
  size?: number | undefined
  icons?: Icon[] | undefined
  _meta?: Meta | undefined
}

/** The full result of a read, as handlers return it. */
export interface ReadOutput extends CacheHints {
  contents: ResourceContents[]
  _meta?: ResultMeta | undefined
}

/** A read may return full contents, plain text or bytes; undefined means that there is no such resource. */
export type ReadReturn = string | Uint8Array | ReadOutput | InputRequired | undefined

export type ReadResource = (uri: URL, ctx: Context) => Settled<ReadReturn>
export type TemplateVariables = Record<string, string | string[]>
export type ReadTemplate<Uri extends string = string> = (
  uri: URL,
  variables: VariablesOf<Uri>,
  ctx: Context,
) => Settled<ReadReturn>

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

export interface TemplateOptions<Uri extends string = string> {
  /** The resources of this family that can be listed. */
  list?: ((ctx: Context) => ListedResources | PromiseLike<ListedResources>) | undefined
  /** Suggestions by variable name. */
  complete?: { [K in keyof VariablesOf<Uri>]?: CompleterLike } | undefined
}
type ListedResources = { resources: Resource[] } | Resource[]

/** A family of resources under one RFC 6570 template: `new ResourceTemplate('greeting://{name}', { list: undefined })`. */
export class ResourceTemplate<const Uri extends string = string> {
  readonly uriTemplate: UriTemplate
  readonly options: TemplateOptions<Uri>

  constructor(template: Uri, options: TemplateOptions<Uri> = {}) {
    this.uriTemplate = new UriTemplate(template)
    const stranger = Object.keys(options.complete ?? {}).find((name) => !this.uriTemplate.variableNames.includes(name))
    if (stranger !== undefined) throw new TypeError(`The template ${template} has no variable ${stranger} to complete`)
    this.options = options
  }
}

/** How a resource, or the resources of a template, are read. */
export type Reader<Where> = Where extends ResourceTemplate<infer Uri> ? ReadTemplate<Uri> : ReadResource

/** The handle of a resource, or of a template. */
export type RegisteredAt<Where> =
  Where extends ResourceTemplate<infer Uri> ? RegisteredResourceTemplate<Uri> : RegisteredResource

export interface ResourceChanges extends ResourceConfig {
  name?: string | undefined
  uri?: string | undefined
  read?: ReadResource | undefined
}
export interface TemplateChanges<Uri extends string = string> extends ResourceConfig {
  name?: string | undefined
  template?: ResourceTemplate<Uri> | undefined
  read?: ReadTemplate<Uri> | undefined
}
export type RegisteredResource = Updatable<ResourceChanges>

/** A registered template: change it, disable it or remove it. */
export interface RegisteredResourceTemplate<Uri extends string = string> extends Registered {
  /** Changes the template. A new read function is typed by the template given with it, else by that of the registration. */
  update<NewUri extends string = Uri>(changes: TemplateChanges<NewUri>): void
}

interface AnyTemplateChanges extends ResourceConfig {
  name?: string | undefined
  template?: ResourceTemplate<never> | undefined
  read?: ((uri: URL, variables: never, ctx: Context) => Settled<ReadReturn>) | undefined
}

interface ResourceEntry {
  key: string
  name: string
  enabled: boolean
  definition: Resource
  config: ResourceConfig
  read: ReadResource
}

interface TemplateEntry {
  key: string
  name: string
  enabled: boolean
  definition: ResourceTemplateInfo
  config: ResourceConfig
  template: ResourceTemplate
  read: ReadTemplate
}

export class Resources {
  readonly #host: FeatureHost
  readonly #resources: Registry<ResourceEntry>
  readonly #templates: Registry<TemplateEntry>
  /** Kept until something is registered: lists are asked for often. */
  #hasGuarded: boolean | undefined
  /** The guarded resources by their decoded text. Kept until something is registered. */
  #guardedByText: ReadonlyMap<string, ResourceEntry> | undefined

  constructor(host: FeatureHost) {
    this.#host = host
    const changed = () => {
      this.#hasGuarded = undefined
      this.#guardedByText = undefined
      host.changed('resources')
    }
    this.#resources = new Registry('resource', changed)
    this.#templates = new Registry('resource template', changed)
  }

  register(name: string, uri: string, config: ResourceConfig, read: ReadResource): RegisteredResource {
    return this.#resources.register<ResourceChanges>(
      createResource(name, uri, config, read, true),
      (entry, { name = entry.name, uri = entry.definition.uri, read = entry.read, ...changes }) =>
        createResource(name, uri, { ...entry.config, ...changes }, read, entry.enabled),
    )
  }

  registerTemplate(
    name: string,
    template: ResourceTemplate,
    config: ResourceConfig,
    read: ReadTemplate,
  ): RegisteredResourceTemplate {
    return this.#templates.register<AnyTemplateChanges>(
      createTemplate(name, template, config, read, true),
      (entry, { name = entry.name, template = entry.template, read = entry.read, ...changes }) =>
        createTemplate(name, template, { ...entry.config, ...changes }, read as ReadTemplate, entry.enabled),
    )
  }

  get present(): boolean {
    const own = this.#resources.used || this.#templates.used
    return own || this.#host.mounts.some(({ server }) => server.features.resources.present)
  }

  /** Whether callers may see different lists, so that none can be kept for all. */
  listVaries(hides = this.#host.hideUnauthorized): boolean {
    return (
      this.#templates.enabled().some(({ template }) => template.options.list) ||
      this.#hides(this.#resources.enabled(), hides) ||
      this.#host.mounts.some(({ server }) => server.features.resources.listVaries(hides || undefined))
    )
  }

  list(params: Params, ctx: Context): Outcome {
    return chain(this.#all(ctx), (all) => this.#host.pages.list('resources', all, ({ uri }) => uri, params))
  }

  /** Whether anything here, or in a mounted server, requires scopes. */
  get hasGuarded(): boolean {
    return this.#isGuarded || this.#host.mounts.some(({ server }) => server.features.resources.hasGuarded)
  }

  #hides(entries: readonly { config: ResourceConfig }[], hides: boolean): boolean {
    return this.#isGuarded && entries.some(({ config }) => isHideable(config, hides))
  }

  get #isGuarded(): boolean {
    this.#hasGuarded ??= [...this.#resources.enabled(), ...this.#templates.enabled()].some(
      ({ config }) => config.requiredScopes,
    )
    return this.#hasGuarded
  }

  /** Whether callers see different templates, so that no list can be kept for all. */
  templatesVary(hides = this.#host.hideUnauthorized): boolean {
    const own = this.#hides(this.#templates.enabled(), hides)
    return own || this.#host.mounts.some(({ server }) => server.features.resources.templatesVary(hides || undefined))
  }

  listTemplates(params: Params, ctx: Context): Outcome {
    return this.#host.pages.list('resourceTemplates', this.templates(ctx), ({ uriTemplate }) => uriTemplate, params)
  }

  /** @param hides Whether to leave out what the caller may not use; passed on to mounted servers if true. */
  templates(ctx: Context, hides = this.#host.hideUnauthorized): ResourceTemplateInfo[] {
    const listed = this.#templates.enabled().filter(({ config }) => isListed(ctx, config, hides))
    const own = listed.map(({ definition }) => definition)
    const mounts = this.#host.mounts
    const mounted = mounts.flatMap(({ server }) => server.features.resources.templates(ctx, hides || undefined))
    return uniqueBy([...own, ...mounted], ({ uriTemplate }) => uriTemplate)
  }

  async read(params: Params, ctx: Context): Promise<ResultObject> {
    const uri = parseUri(params.uri as string)
    const found = this.#find(params.uri as string)
    if (found) {
      checkAccess(ctx.call, found.config.requiredScopes)
      const returned = await found.read(uri, ctx)
      if (isInputRequired(returned)) return returned
      const result = this.#toReadResult(returned, params.uri as string, found.config)
      if (result) return result
    } else {
      const mount = this.#host.mounts.find(({ server }) => server.features.resources.knows(params.uri as string))
      if (mount) return mount.server.server.delegate('resources/read', params, ctx)
    }
    const what = `Resource not found: ${(params.uri as string).slice(0, 200)}`
    throw new ProtocolError(ctx.caller.rules.resourceNotFound, what, { uri: params.uri })
  }

  #toReadResult(returned: unknown, uri: string, config: ResourceConfig): ReadResourceResult | undefined {
    if (returned === undefined || returned === null) return undefined
    const { ttlMs, cacheScope, mimeType } = config
    const result = isResultWith(returned, 'contents') ? returned : { contents: [this.#toContents(returned, uri)] }
    const contents = result.contents as ResourceContents[]
    for (const [index, item] of contents.entries()) {
      const problem = contentsProblem(item)
      if (problem === undefined) continue
      throw badOutput(this.#host, `Reading ${uri} returned an invalid result: contents[${index}]${problem}`)
    }
    return {
      ...(ttlMs !== undefined && { ttlMs }),
      ...(cacheScope !== undefined && { cacheScope }),
      ...result,
      contents: contents.map((item) => withMimeType(item, mimeType)),
    }
  }

  #toContents(value: unknown, uri: string): ResourceContents {
    if (typeof value === 'string') return { uri, text: value }
    if (value instanceof Uint8Array) return { uri, blob: toBase64(value) }
    throw badOutput(this.#host, `Reading ${uri} returned ${kindOf(value)}; return { contents }, text or bytes`)
  }

  /** Whether this server, or one mounted in it, can read the URI. */
  knows(uri: string): boolean {
    return this.#find(uri) !== undefined || this.#host.mounts.some(({ server }) => server.features.resources.knows(uri))
  }

  /** The scopes that a caller needs for what the URI leads to, here or in a mounted server. */
  requiredScopesOf(uri: string): readonly string[] | undefined {
    if (!this.hasGuarded) return undefined
    const found = this.#find(uri)
    if (found) return found.config.requiredScopes
    const mount = this.#host.mounts.find(({ server }) => server.features.resources.knows(uri))
    return mount?.server.features.resources.requiredScopesOf(uri)
  }

  /** Whether a completion can name it: the URI of a resource, or of a template. */
  ownsReference(uri: string): boolean {
    return (this.#templates.get(uri) ?? this.#resources.get(normalizeUri(uri)))?.enabled === true
  }

  knowsReference(uri: string): boolean {
    const mounts = this.#host.mounts
    return this.ownsReference(uri) || mounts.some(({ server }) => server.features.resources.knowsReference(uri))
  }

  get completes(): boolean {
    return this.#templates.enabled().some(({ template }) => template.options.complete !== undefined)
  }

  /** Who completes a variable: undefined when nobody does. Throws when there is no such template or variable. */
  completer(uri: string, variable: string, ctx: Context): Completer | undefined {
    const entry = this.#templates.get(uri)
    const resource = entry ? undefined : this.#resources.get(normalizeUri(uri))
    checkAccess(ctx.call, (entry ?? resource)?.config.requiredScopes)
    // A plain resource has nothing to complete, which is not an error.
    if (resource) return undefined
    if (!entry?.enabled) throw new ProtocolError(RpcCode.InvalidParams, 'Unknown resource template')
    if (!entry.template.uriTemplate.variableNames.includes(variable)) throw unknownArgument(entry.name)
    const named = entry.template.options.complete
    return named && Object.hasOwn(named, variable) ? toCompleter(named[variable]!) : undefined
  }

  #find(uri: string): { config: ResourceConfig; read: (uri: URL, ctx: Context) => unknown } | undefined {
    const resource = this.#resources.get(normalizeUri(uri)) ?? this.#guardedLike(uri)
    // One that was disabled is gone, also where a template would match it.
    if (resource) return resource.enabled ? resource : undefined
    for (const { template, config, read } of this.#templates.enabled()) {
      const variables = template.uriTemplate.match(uri)
      if (variables && !leadsOut(uri, variables)) return { config, read: (url, ctx) => read(url, variables, ctx) }
    }
    return undefined
  }

  /** The guarded resource that a template, which decodes its values, must not give out under another spelling of its URI. */
  #guardedLike(uri: string): ResourceEntry | undefined {
    this.#guardedByText ??= new Map(
      this.#resources
        .all()
        .filter(({ config }) => config.requiredScopes)
        .map((entry) => [decodedText(entry.definition.uri), entry]),
    )
    return this.#guardedByText.size === 0 ? undefined : this.#guardedByText.get(decodedText(uri))
  }

  #all(ctx: Context, hides = this.#host.hideUnauthorized): Resource[] | Promise<Resource[]> {
    const visible = this.#resources.enabled().filter(({ config }) => isListed(ctx, config, hides))
    const own = visible.map(({ definition }) => definition)
    if (this.listVaries(hides)) return this.#allDynamic(own, ctx, hides)
    const mounted = this.#host.mounts.flatMap(
      ({ server }) => server.features.resources.#all(ctx, hides || undefined) as Resource[],
    )
    return uniqueBy([...own, ...mounted], ({ uri }) => uri)
  }

  async #allDynamic(own: Resource[], ctx: Context, hides: boolean): Promise<Resource[]> {
    // A guarded template is listed, but what it lists is data: it is for those who may read it.
    const usable = this.#templates.enabled().filter(({ config }) => mayUse(ctx, config))
    const listed = await Promise.all(
      usable.map(async ({ template, config }) => {
        const answer = (await template.options.list?.(ctx)) ?? []
        const resources = Array.isArray(answer) ? answer : answer.resources
        return resources.map((resource) => ({ ...describeResource(config), ...resource }))
      }),
    )
    const mounted = await Promise.all(
      this.#host.mounts.map(({ server }) => server.features.resources.#all(ctx, hides || undefined)),
    )
    return uniqueBy([...own, ...listed.flat(), ...mounted.flat()], ({ uri }) => uri)
  }
}

function createResource(
  name: string,
  uri: string,
  config: ResourceConfig,
  read: ReadResource,
  enabled: boolean,
): ResourceEntry {
  if (/[{}]/.test(uri)) {
    throw new TypeError(
      `Resource ${name}: ${uri} looks like a template; give new ResourceTemplate(${JSON.stringify(uri)})`,
    )
  }
  if (!isUri(uri)) {
    throw new TypeError(`Resource ${name}: ${JSON.stringify(uri)} is no URI; it needs a scheme, as in "notes://today"`)
  }
  checkConfig(name, config, read)
  const definition = { uri, name, ...describeResource(config), ...(config.size !== undefined && { size: config.size }) }
  return { key: normalizeUri(uri), name, enabled, definition, config, read }
}

function createTemplate(
  name: string,
  template: ResourceTemplate,
  config: ResourceConfig,
  read: ReadTemplate,
  enabled: boolean,
): TemplateEntry {
  const uriTemplate = template.uriTemplate.toString()
  // RFC 3986 section 3.1; a template may also begin with a variable.
  if (!/^([a-z][a-z0-9+.-]*:|\{)/i.test(uriTemplate)) {
    throw new TypeError(
      `Resource template ${name}: ${uriTemplate} gives no URIs; it needs a scheme, as in "notes://{day}"`,
    )
  }
  checkConfig(name, config, read)
  const definition = { uriTemplate, name, ...describeResource(config) }
  return { key: uriTemplate, name, enabled, definition, config, template, read }
}

function checkConfig(name: string, config: ResourceConfig, read: unknown): void {
  if (typeof read !== 'function') throw new TypeError(`Resource ${name}: the reader, last of four, must be a function`)
  checkItem(`Resource ${name}`, config)
  const problem = cacheHintsProblem(config) ?? annotationsProblem(config.annotations ?? {})
  if (problem !== undefined) throw new TypeError(`Resource ${name}: ${problem}`)
}

/**
 * 2026-07-28 resources: paths of file resources are sanitised. A URI that climbs out of its folder, or names another root
 * in a variable, matches no `file:` template; for other schemes such a value is data like any other.
 */
function leadsOut(uri: string, variables: TemplateVariables): boolean {
  if (!/^file:/i.test(uri)) return false
  const path = uri.replace(/[?#].*$/s, '')
  return [path, ...Object.values(variables).flat()].some(climbs) || Object.values(variables).flat().some(isAbsolute)
}

function climbs(path: string): boolean {
  const plain = path.replace(/%2e/gi, '.').replace(/%2f/gi, '/').replace(/%5c/gi, '\\')
  return plain.split(/[\\/?#]/).includes('..') || plain.includes('\\')
}

function isAbsolute(value: string): boolean {
  return /^([/\\]|[a-z]:)/i.test(value)
}

function describeResource({ title, description, mimeType, annotations, icons, _meta }: ResourceConfig) {
  return defined({ title, description, mimeType, annotations, icons, _meta })
}

function parseUri(uri: string): URL {
  if (!isUri(uri)) throw new ProtocolError(RpcCode.InvalidParams, 'params.uri is no valid URI')
  return new URL(uri)
}

function withMimeType(item: ResourceContents, mimeType: string | undefined): ResourceContents {
  return item.mimeType !== undefined || mimeType === undefined ? item : { ...item, mimeType }
}

function toBase64(bytes: Uint8Array): string {
  let binary = ''
  for (let at = 0; at < bytes.length; at += 0x8000) binary += String.fromCharCode(...bytes.subarray(at, at + 0x8000))
  return btoa(binary)
}
