import { checkAccess } from '../../era/access.ts'
import { invalidParams, type ProtocolError } from '../../errors.ts'
import type { Params, ResultObject } from '../../jsonrpc/message.ts'
import { blockProblem, type ContentBlock, describeType } from '../../protocol/content.ts'
import type { Icon } from '../../protocol/icons.ts'
import { isInputRequired } from '../../protocol/input-check.ts'
import type { Meta, ResultMeta } from '../../protocol/meta.ts'
import type { Prompt, PromptArgument, PromptMessage } from '../../protocol/prompts.ts'
import { isUri } from '../../protocol/uri.ts'
import type { Outcome } from '../../replay/conversation.ts'
import { describeIssues } from '../../schema/issues.ts'
import type { InferOutput, SchemaLike } from '../../schema/standard.ts'
import { compileSchema, type UserSchema } from '../../schema/user-schema.ts'
import { isObject } from '../../util/objects.ts'
import { checkOptions } from '../../util/unknown-options.ts'
import type { Context } from '../context.ts'
import type { McpServer } from '../mcp-server.ts'
import { type Completer, type CompleterLike, completerOf, toCompleter, unknownArgument } from './completion.ts'
import {
  type AccessOptions,
  type Awaitable,
  badOutput,
  checkItem,
  defined,
  type FeatureServer,
  findMount,
  type InputRequired,
  isHideable,
  isListed,
  isResultWith,
  prefixed,
  uniqueBy,
} from './feature.ts'
import { type Registered, Registry } from './registry.ts'

/** The definition of a prompt. */
export interface PromptConfig<Args> extends AccessOptions {
  title?: string | undefined
  description?: string | undefined
  /** The arguments. All of them are strings in the protocol. */
  argsSchema?: Args | undefined
  /** Suggestions by argument name, for schemas that do not support `completable`. */
  complete?: Record<string, CompleterLike> | undefined
  icons?: Icon[] | undefined
  _meta?: Meta | undefined
}

/** The full result of a prompt handler. */
export interface PromptOutput {
  description?: string | undefined
  messages: PromptMessage[]
  _meta?: ResultMeta | undefined
}

/** What a prompt may return: a full result, or text as a single user message. */
export type PromptReturn = string | PromptOutput | InputRequired

/** The handler of a prompt. */
export type PromptHandler<Args> = (args: InferOutput<Args>, ctx: Context) => Awaitable<PromptReturn>

/** What `update` may change. */
export interface PromptChanges<Args> extends PromptConfig<Args> {
  name?: string | undefined
  handler?: PromptHandler<Args> | undefined
}

/** A registered prompt: change it, disable it or remove it. */
export interface RegisteredPrompt<Args extends SchemaLike | undefined = SchemaLike | undefined> extends Registered {
  /** Changes the prompt. A new handler is typed by the schema passed with it, or by the registered one. */
  update<NewArgs extends SchemaLike | undefined = Args>(changes: PromptChanges<NewArgs>): void
}

interface AnyChanges extends PromptConfig<SchemaLike> {
  name?: string | undefined
  handler?: AnyHandler | undefined
}

interface Entry {
  key: string
  name: string
  enabled: boolean
  definition: Prompt
  args: UserSchema | undefined
  handler: AnyHandler
  config: PromptConfig<SchemaLike>
}

type AnyHandler = (args: never, ctx: Context) => unknown

/** The prompts feature. */
export class Prompts {
  readonly #server: FeatureServer
  readonly #entries: Registry<Entry>
  /** Cached until the next registration, because lists are requested often. */
  #hasScoped: boolean | undefined

