import { checkAccess } from '../../era/access.ts'
import { CapabilityError, ProtocolError, RpcCode, Suspended } from '../../errors.ts'
import type { Params } from '../../jsonrpc/message.ts'
import type { ContentBlock } from '../../protocol/content.ts'
import { contentListProblem, kindOf } from '../../protocol/content.ts'
import { isSecret } from '../../protocol/form.ts'
import type { Icon } from '../../protocol/icons.ts'
import { isInputRequired } from '../../protocol/input-check.ts'
import type { JsonObjectSchema } from '../../protocol/json-schema.ts'
import type { Meta, ResultMeta } from '../../protocol/meta.ts'
import {
  findMirroredArguments,
  type HeaderReader,
  type MirroredArgument,
  mirroredArgumentsProblem,
} from '../../protocol/mirrored-headers.ts'
import type { CallToolResult, Tool, ToolAnnotations, ToolExecution } from '../../protocol/tools.ts'
import { headerAnnotationProblem } from '../../protocol/x-mcp-header.ts'
import type { Outcome } from '../../replay/conversation.ts'
import { describeIssues } from '../../schema/issues.ts'
import type { InferInput, InferOutput, SchemaLike, StandardResult } from '../../schema/standard.ts'
import { compileSchema, type UserSchema } from '../../schema/user-schema.ts'
import { jsonProblem } from '../../util/json-problem.ts'
import { chain, isThenable, toPromise } from '../../util/maybe-async.ts'
import { isObject } from '../../util/objects.ts'
import { warnOnce } from '../../util/warn.ts'
import type { Context } from '../context.ts'
import type { McpServer } from '../mcp-server.ts'
import { checkPolicy, type TaskPolicy, type ToolTaskConfig } from '../task-runtime.ts'
import { ToolError } from '../tool-error.ts'
import {
  checkItem,
  defined,
  type FeatureHost,
  findMount,
  type Guarded,
  type InputRequired,
  isHideable,
  isListed,
  prefixed,
  type Settled,
  uniqueBy,
} from './feature.ts'
import { type Registered, Registry } from './registry.ts'

export interface ToolConfig<In, Out> extends Guarded {
  title?: string | undefined
  description?: string | undefined
  /** What the tool takes: any Standard Schema, `{ a: z.number() }`, or a JSON Schema. Default: nothing. */
  inputSchema?: In | undefined
  /** What the tool returns; results are checked against it. */
  outputSchema?: Out | undefined
  annotations?: ToolAnnotations | undefined
  icons?: Icon[] | undefined
  /** `taskSupport` says whether calls may, must or must not run as tasks, where the server has `tasks`. Default: must not. */
  execution?: ToolExecution | undefined
  /** When clients of 2026-07-28 get a task. Default: as `tasks()` says, and always where tasks are required. */
  taskPolicy?: TaskPolicy | undefined
  /**
   * What the client may tell its model as soon as a call became a task, so that the model can go on meanwhile: 'The report is being
   * written.' Clients of 2025-11-25 only.
   */
  immediateResponse?: string | undefined
  _meta?: Meta | undefined
}

/** The full result of a tool, as handlers return it. */
export interface ToolOutput {
  content: ContentBlock[]
  structuredContent?: unknown
  isError?: boolean | undefined
  _meta?: ResultMeta | undefined
}

/** What a tool may return: a full result, or with an output schema the plain value, or without one text or nothing. */
export type ToolReturn<Out> =
  // biome-ignore lint/suspicious/noConfusingVoidType: a handler that returns nothing is fine
  ToolOutput | InputRequired | (Out extends SchemaLike ? InferInput<Out> : string | void)

/** A handler of a tool, to be written apart from its registration. */
export type ToolHandler<In, Out> = (args: InferOutput<In>, ctx: Context) => Settled<ToolReturn<Out>>

/**
 * What a handler must be in addition: anything, unless a result that it returns has fields which no tool result has.
 * Compilers do not find such typos in what a callback returns.
 */
