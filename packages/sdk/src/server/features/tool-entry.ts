import type { ContentBlock } from '../../protocol/content.ts'
import { isSecret } from '../../protocol/form.ts'
import type { Icon } from '../../protocol/icons.ts'
import type { Meta, ResultMeta } from '../../protocol/meta.ts'
import { findMirroredArguments, type MirroredArgument } from '../../protocol/mirrored-headers.ts'
import type { JsonObjectSchema, Tool, ToolAnnotations, ToolExecution } from '../../protocol/tools.ts'
import { headerAnnotationProblem } from '../../protocol/x-mcp-header.ts'
import type { InferInput, InferOutput, SchemaLike } from '../../schema/standard.ts'
import { compileSchema, type Direction, type UserSchema } from '../../schema/user-schema.ts'
import { checkOptions } from '../../util/unknown-options.ts'
import { warnOnce } from '../../util/warn.ts'
import type { Context } from '../context.ts'
import { checkPolicy, type TaskPolicy } from '../task-runtime.ts'
import {
  type AccessOptions,
  type Awaitable,
  checkItem,
  defined,
  type FeatureServer,
  type InputRequired,
} from './feature.ts'
import type { Registered } from './registry.ts'

/** A registered tool with its compiled schemas. */
export interface ToolEntry {
  key: string
  name: string
  enabled: boolean
  definition: Tool
  input: UserSchema | undefined
  output: UserSchema | undefined
  /** Arguments that HTTP headers mirror. */
  mirrored: readonly MirroredArgument[]
  /** The root of the output schema is not an object, so clients of earlier revisions get `{ result }`. */
  wrapsOutput: boolean
  handler: AnyToolHandler
  config: ToolConfig<SchemaLike, SchemaLike>
}

/** A handler whose types were checked at registration. */
export type AnyToolHandler = (args: never, ctx: Context) => unknown

interface CompileToolOptions extends Pick<FeatureServer, 'hasTasks' | 'compileJsonSchema'> {
  enabled: boolean
}

/** Checks a tool and compiles its schemas. */
export function compileTool(
  name: string,
  config: ToolConfig<SchemaLike, SchemaLike>,
  handler: AnyToolHandler,
  { enabled, hasTasks, compileJsonSchema }: CompileToolOptions,
): ToolEntry {
  checkTaskSupport(name, config.execution?.taskSupport, hasTasks)
  checkName(name)
  if (typeof handler !== 'function')
    throw new TypeError(`Tool "${name}": the third argument, the handler, must be a function`)
  checkItem(`Tool "${name}"`, config)
  checkOptions<ToolConfig<never, never>>(`Tool "${name}"`, config, knownOptions)
  checkOptions<ToolAnnotations>(`Tool "${name}", annotations`, config.annotations ?? {}, knownHints)
  const { inputSchema, outputSchema, title, description, annotations, execution, icons, _meta } = config
  const compile = (schema: SchemaLike, direction: Direction) =>
    inTool(name, `${direction}Schema`, () => compileSchema(schema, direction, compileJsonSchema))
  const input = inputSchema && compile(inputSchema, 'input')
  const output = outputSchema && compile(outputSchema, 'output')
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
  if (config.taskPolicy !== undefined) checkPolicy(config.taskPolicy, `Tool "${name}": taskPolicy`)
  const problem = headerAnnotationProblem(definition.inputSchema)
  if (problem !== undefined) throw new TypeError(`Tool "${name}", inputSchema: ${problem}`)
  const mirrored = findMirroredArguments(definition.inputSchema)
  warnAboutSecrets(name, mirrored)
  const wrapsOutput = output !== undefined && output.json.type !== 'object'
  return { key: name, name, enabled, definition, input, output, mirrored, wrapsOutput, handler, config }
}

const knownOptions = {
  title: 1,
  description: 1,
  inputSchema: 1,
  outputSchema: 1,
  annotations: 1,
  icons: 1,
  execution: 1,
  taskPolicy: 1,
  immediateResponse: 1,
  _meta: 1,
  requiredScopes: 1,
  hideUnauthorized: 1,
} as const

const knownHints = { title: 1, readOnlyHint: 1, destructiveHint: 1, idempotentHint: 1, openWorldHint: 1 } as const

/** 2026-07-28 tools: proxies can read and log headers. */
function warnAboutSecrets(name: string, mirrored: readonly MirroredArgument[]): void {
  for (const { path } of mirrored) {
    const argument = path.join('.')
    if (!isSecret(path.at(-1)!)) continue
    warnOnce(
      `secret header ${name} ${argument}`,
      `Tool "${name}": the argument "${argument}" looks like a secret. Remove its x-mcp-header, because proxies log headers.`,
    )
  }
}

