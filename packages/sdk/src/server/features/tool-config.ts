import type { ContentBlock } from '../../protocol/content.ts'
import type { Icon } from '../../protocol/icons.ts'
import type { Meta, ResultMeta } from '../../protocol/meta.ts'
import type { ToolAnnotations, ToolExecution } from '../../protocol/tools.ts'
import type { InferInput, InferOutput, SchemaLike } from '../../schema/standard.ts'
import type { Context } from '../context.ts'
import type { TaskPolicy } from '../task-runtime.ts'
import type { AccessOptions, Awaitable, InputRequired } from './feature.ts'
import type { Registered } from './registry.ts'

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