export type WithoutTypos<Handler, Out> = Handler extends (...args: never) => infer Returned
  ? [TyposIn<Awaited<Returned>, Out>] extends [never]
    ? unknown
    : { [K in TyposIn<Awaited<Returned>, Out>]: `${K} is not a field of a tool result` }
  : unknown

type TyposIn<Result, Out> = Result extends { content: unknown }
  ? Result extends (Out extends SchemaLike ? InferInput<Out> : never)
    ? never
    : // A CallToolResult may have any field. The result of a client has a `text`, which is not sent.
      string extends keyof Result
      ? never
      : Exclude<keyof Result, keyof ToolOutput | 'resultType' | 'text'> & string
  : never

/** What `update` may change. */
export interface ToolChanges<In, Out, Handler = ToolHandler<In, Out>> extends ToolConfig<In, Out> {
  name?: string | undefined
  handler?: (ToolHandler<In, Out> & Handler & WithoutTypos<Handler, Out>) | undefined
}

/** A registered tool: change it, disable it or remove it. */
export interface RegisteredTool<
  In extends SchemaLike | undefined = SchemaLike | undefined,
  Out extends SchemaLike | undefined = SchemaLike | undefined,
> extends Registered {
  /** Changes the tool. A new handler is typed by the schemas given with it, else by those of the registration. */
  update<
    NewIn extends SchemaLike | undefined = In,
    NewOut extends SchemaLike | undefined = Out,
    Handler extends ToolHandler<NewIn, NewOut> = ToolHandler<NewIn, NewOut>,
  >(changes: ToolChanges<NewIn, NewOut, Handler>): void
}

interface AnyChanges extends ToolConfig<SchemaLike, SchemaLike> {
  name?: string | undefined
  handler?: AnyHandler | undefined
}

interface Entry {
  key: string
  name: string
  enabled: boolean
  definition: Tool
  input: UserSchema | undefined
  output: UserSchema | undefined
  /** Arguments that HTTP headers repeat. */
  mirrored: readonly MirroredArgument[]
  /** The root of the output schema is not an object: older revisions get it as `{ result }`. */
  wrapsOutput: boolean
  handler: AnyHandler
  config: ToolConfig<SchemaLike, SchemaLike>
}

type AnyHandler = (args: never, ctx: Context) => unknown

/**
 * 2026-07-28 tools: a tool without parameters is best described by an object that takes none. Several model APIs insist on
 * `properties`.
 */
const noInput: JsonObjectSchema = { type: 'object', properties: {}, additionalProperties: false }
const noArguments = Object.freeze({})

export class Tools {
  readonly #host: FeatureHost
  readonly #entries: Registry<Entry>
  /** Kept until something is registered: lists are asked for often. */
  #hasGuarded: boolean | undefined