function checkTaskSupport(name: string, support: unknown, hasTasks: boolean): void {
  if (support === undefined || support === 'forbidden' || support === 'optional') return
  if (support !== 'required') {
    throw new TypeError(`Tool "${name}": execution.taskSupport must be 'required', 'optional' or 'forbidden'`)
  }
  if (hasTasks) return
  throw new TypeError(
    `Tool "${name}": taskSupport 'required' requires a server with tasks: new McpServer(info, { tasks: tasks() })`,
  )
}

/** Adds the name of the tool to errors. */
function inTool<T>(name: string, what: string, work: () => T): T {
  try {
    return work()
  } catch (error) {
    throw new TypeError(`Tool "${name}", ${what}: ${(error as Error).message}`, { cause: error })
  }
}

/** All revisions require `type: "object"` at the root of an input schema. */
function objectSchema(name: string, schema: Record<string, unknown>): JsonObjectSchema {
  if (schema.type !== undefined && schema.type !== 'object') {
    throw new TypeError(
      `Tool "${name}", inputSchema: the root must have type "object", not ${JSON.stringify(schema.type)}. Name the arguments: { value: ... }`,
    )
  }
  return { type: 'object', ...(schema.properties === undefined && { properties: {} }), ...schema }
}

function checkName(name: string): void {
  if (name === '') throw new TypeError('A tool requires a name')
  if (!/^[A-Za-z0-9_.-]{1,128}$/.test(name)) {
    warnOnce(
      `tool-name ${name}`,
      `Tool name ${JSON.stringify(name)}: use 1 to 128 letters, digits, underscores, hyphens and dots, or some hosts reject it.`,
    )
  }
}

/**
 * 2026-07-28 tools: the recommended schema of a tool without parameters. Several model APIs require `properties`.
 */
const noInput: JsonObjectSchema = { type: 'object', properties: {}, additionalProperties: false }

/** The definition of a tool. */
export interface ToolConfig<In, Out> extends AccessOptions {
  title?: string | undefined
  description?: string | undefined
  /** The arguments: any Standard Schema, a shape such as `{ a: z.number() }`, or a JSON Schema. Default: no arguments. */
  inputSchema?: In | undefined
  /** The structured result. Results are validated against it. */
  outputSchema?: Out | undefined
  annotations?: ToolAnnotations | undefined
  icons?: Icon[] | undefined
  /** `taskSupport` says whether calls may, must or must not run as tasks, if the server has `tasks`. Default: must not. */
  execution?: ToolExecution | undefined
  /** When a call of a 2026-07-28 client becomes a task. Default: the option of `tasks()`; always if tasks are required. */
  taskPolicy?: TaskPolicy | undefined
  /**
   * Text for the model as soon as a call becomes a task, so that it can continue in the meantime, for example 'The report is
   * being written.' Used by clients of 2025-11-25.
   */
  immediateResponse?: string | undefined
  _meta?: Meta | undefined
}

/** The full result of a tool handler. */
export interface ToolOutput {
  content: ContentBlock[]
  structuredContent?: unknown
  isError?: boolean | undefined
  _meta?: ResultMeta | undefined
}

/** What a tool may return: a full result; with an output schema, the value; without one, text or nothing. */
export type ToolReturn<Out> =
  // biome-ignore lint/suspicious/noConfusingVoidType: a handler that returns nothing is fine
  ToolOutput | InputRequired | (Out extends SchemaLike ? InferInput<Out> : string | void)

/** The handler of a tool. */
export type ToolHandler<In, Out> = (args: InferOutput<In>, ctx: Context) => Awaitable<ToolReturn<Out>>

/**
 * Rejects handlers that return a result with unknown fields, such as `contents`. Compilers do not find such typos in the return
 * value of a callback.
 */
export type WithoutTypos<Handler, Out> = Handler extends (...args: never) => infer Returned
  ? [TyposIn<Awaited<Returned>, Out>] extends [never]
    ? unknown
    : { [K in TyposIn<Awaited<Returned>, Out>]: `${K} is not a field of a tool result` }
  : unknown

type TyposIn<Result, Out> = Result extends { content: unknown }
  ? Result extends (Out extends SchemaLike ? InferInput<Out> : never)
    ? never
    : // A CallToolResult may have any field. The result of a client has `text`, which is not sent.
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
  /** Changes the tool. A new handler is typed by the schemas passed with it, or by the registered ones. */
  update<
    NewIn extends SchemaLike | undefined = In,
    NewOut extends SchemaLike | undefined = Out,
    Handler extends ToolHandler<NewIn, NewOut> = ToolHandler<NewIn, NewOut>,
  >(changes: ToolChanges<NewIn, NewOut, Handler>): void
}
