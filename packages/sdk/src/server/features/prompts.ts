import { checkAccess } from '../../era/access.ts'
import { ProtocolError, RpcCode } from '../../errors.ts'
import type { Params, ResultObject } from '../../jsonrpc/message.ts'
import { blockProblem, kindOf } from '../../protocol/content.ts'
import type { Icon } from '../../protocol/icons.ts'
import { isInputRequired } from '../../protocol/input-check.ts'
import type { Meta, ResultMeta } from '../../protocol/meta.ts'
import type { GetPromptResult, Prompt, PromptArgument, PromptMessage } from '../../protocol/prompts.ts'
import type { Outcome } from '../../replay/conversation.ts'
import { describeIssues } from '../../schema/issues.ts'
import type { InferOutput, SchemaLike } from '../../schema/standard.ts'
import { compileSchema, type UserSchema } from '../../schema/user-schema.ts'
import { isObject } from '../../util/objects.ts'
import type { Context } from '../context.ts'
import type { McpServer } from '../mcp-server.ts'
import { type Completer, type CompleterLike, completerOf, toCompleter, unknownArgument } from './completion.ts'
import {
  badOutput,
  checkItem,
  defined,
  type FeatureHost,
  findMount,
  type Guarded,
  type InputRequired,
  isHideable,
  isListed,
  isResultWith,
  prefixed,
  type Settled,
  uniqueBy,
} from './feature.ts'
import { type Registered, Registry } from './registry.ts'

export interface PromptConfig<Args> extends Guarded {
  title?: string | undefined
  description?: string | undefined
  /** The arguments, all of them strings on the wire. */
  argsSchema?: Args | undefined
  /** Suggestions by argument name, for schemas that cannot carry `completable`. */
  complete?: Record<string, CompleterLike> | undefined
  icons?: Icon[] | undefined
  _meta?: Meta | undefined
}

/** The full result of a prompt, as handlers return it. */
export interface PromptOutput {
  description?: string | undefined
  messages: PromptMessage[]
  _meta?: ResultMeta | undefined
}

/** A prompt may return its messages, or plain text as a single message of the user. */
export type PromptReturn = string | PromptOutput | InputRequired

export type PromptHandler<Args> = (args: InferOutput<Args>, ctx: Context) => Settled<PromptReturn>

/** What `update` may change. */
export interface PromptChanges<Args> extends PromptConfig<Args> {
  name?: string | undefined
  handler?: PromptHandler<Args> | undefined
}

/** A registered prompt: change it, disable it or remove it. */
export interface RegisteredPrompt<Args extends SchemaLike | undefined = SchemaLike | undefined> extends Registered {
  /** Changes the prompt. A new handler is typed by the schema given with it, else by that of the registration. */
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

export class Prompts {
  readonly #host: FeatureHost
  readonly #entries: Registry<Entry>
  /** Kept until something is registered: lists are asked for often. */
  #hasGuarded: boolean | undefined