  constructor(host: FeatureHost) {
    this.#host = host
    this.#entries = new Registry('tool', () => {
      this.#hasGuarded = undefined
      host.changed('tools')
    })
  }

  register(name: string, config: ToolConfig<SchemaLike, SchemaLike>, handler: AnyHandler): RegisteredTool {
    return this.#entries.register<AnyChanges>(
      this.#compile(name, config, handler, true),
      (entry, { name = entry.name, handler = entry.handler, ...changes }) =>
        this.#compile(name, { ...entry.config, ...changes }, handler, entry.enabled),
    )
  }

  #compile(...given: Parameters<typeof compileTool>): Entry {
    const [name, { execution }] = given
    checkTaskSupport(name, execution?.taskSupport, this.#host.hasTasks)
    return compileTool(...given)
  }

  /** True when a list can be asked for at all: the capability follows from it. */
  get present(): boolean {
    return this.#entries.used || this.#host.mounts.some(({ server }) => server.features.tools.present)
  }

  /**
   * What is on offer, in the order of registration, mounted servers last.
   * @param hides Whether to leave out what the caller may not use; passed on to mounted servers if true.
   */
  definitions(ctx: Context, hides = this.#host.hideUnauthorized): Tool[] {
    const listed = this.#entries.enabled().filter(({ config }) => isListed(ctx, config, hides))
    const own = listed.map(({ definition }) => definition)
    const mounted = this.#host.mounts.flatMap(({ prefix, server }) => {
      const tools = server.features.tools.definitions(ctx, hides || undefined)
      return tools.map((tool) => ({ ...tool, name: prefixed(prefix, tool.name) }))
    })
    return mounted.length === 0 ? own : uniqueBy([...own, ...mounted], ({ name }) => name)
  }

  has(name: string): boolean {
    return this.#entries.get(name) !== undefined || findMount(this.#host.mounts, name, hasTool) !== undefined
  }

  /** Whether callers see different lists, so that none can be kept for all. */
  listVaries(hides = this.#host.hideUnauthorized): boolean {
    this.#hasGuarded ??= this.#entries.enabled().some(({ config }) => config.requiredScopes)
    const own = this.#hasGuarded && this.#entries.enabled().some(({ config }) => isHideable(config, hides))
    return own || this.#host.mounts.some(({ server }) => server.features.tools.listVaries(hides || undefined))
  }

  list(params: Params, ctx: Context): Outcome {
    return this.#host.pages.list('tools', this.definitions(ctx), ({ name }) => name, params)
  }

  call(params: Params, ctx: Context): Outcome {
    const name = params.name as string
    const entry = this.#entries.get(name)
    if (entry?.enabled) return this.#check(entry, params.arguments ?? noArguments, ctx)
    const mount = entry ? undefined : findMount(this.#host.mounts, name, hasTool)
    if (mount) return mount.server.server.delegate('tools/call', { ...params, name: mount.name }, ctx)
    throw new ProtocolError(RpcCode.InvalidParams, `Unknown tool: ${name.slice(0, 200)}`)
  }

  taskConfig(params: Params): ToolTaskConfig | undefined {
    const name = params.name as string
    const entry = this.#entries.get(name)
    if (entry?.enabled) {
      const { execution, taskPolicy, immediateResponse, requiredScopes } = entry.config
      const support = execution?.taskSupport ?? 'forbidden'
      return { support, policy: taskPolicy, immediateResponse, requiredScopes }
    }
    const mount = entry ? undefined : findMount(this.#host.mounts, name, hasTool)
    return mount?.server.features.tools.taskConfig({ ...params, name: mount.name })
  }

  /** What is wrong with the headers that repeat arguments of the call, or undefined. */
  headersProblem(params: Params, headers: HeaderReader): string | undefined {
    const name = params.name as string
    const entry = this.#entries.get(name)
    if (entry) return mirroredArgumentsProblem(entry.mirrored, params.arguments, headers)
    const mount = findMount(this.#host.mounts, name, hasTool)
    return mount?.server.features.tools.headersProblem({ ...params, name: mount.name }, headers)
  }

  #check(entry: Entry, args: unknown, ctx: Context): Outcome {
    checkAccess(ctx.call, entry.config.requiredScopes)
    if (!entry.input) return this.#run(entry, noArguments, ctx)
    return chain(entry.input.validate(args), (checked) =>
      checked.issues ? this.#badArguments(entry, checked.issues, ctx) : this.#run(entry, checked.value, ctx),
    )
  }

  /** A result since 2025-11-25, so that the model can read it and try again; a protocol error before. */
  #badArguments(entry: Entry, issues: StandardResult<unknown>['issues'], ctx: Context): CallToolResult {
    const text = `Invalid arguments for tool ${entry.definition.name}: ${describeIssues(issues ?? [])}`
    if (ctx.caller.rules.argumentErrors === 'protocol') throw new ProtocolError(RpcCode.InvalidParams, text)
    return failure(text)
  }

  #run(entry: Entry, args: unknown, ctx: Context): Outcome {
    let returned: unknown
    try {
      returned = entry.handler(args as never, ctx)
    } catch (error) {
      return this.#failed(entry, error, ctx)
    }
    if (!isThenable(returned)) return this.#finish(entry, returned, ctx)
    return toPromise(returned).then(
      (value) => this.#finish(entry, value, ctx),
      (error) => this.#failed(entry, error, ctx),
    )
  }

  #failed(entry: Entry, error: unknown, ctx: Context): CallToolResult {
    if (error instanceof ProtocolError || error instanceof Suspended) throw error
    if (error instanceof CapabilityError) {
      if (ctx.caller.rules.missingCapability === 'protocol') throw error
      return failure(error.message)
    }
    if (error instanceof ToolError) return this.#complete(entry, { content: error.content, isError: true })
    if (!this.#host.maskErrors) return failure(messageOf(entry.name, error))
    this.#host.reportError(error)
    return failure(`The tool ${entry.definition.name} failed`)
  }

  #finish(entry: Entry, returned: unknown, ctx: Context): Outcome {
    if (isInputRequired(returned)) return returned
    if (isResult(returned)) {
      const isPlain = !entry.output || returned.isError
      return isPlain ? this.#complete(entry, returned) : this.#checkOutput(entry, entry.output!, returned, ctx)
    }
    if (entry.output) return this.#checkOutput(entry, entry.output, { structuredContent: returned }, ctx)
    if (typeof returned === 'string') return { content: [{ type: 'text', text: returned }] }
    if (returned === undefined) return { content: [] }
    return this.#badOutput(
      entry,
      'returned a plain value; return text or { content: [...] }, or give the tool an outputSchema',
    )
  }

  #checkOutput(entry: Entry, output: UserSchema, result: Partial<CallToolResult>, ctx: Context): Outcome {
    if (result.structuredContent === undefined) {
      return this.#badOutput(entry, 'has an outputSchema but returned no structuredContent')
    }
    return chain(output.validate(result.structuredContent), (checked): CallToolResult => {
      if (checked.issues)
        return this.#badOutput(entry, 'returned what its outputSchema refuses', `: ${describeIssues(checked.issues)}`)
      const complete = this.#complete(entry, { ...result, structuredContent: checked.value })
      const isWrapped = entry.wrapsOutput && ctx.caller.rules.objectOutput && !complete.isError
      return isWrapped ? withWrappedOutput(complete) : complete
    })
  }

  /** Structured content goes out as JSON text too, for clients that read only content (2025-06-18 tools). */
  #complete(entry: Entry, result: Partial<CallToolResult>): CallToolResult {
    const { content, structuredContent } = result
    const needsText = structuredContent !== undefined && !content?.length
    if (needsText) return this.#withText(entry, result)
    if (content === undefined) return { ...result, content: [] }
    const problem = contentListProblem(content)
    if (problem !== undefined) return this.#badOutput(entry, `returned an invalid result: ${problem}`)
    for (const { type } of content) if (type === 'resource') this.#host.embedsResource(entry.name)
    return result as CallToolResult
  }

  #withText(entry: Entry, result: Partial<CallToolResult>): CallToolResult {
    try {
      return { ...result, content: [{ type: 'text', text: JSON.stringify(result.structuredContent) }] }
    } catch {
      const problem = jsonProblem(result.structuredContent, 'structuredContent') ?? 'structuredContent is not JSON'
      return this.#badOutput(entry, `returned an invalid result: ${problem}`)
    }
  }

  /**
   * The author's mistake, not the caller's. The model reads it like any other failure of a tool.
   * @param details For `onError` alone: they may tell what was in the result.
   */
  #badOutput(entry: Entry, what: string, details = ''): CallToolResult {
    const message = `The tool ${entry.name} ${what}`
    this.#host.reportError(new TypeError(message + details))
    return failure(this.#host.maskErrors ? `The tool ${entry.name} failed` : message)
  }
}

