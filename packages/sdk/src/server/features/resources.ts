import { checkAccess } from '../../era/access.ts'
import { invalidParams, ProtocolError } from '../../errors.ts'
import type { Params, ResultObject } from '../../jsonrpc/message.ts'
import { contentsProblem, describeType } from '../../protocol/content.ts'
import { isInputRequired } from '../../protocol/input-check.ts'
import type { ReadResourceResult, Resource, ResourceContents, ResourceTemplateInfo } from '../../protocol/resources.ts'
import { decodedText, isUri, normalizeUri } from '../../protocol/uri.ts'
import type { Outcome } from '../../replay/conversation.ts'
import { chain } from '../../util/maybe-async.ts'
import type { Context } from '../context.ts'
import { type Completer, toCompleter, toPage, unknownArgument } from './completion.ts'
import {
  type Awaitable,
  badOutput,
  type FeatureServer,
  isHideable,
  isListed,
  isResultWith,
  mayUse,
  uniqueBy,
} from './feature.ts'
import { escapesTemplate } from './file-uris.ts'
import { Registry } from './registry.ts'
import {
  createResource,
  createTemplate,
  describeResource,
  type ReadResource,
  type ReadReturn,
  type ReadTemplate,
  type RegisteredResource,
  type RegisteredResourceTemplate,
  type ResourceChanges,
  type ResourceConfig,
  type ResourceEntry,
  type ResourceTemplate,
  type TemplateEntry,
} from './resource-entry.ts'

/** The resources feature. */
export class Resources {
  readonly #server: FeatureServer
  readonly #resources: Registry<ResourceEntry>
  readonly #templates: Registry<TemplateEntry>
  /** Cached until the next registration, because lists are requested often. */
  #hasScoped: boolean | undefined
  /** Resources with required scopes, by their decoded URI. Cached until the next registration. */
  #scopedByText: ReadonlyMap<string, ResourceEntry> | undefined

  constructor(server: FeatureServer) {
    this.#server = server
    const changed = () => {
      this.#hasScoped = undefined
      this.#scopedByText = undefined
      server.changed('resources')
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

  /** True if the capability is declared. */
  get present(): boolean {
    const own = this.#resources.used || this.#templates.used
    return own || this.#server.mounts.some(({ server }) => server.features.resources.present)
  }

  /** Returns whether callers may see different lists, so that the list cannot be cached for all. */
  listVaries(hides = this.#server.hideUnauthorized): boolean {
    return (
      this.#templates.enabled().some(({ template }) => template.options.list) ||
      this.#hides(this.#resources.enabled(), hides) ||
      this.#server.mounts.some(({ server }) => server.features.resources.listVaries(hides || undefined))
    )
  }

  /** Serves `resources/list`. */
  list(params: Params, ctx: Context): Outcome {
    return chain(this.#all(ctx), (all) => this.#server.pages.list('resources', all, ({ uri }) => uri, params))
  }

  /** True if any resource here or in a mounted server requires scopes. */
  get hasScoped(): boolean {
    return this.#hasOwnScoped || this.#server.mounts.some(({ server }) => server.features.resources.hasScoped)
  }

  #hides(entries: readonly { config: ResourceConfig }[], hides: boolean): boolean {
    return this.#hasOwnScoped && entries.some(({ config }) => isHideable(config, hides))
  }

  get #hasOwnScoped(): boolean {
    this.#hasScoped ??= [...this.#resources.enabled(), ...this.#templates.enabled()].some(
      ({ config }) => config.requiredScopes,
    )
    return this.#hasScoped
  }

  /** Returns whether callers may see different templates, so that the list cannot be cached for all. */
  templatesVary(hides = this.#server.hideUnauthorized): boolean {
    const own = this.#hides(this.#templates.enabled(), hides)
    return own || this.#server.mounts.some(({ server }) => server.features.resources.templatesVary(hides || undefined))
  }

  /** Serves `resources/templates/list`. */
  listTemplates(params: Params, ctx: Context): Outcome {
    return this.#server.pages.list('resourceTemplates', this.templates(ctx), ({ uriTemplate }) => uriTemplate, params)
  }