  constructor(server: FeatureServer) {
    this.#server = server
    this.#entries = new Registry('prompt', () => {
      this.#hasScoped = undefined
      server.changed('prompts')
    })
  }

  register(name: string, config: PromptConfig<SchemaLike>, handler: AnyHandler): RegisteredPrompt {
    return this.#entries.register<AnyChanges>(
      this.#compile(name, config, handler, true),
      (entry, { name = entry.name, handler = entry.handler, ...changes }) =>
        this.#compile(name, { ...entry.config, ...changes }, handler, entry.enabled),
    )
  }

  #compile(name: string, config: PromptConfig<SchemaLike>, handler: AnyHandler, enabled: boolean): Entry {
    return compilePrompt(name, config, handler, { enabled, compileJsonSchema: this.#server.compileJsonSchema })
  }

  /** True if the capability is declared. */
  get present(): boolean {
    return this.#entries.used || this.#server.mounts.some(({ server }) => server.features.prompts.present)
  }

  /** @param hides Whether to hide prompts from callers without their scopes. Passed on to mounted servers if true. */
  definitions(ctx: Context, hides = this.#server.hideUnauthorized): Prompt[] {
    const listed = this.#entries.enabled().filter(({ config }) => isListed(ctx, config, hides))
    const own = listed.map(({ definition }) => definition)
    const mounted = this.#server.mounts.flatMap(({ prefix, server }) => {
      const prompts = server.features.prompts.definitions(ctx, hides || undefined)
      return prompts.map((prompt) => ({ ...prompt, name: prefixed(prefix, prompt.name) }))
    })
    return mounted.length === 0 ? own : uniqueBy([...own, ...mounted], ({ name }) => name)
  }

  /** Returns whether callers may see different lists, so that the list cannot be cached for all. */
  listVaries(hides = this.#server.hideUnauthorized): boolean {
    this.#hasScoped ??= this.#entries.enabled().some(({ config }) => config.requiredScopes)
    const own = this.#hasScoped && this.#entries.enabled().some(({ config }) => isHideable(config, hides))
    return own || this.#server.mounts.some(({ server }) => server.features.prompts.listVaries(hides || undefined))
  }

  /** Serves `prompts/list`. */
  list(params: Params, ctx: Context): Outcome {
    return this.#server.pages.list('prompts', this.definitions(ctx), ({ name }) => name, params)
  }

  /** Serves `prompts/get`. */
  async get(params: Params, ctx: Context): Promise<ResultObject> {
    const name = params.name as string
    const entry = this.#entries.get(name)
    if (entry?.enabled) return this.#render(entry, params.arguments ?? {}, ctx)
    const mount = this.mountOf(name)
    if (!mount) throw unknownPrompt(name)
    return mount.server.server.delegate('prompts/get', { ...params, name: mount.name }, ctx)
  }

  /** Returns whether a prompt exists here or in a mounted server. */
  has(name: string): boolean {
    return this.#entries.get(name) !== undefined || findMount(this.#server.mounts, name, hasPrompt) !== undefined
  }

  /** Returns the mounted server that a prompt belongs to, if it is not registered here. */
  mountOf(name: string): { server: McpServer; name: string } | undefined {
    return this.#entries.get(name) ? undefined : findMount(this.#server.mounts, name, hasPrompt)
  }

  /** Returns the completer of an argument, if it has one. Throws if the prompt or argument does not exist. */
  completer(name: string, argument: string, ctx: Context): Completer | undefined {
    const entry = this.#entries.get(name)
    if (!entry?.enabled) throw unknownPrompt(name)
    checkAccess(ctx.call, entry.config.requiredScopes)
    if (!entry.definition.arguments?.some((known) => known.name === argument)) {
      throw unknownArgument(name)
    }
    const named = entry.config.complete
    if (named && Object.hasOwn(named, argument)) return toCompleter(named[argument]!)
    return completerOf(entry.args?.property(argument))
  }

  /** True if any argument has a completer. */
  get completes(): boolean {
    return this.#entries.enabled().some(({ config, definition, args }) => {
      const names = definition.arguments?.map(({ name }) => name) ?? []
      return config.complete !== undefined || names.some((name) => completerOf(args?.property(name)))
    })
  }

  /** A prompt may not hand out a resource to a caller who may not read it. */
  #checkEmbedded(messages: readonly PromptMessage[], ctx: Context): void {
    for (const { content } of messages)
      if (content.type === 'resource') checkAccess(ctx.call, this.#server.requiredScopesOf(content.resource.uri))
  }

  async #render(entry: Entry, args: unknown, ctx: Context): Promise<ResultObject> {
    checkAccess(ctx.call, entry.config.requiredScopes)
    const checked = entry.args ? await entry.args.validate(args) : { value: {} }
    if (checked.issues) {
      const text = `Invalid arguments for prompt ${entry.name}: ${describeIssues(checked.issues)}${hintAtText(entry.args!)}`
      throw invalidParams(text)
    }
    const returned = await entry.handler(checked.value as never, ctx)
    if (isInputRequired(returned)) return returned
    if (isResultWith(returned, 'messages')) {
      const problem = messagesProblem(returned.messages as unknown[])
      if (problem !== undefined)
        throw badOutput(this.#server, `Prompt "${entry.name}" returned an invalid result: ${problem}`)
      this.#checkEmbedded(returned.messages as PromptMessage[], ctx)
      const { description } = entry.definition
      const messages = (returned.messages as PromptMessage[]).map(withResourceType)
      return { ...(description !== undefined && { description }), ...returned, messages } as ResultObject
    }
    if (typeof returned !== 'string') {
      throw badOutput(
        this.#server,
        `Prompt "${entry.name}" returned ${describeType(returned)}. Return { messages } or text.`,
      )
    }
    return { messages: [{ role: 'user', content: { type: 'text', text: returned } }] }
  }
}