function compileTool(
  name: string,
  config: ToolConfig<SchemaLike, SchemaLike>,
  handler: AnyHandler,
  enabled: boolean,
): Entry {
  checkName(name)
  if (typeof handler !== 'function') throw new TypeError(`Tool ${name}: the handler, last of three, must be a function`)
  checkItem(`Tool ${name}`, config)
  const { inputSchema, outputSchema, title, description, annotations, execution, icons, _meta } = config
  const input = inputSchema && inTool(name, 'inputSchema', () => compileSchema(inputSchema, 'input'))
  const output = outputSchema && inTool(name, 'outputSchema', () => compileSchema(outputSchema, 'output'))
  const definition = defined<Tool>({
    name,
    title,
    description,
    inputSchema: input ? objectSchema(name, input.json) : noInput,
    outputSchema: output?.json,
    annotations,
    execution,
    icons,
    _meta,
  })
  if (config.taskPolicy !== undefined) checkPolicy(config.taskPolicy, `Tool ${name}: taskPolicy`)
  const problem = headerAnnotationProblem(definition.inputSchema)
  if (problem !== undefined) throw new TypeError(`Tool ${name}, inputSchema: ${problem}`)
  const mirrored = findMirroredArguments(definition.inputSchema)
  lintMirrored(name, mirrored)
  const wrapsOutput = output !== undefined && output.json.type !== 'object'
  return { key: name, name, enabled, definition, input, output, mirrored, wrapsOutput, handler, config }
}