  /** @param hides Whether to hide templates from callers without their scopes. Passed on to mounted servers if true. */
  templates(ctx: Context, hides = this.#server.hideUnauthorized): ResourceTemplateInfo[] {
    const listed = this.#templates.enabled().filter(({ config }) => isListed(ctx, config, hides))
    const own = listed.map(({ definition }) => definition)
    const mounts = this.#server.mounts
    const mounted = mounts.flatMap(({ server }) => server.features.resources.templates(ctx, hides || undefined))
    return uniqueBy([...own, ...mounted], ({ uriTemplate }) => uriTemplate)
  }

  /** Serves `resources/read`. */
  async read(params: Params, ctx: Context): Promise<ResultObject> {
    const uri = parseUri(params.uri as string)
    const found = this.#find(params.uri as string)
    if (found) {
      checkAccess(ctx.call, found.config.requiredScopes)
      const returned = await found.read(uri, ctx)
      if (isInputRequired(returned)) return returned
      const result = toReadResult(this.#server, returned, params.uri as string, found.config)
      if (result) return result
    } else {
      const mount = this.#server.mounts.find(({ server }) => server.features.resources.knows(params.uri as string))
      if (mount) return mount.server.server.delegate('resources/read', params, ctx)
    }
    const message = `Resource not found: ${(params.uri as string).slice(0, 200)}`
    throw new ProtocolError(ctx.caller.rules.resourceNotFound, message, { uri: params.uri })
  }

  /** Returns whether this server or a mounted one can read the URI. */
  knows(uri: string): boolean {
    return (
      this.#find(uri) !== undefined || this.#server.mounts.some(({ server }) => server.features.resources.knows(uri))
    )
  }

  /** Returns the scopes that reading the URI requires, here or in a mounted server. */
  requiredScopesOf(uri: string): readonly string[] | undefined {
    if (!this.hasScoped) return undefined
    const found = this.#find(uri)
    if (found) return found.config.requiredScopes
    const mount = this.#server.mounts.find(({ server }) => server.features.resources.knows(uri))
    return mount?.server.features.resources.requiredScopesOf(uri)
  }

  /** Returns whether a completion can refer to the URI: that of a resource or of a template. */
  ownsReference(uri: string): boolean {
    return (this.#templates.get(uri) ?? this.#resources.get(normalizeUri(uri)))?.enabled === true
  }

  /** The same, including mounted servers. */
  knowsReference(uri: string): boolean {
    const mounts = this.#server.mounts
    return this.ownsReference(uri) || mounts.some(({ server }) => server.features.resources.knowsReference(uri))
  }

  /** True if any template has completers. */
  get completes(): boolean {
    return this.#templates.enabled().some(({ template }) => template.options.complete !== undefined)
  }

  /** Returns the completer of a variable, if it has one. Throws if the template or variable does not exist. */
  completer(uri: string, variable: string, ctx: Context): Completer | undefined {
    const entry = this.#templates.get(uri)
    const resource = entry ? undefined : this.#resources.get(normalizeUri(uri))
    checkAccess(ctx.call, (entry ?? resource)?.config.requiredScopes)
    // A plain resource has no variables, which is not an error.
    if (resource) return undefined
    if (!entry?.enabled) throw invalidParams('Unknown resource template')
    if (!entry.template.uriTemplate.variableNames.includes(variable)) throw unknownArgument(entry.name)
    const named = entry.template.options.complete
    if (!named || !Object.hasOwn(named, variable)) return undefined
    const completer = toCompleter(named[variable]!)
    return this.hasScoped ? this.#withoutGuarded(completer, entry.template, variable) : completer
  }

  /** Leaves out suggestions that name a resource which the caller may not read: one with scopes of its own. */
  #withoutGuarded(completer: Completer, { uriTemplate }: ResourceTemplate, variable: string): Completer {
    return async (typed, context, ctx) => {
      const found = await completer(typed, context, ctx)
      const { values, hasMore } = toPage(found)
      if (!Array.isArray(values)) return found
      const allowed = values.filter((value) => {
        const uri = uriTemplate.expand({ ...context.arguments, [variable]: value })
        return mayUse(ctx, { requiredScopes: this.requiredScopesOf(uri) })
      })
      // Without the total, which would count them.
      return allowed.length === values.length ? found : { values: allowed, hasMore }
    }
  }

  #find(uri: string): { config: ResourceConfig; read: (uri: URL, ctx: Context) => unknown } | undefined {
    const resource = this.#resources.get(normalizeUri(uri)) ?? this.#findScoped(uri)
    // A disabled resource does not exist, even if a template matches its URI.
    if (resource) return resource.enabled ? resource : undefined
    for (const { template, config, read } of this.#templates.enabled()) {
      const variables = template.uriTemplate.match(uri)
      if (variables && !escapesTemplate(uri, variables))
        return { config, read: (url, ctx) => read(url, variables, ctx) }
    }
    return undefined
  }