function compilePrompt(
  name: string,
  config: PromptConfig<SchemaLike>,
  handler: AnyHandler,
  { enabled, compileJsonSchema }: Pick<FeatureServer, 'compileJsonSchema'> & { enabled: boolean },
): Entry {
  if (name === '') throw new TypeError('A prompt requires a name')
  if (typeof handler !== 'function')
    throw new TypeError(`Prompt "${name}": the third argument, the handler, must be a function`)
  checkItem(`Prompt "${name}"`, config)
  checkOptions<PromptConfig<never>>(`Prompt "${name}"`, config, knownOptions)
  const { argsSchema, title, description, icons, _meta } = config
  const args = argsSchema && compileSchema(argsSchema, 'input', compileJsonSchema)
  const definition = defined<Prompt>({
    name,
    title,
    description,
    arguments: args && toArguments(args),
    icons,
    _meta,
  })
  return { key: name, name, enabled, definition, args, handler, config }
}

/** A schema such as `z.number()` rejects every value, because clients send text. */
function hintAtText({ json }: UserSchema): string {
  const isText = !/"type":"(?:num|int|bool)/.test(JSON.stringify(json))
  return isText ? '' : '. Prompt arguments are text: convert them with z.coerce'
}

const knownOptions = {
  title: 1,
  description: 1,
  argsSchema: 1,
  complete: 1,
  icons: 1,
  _meta: 1,
  requiredScopes: 1,
  hideUnauthorized: 1,
} as const

function toArguments({ json }: UserSchema): PromptArgument[] {
  const required = Array.isArray(json.required) ? json.required : []
  return Object.entries(isObject(json.properties) ? json.properties : {}).map(([name, schema]) => {
    const { title, description } = isObject(schema) ? schema : {}
    return defined<PromptArgument>({
      name,
      title: typeof title === 'string' ? title : undefined,
      description: typeof description === 'string' ? description : undefined,
      required: required.includes(name),
    })
  })
}

/** 2025-11-25 prompts, embedded resources: a MIME type is required, though optional in the schema. */
function withResourceType(message: PromptMessage): PromptMessage {
  const { content } = message
  if (content.type !== 'resource' || content.resource.mimeType !== undefined) return message
  const mimeType = 'blob' in content.resource ? 'application/octet-stream' : 'text/plain'
  return { ...message, content: { ...content, resource: { ...content.resource, mimeType } } }
}

/** Returns the problem with the messages of a prompt, if there is one. */
function messagesProblem(messages: readonly unknown[]): string | undefined {
  for (const [index, message] of messages.entries()) {
    const { role, content } = isObject(message) ? message : {}
    if (role !== 'user' && role !== 'assistant') return `messages[${index}].role must be "user" or "assistant"`
    const problem = blockProblem(content)
    if (problem !== undefined) return `messages[${index}].content${problem}`
    const { type, resource } = content as ContentBlock & { resource?: { uri: string } }
    if (type === 'resource' && !isUri(resource!.uri)) return `messages[${index}].content.resource.uri is not a URI`
  }
  return undefined
}

function hasPrompt(server: McpServer, name: string): boolean {
  return server.features.prompts.has(name)
}

function unknownPrompt(name: string): ProtocolError {
  return invalidParams(`Unknown prompt: ${name.slice(0, 200)}`)
}