  constructor(host: FeatureHost) {
    this.#host = host
    this.#entries = new Registry('prompt', () => {
      this.#hasGuarded = undefined
      host.changed('prompts')
    })
  }

  register(name: string, config: PromptConfig<SchemaLike>, handler: AnyHandler): RegisteredPrompt {
    return this.#entries.register<AnyChanges>(
      compilePrompt(name, config, handler, true),
      (entry, { name = entry.name, handler = entry.handler, ...changes }) =>
        compilePrompt(name, { ...entry.config, ...changes }, handler, entry.enabled),
    )
  }

  get present(): boolean {
    return this.#entries.used || this.#host.mounts.some(({ server }) => server.features.prompts.present)
  }

  /** @param hides Whether to leave out what the caller may not use; passed on to mounted servers if true. */
  definitions(ctx: Context, hides = this.#host.hideUnauthorized): Prompt[] {
    const listed = this.#entries.enabled().filter(({ config }) => isListed(ctx, config, hides))
    const own = listed.map(({ definition }) => definition)
    const mounted = this.#host.mounts.flatMap(({ prefix, server }) => {
      const prompts = server.features.prompts.definitions(ctx, hides || undefined)
      return prompts.map((prompt) => ({ ...prompt, name: prefixed(prefix, prompt.name) }))
    })
    return mounted.length === 0 ? own : uniqueBy([...own, ...mounted], ({ name }) => name)
  }

  /** Whether callers see different lists, so that none can be kept for all. */
  listVaries(hides = this.#host.hideUnauthorized): boolean {
    this.#hasGuarded ??= this.#entries.enabled().some(({ config }) => config.requiredScopes)
    const own = this.#hasGuarded && this.#entries.enabled().some(({ config }) => isHideable(config, hides))
    return own || this.#host.mounts.some(({ server }) => server.features.prompts.listVaries(hides || undefined))
  }

  list(params: Params, ctx: Context): Outcome {
    return this.#host.pages.list('prompts', this.definitions(ctx), ({ name }) => name, params)
  }

  async get(params: Params, ctx: Context): Promise<ResultObject> {
    const name = params.name as string
    const entry = this.#entries.get(name)
    if (entry?.enabled) return this.#render(entry, params.arguments ?? {}, ctx)
    const mount = this.mountOf(name)
    if (!mount) throw unknownPrompt(name)
    return mount.server.server.delegate('prompts/get', { ...params, name: mount.name }, ctx)
  }

  has(name: string): boolean {
    return this.#entries.get(name) !== undefined || findMount(this.#host.mounts, name, hasPrompt) !== undefined
  }

  /** The mounted server that a prompt belongs to, if it is not an own one. */
  mountOf(name: string): { server: McpServer; name: string } | undefined {
    return this.#entries.get(name) ? undefined : findMount(this.#host.mounts, name, hasPrompt)
  }

  /** Who completes an argument: undefined when nobody does. Throws when there is no such prompt or argument. */
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

  get completes(): boolean {
    return this.#entries.enabled().some(({ config, definition, args }) => {
      const names = definition.arguments?.map(({ name }) => name) ?? []
      return config.complete !== undefined || names.some((name) => completerOf(args?.property(name)))
    })
  }

  async #render(entry: Entry, args: unknown, ctx: Context): Promise<ResultObject> {
    checkAccess(ctx.call, entry.config.requiredScopes)
    const checked = entry.args ? await entry.args.validate(args) : { value: {} }
    if (checked.issues) {
      const text = `Invalid arguments for prompt ${entry.name}: ${describeIssues(checked.issues)}`
      throw new ProtocolError(RpcCode.InvalidParams, text)
    }
    const returned = await entry.handler(checked.value as never, ctx)
    if (isInputRequired(returned)) return returned
    if (isResultWith(returned, 'messages')) {
      const problem = messagesProblem(returned.messages as unknown[])
      if (problem !== undefined)
        throw badOutput(this.#host, `The prompt ${entry.name} returned an invalid result: ${problem}`)
      const { description } = entry.definition
      return { ...(description !== undefined && { description }), ...returned } as GetPromptResult
    }
    if (typeof returned !== 'string') {
      const what = `returned ${kindOf(returned)}; return { messages } or text`
      throw badOutput(this.#host, `The prompt ${entry.name} ${what}`)
    }
    return { messages: [{ role: 'user', content: { type: 'text', text: returned } }] }
  }
}

function compilePrompt(name: string, config: PromptConfig<SchemaLike>, handler: AnyHandler, enabled: boolean): Entry {
  if (name === '') throw new TypeError('A prompt needs a name')
  if (typeof handler !== 'function')
    throw new TypeError(`Prompt ${name}: the handler, last of three, must be a function`)
  checkItem(`Prompt ${name}`, config)
  const { argsSchema, title, description, icons, _meta } = config
  const args = argsSchema && compileSchema(argsSchema, 'input')
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

/** What is wrong with the messages of a prompt, or undefined. */
function messagesProblem(messages: readonly unknown[]): string | undefined {
  for (const [index, message] of messages.entries()) {
    const { role, content } = isObject(message) ? message : {}
    if (role !== 'user' && role !== 'assistant') return `messages[${index}].role must be "user" or "assistant"`
    const problem = blockProblem(content)
    if (problem !== undefined) return `messages[${index}].content${problem}`
  }
  return undefined
}

function hasPrompt(server: McpServer, name: string): boolean {
  return server.features.prompts.has(name)
}

function unknownPrompt(name: string): ProtocolError {
  return new ProtocolError(RpcCode.InvalidParams, `Unknown prompt: ${name.slice(0, 200)}`)
}