  /** Templates decode their values, so without this they would serve a resource under another spelling without its scopes. */
  #findScoped(uri: string): ResourceEntry | undefined {
    this.#scopedByText ??= new Map(
      this.#resources
        .all()
        .filter(({ config }) => config.requiredScopes)
        .map((entry) => [decodedText(entry.definition.uri), entry]),
    )
    return this.#scopedByText.size === 0 ? undefined : this.#scopedByText.get(decodedText(uri))
  }

  #all(ctx: Context, hides = this.#server.hideUnauthorized): Resource[] | Promise<Resource[]> {
    const visible = this.#resources.enabled().filter(({ config }) => isListed(ctx, config, hides))
    const own = visible.map(({ definition }) => definition)
    if (this.listVaries(hides)) return this.#allDynamic(own, ctx, hides)
    const mounted = this.#server.mounts.flatMap(
      ({ server }) => server.features.resources.#all(ctx, hides || undefined) as Resource[],
    )
    return uniqueBy([...own, ...mounted], ({ uri }) => uri)
  }

  async #allDynamic(own: Resource[], ctx: Context, hides: boolean): Promise<Resource[]> {
    // A template with required scopes is listed, but the resources it lists are shown only to callers who may read them.
    const usable = this.#templates.enabled().filter(({ config }) => mayUse(ctx, config))
    const listed = await Promise.all(
      usable.map(async ({ template, config }) => {
        const answer = (await template.options.list?.(ctx)) ?? []
        const resources = Array.isArray(answer) ? answer : answer.resources
        return resources.map((resource) => ({ ...describeResource(config), ...resource }))
      }),
    )
    const mounted = await Promise.all(
      this.#server.mounts.map(({ server }) => server.features.resources.#all(ctx, hides || undefined)),
    )
    return uniqueBy([...own, ...listed.flat(), ...mounted.flat()], ({ uri }) => uri)
  }
}

interface AnyTemplateChanges extends ResourceConfig {
  name?: string | undefined
  template?: ResourceTemplate<never> | undefined
  read?: ((uri: URL, variables: never, ctx: Context) => Awaitable<ReadReturn>) | undefined
}

function parseUri(uri: string): URL {
  if (!isUri(uri)) throw invalidParams('params.uri is not a valid URI')
  return new URL(uri)
}

/** Turns what a read function returned into a result. Undefined means that the resource does not exist. */
export function toReadResult(
  server: Pick<FeatureServer, 'reportError'>,
  returned: unknown,
  uri: string,
  { ttlMs, cacheScope, mimeType }: ResourceConfig,
): ReadResourceResult | undefined {
  if (returned === undefined || returned === null) return undefined
  const result = isResultWith(returned, 'contents') ? returned : { contents: [toContents(server, returned, uri)] }
  const contents = result.contents as ResourceContents[]
  for (const [index, item] of contents.entries()) {
    const problem = contentsProblem(item)
    if (problem === undefined) continue
    throw badOutput(server, `Reading ${uri} returned an invalid result: contents[${index}]${problem}`)
  }
  return {
    ...(ttlMs !== undefined && { ttlMs }),
    ...(cacheScope !== undefined && { cacheScope }),
    ...result,
    contents: contents.map((item) => withMimeType(item, mimeType)),
  }
}

function toContents(server: Pick<FeatureServer, 'reportError'>, value: unknown, uri: string): ResourceContents {
  if (typeof value === 'string') return { uri, text: value }
  if (value instanceof Uint8Array) return { uri, blob: toBase64(value) }
  throw badOutput(server, `Reading ${uri} returned ${describeType(value)}. Return { contents }, text or bytes.`)
}

function withMimeType(item: ResourceContents, mimeType: string | undefined): ResourceContents {
  return item.mimeType !== undefined || mimeType === undefined ? item : { ...item, mimeType }
}

function toBase64(bytes: Uint8Array): string {
  let binary = ''
  for (let at = 0; at < bytes.length; at += 0x8000) binary += String.fromCharCode(...bytes.subarray(at, at + 0x8000))
  return btoa(binary)
}