/** 2026-07-28 tools: headers are seen, and logged, by everything on the way. */
function lintMirrored(name: string, mirrored: readonly MirroredArgument[]): void {
  for (const { path } of mirrored) {
    const argument = path.join('.')
    if (!isSecret(path.at(-1)!)) continue
    warnOnce(
      `secret header ${name} ${argument}`,
      `Tool ${name}: the argument ${argument} looks sensitive. Remove its x-mcp-header: proxies log headers.`,
    )
  }
}

function checkTaskSupport(name: string, support: unknown, hasTasks: boolean): void {
  if (support === undefined || support === 'forbidden' || support === 'optional') return
  if (support !== 'required') {
    throw new TypeError(`Tool ${name}: execution.taskSupport must be 'required', 'optional' or 'forbidden'`)
  }
  if (hasTasks) return
  throw new TypeError(
    `Tool ${name}: taskSupport 'required' needs a server with tasks: new McpServer(info, { tasks: tasks() })`,
  )
}

function inTool<T>(name: string, what: string, work: () => T): T {
  try {
    return work()
  } catch (error) {
    throw new TypeError(`Tool ${name}, ${what}: ${(error as Error).message}`, { cause: error })
  }
}

/** The root of an input schema says `type: "object"` on every revision. */
function objectSchema(name: string, schema: Record<string, unknown>): JsonObjectSchema {
  if (schema.type !== undefined && schema.type !== 'object') {
    throw new TypeError(
      `Tool ${name}, inputSchema: the root must have type "object", not ${JSON.stringify(schema.type)}`,
    )
  }
  return { type: 'object', ...(schema.properties === undefined && { properties: {} }), ...schema }
}

function checkName(name: string): void {
  if (name === '') throw new TypeError('A tool needs a name')
  if (!/^[A-Za-z0-9_.-]{1,128}$/.test(name)) {
    warnOnce(
      `tool-name ${name}`,
      `Tool name ${JSON.stringify(name)}: hosts expect 1 to 128 letters, digits, underscores, hyphens and dots.`,
    )
  }
}

function hasTool(server: McpServer, name: string): boolean {
  return server.features.tools.has(name)
}

/** Anything can be thrown. What is in an object that is not an error is not for the peer. */
function messageOf(name: string, error: unknown): string {
  const isPlain = error !== undefined && typeof error !== 'object' && typeof error !== 'function'
  if (isPlain) return String(error)
  const { message } = isObject(error) ? error : {}
  if (typeof message === 'string') return message
  const members = isObject(error) ? Object.keys(error).slice(0, 20).join(', ') : ''
  return `The tool ${name} threw ${kindOf(error)} instead of an Error${members && ` (it has ${members})`}`
}

function failure(text: string): CallToolResult {
  return { content: [{ type: 'text', text }], isError: true }
}

function isResult(value: unknown): value is CallToolResult {
  if (!isObject(value)) return false
  return 'structuredContent' in value || (Array.isArray(value.content) && value.content.every(isBlock))
}

function isBlock(value: unknown): value is ContentBlock {
  return isObject(value) && typeof value.type === 'string'
}

/** Until 2025-11-25 structured content is an object, and so is the root of its schema. */
function withWrappedOutput(result: CallToolResult): CallToolResult {
  return { ...result, structuredContent: { result: result.structuredContent } }
}
