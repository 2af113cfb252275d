import type { ToolTaskHandler } from '../experimental/tasks/interfaces.ts'
import type {
  CallToolResult,
  GetPromptResult,
  ListResourcesResult,
  ReadResourceResult,
  Resource,
  Result,
  ServerNotification,
  ServerRequest,
  ToolAnnotations,
  ToolExecution,
} from '../generated/protocol-types.ts'
import type { RequestHandlerExtra } from '../shared/protocol.ts'
import type { Variables } from '../shared/uriTemplate.ts'
import type { AnyObjectSchema, AnySchema, SchemaOutput, ShapeOutput, ZodRawShapeCompat } from '../shared/zod-reading.ts'
import type { ResourceTemplate } from './resource-template.ts'

/** `extra` of the handlers of a server. */
export type ServerExtra = RequestHandlerExtra<ServerRequest, ServerNotification>

/** A callback of a tool: with its arguments if it has an input schema. */
export type BaseToolCallback<
  SendResultT extends Result,
  Extra extends ServerExtra,
  Args extends undefined | ZodRawShapeCompat | AnySchema,
> = Args extends ZodRawShapeCompat
  ? (args: ShapeOutput<Args>, extra: Extra) => SendResultT | Promise<SendResultT>
  : Args extends AnySchema
    ? (args: SchemaOutput<Args>, extra: Extra) => SendResultT | Promise<SendResultT>
    : (extra: Extra) => SendResultT | Promise<SendResultT>

/** Runs a tool. Returns `structuredContent` if the tool has an output schema. */
export type ToolCallback<Args extends undefined | ZodRawShapeCompat | AnySchema = undefined> = BaseToolCallback<
  CallToolResult,
  ServerExtra,
  Args
>

/** Runs a tool, at once or as a task. */
export type AnyToolHandler<Args extends undefined | ZodRawShapeCompat | AnySchema = undefined> =
  | ToolCallback<Args>
  | ToolTaskHandler<Args>

/** A registered tool. Change it with `update`. */
export type RegisteredTool = {
  title?: string | undefined
  description?: string | undefined
  inputSchema?: AnySchema | undefined
  outputSchema?: AnySchema | undefined
  annotations?: ToolAnnotations | undefined
  execution?: ToolExecution | undefined
  _meta?: Record<string, unknown> | undefined
  handler: AnyToolHandler<undefined | ZodRawShapeCompat>
  enabled: boolean
  enable(): void
  disable(): void
  update<InputArgs extends ZodRawShapeCompat, OutputArgs extends ZodRawShapeCompat>(updates: {
    name?: string | null
    title?: string
    description?: string
    paramsSchema?: InputArgs
    outputSchema?: OutputArgs
    annotations?: ToolAnnotations
    _meta?: Record<string, unknown>
    callback?: ToolCallback<InputArgs>
    enabled?: boolean
  }): void
  remove(): void
}

/** What describes a resource besides its URI and name. */
export type ResourceMetadata = Omit<Resource, 'uri' | 'name'>

/** Lists the resources of a template. */
export type ListResourcesCallback = (extra: ServerExtra) => ListResourcesResult | Promise<ListResourcesResult>

/** Reads a resource. */
export type ReadResourceCallback = (uri: URL, extra: ServerExtra) => ReadResourceResult | Promise<ReadResourceResult>

/** A registered resource. Change it with `update`. */
export type RegisteredResource = {
  name: string
  title?: string | undefined
  metadata?: ResourceMetadata | undefined
  readCallback: ReadResourceCallback
  enabled: boolean
  enable(): void
  disable(): void
  update(updates: {
    name?: string
    title?: string
    uri?: string | null
    metadata?: ResourceMetadata
    callback?: ReadResourceCallback
    enabled?: boolean
  }): void
  remove(): void
}

/** Reads a resource of a template. */
export type ReadResourceTemplateCallback = (
  uri: URL,
  variables: Variables,
  extra: ServerExtra,
) => ReadResourceResult | Promise<ReadResourceResult>

/** A registered resource template. Change it with `update`. */
export type RegisteredResourceTemplate = {
  resourceTemplate: ResourceTemplate
  title?: string | undefined
  metadata?: ResourceMetadata | undefined
  readCallback: ReadResourceTemplateCallback
  enabled: boolean
  enable(): void
  disable(): void
  update(updates: {
    name?: string | null
    title?: string
    template?: ResourceTemplate
    metadata?: ResourceMetadata
    callback?: ReadResourceTemplateCallback
    enabled?: boolean
  }): void
  remove(): void
}

/** The arguments of a prompt. */
export type PromptArgsRawShape = ZodRawShapeCompat

/** Returns the messages of a prompt: with its arguments if it has any. */
export type PromptCallback<Args extends undefined | PromptArgsRawShape = undefined> = Args extends PromptArgsRawShape
  ? (args: ShapeOutput<Args>, extra: ServerExtra) => GetPromptResult | Promise<GetPromptResult>
  : (extra: ServerExtra) => GetPromptResult | Promise<GetPromptResult>

/** A registered prompt. Change it with `update`. */
export type RegisteredPrompt = {
  title?: string | undefined
  description?: string | undefined
  argsSchema?: AnyObjectSchema | undefined
  callback: PromptCallback<undefined | PromptArgsRawShape>
  enabled: boolean
  enable(): void
  disable(): void
  update<Args extends PromptArgsRawShape>(updates: {
    name?: string | null
    title?: string
    description?: string
    argsSchema?: Args
    callback?: PromptCallback<Args>
    enabled?: boolean
  }): void
  remove(): void
}

/** Registered items by name or URI. Programs read and change them, so they are plain objects. */
export type Registry<T> = { [key: string]: T }

/** Finds a registered item. Names of clients may be those of members that every object has. */
export function find<T>(registry: Registry<T>, key: string): T | undefined {
  return Object.hasOwn(registry, key) ? registry[key] : undefined
}

/** Moves an item to another key, or removes it. Returns the key it has then. */
export function move<T>(registry: Registry<T>, key: string, to: string | null | undefined): string {
  if (to === undefined || to === key) return key
  const item = registry[key]
  delete registry[key]
  if (!to || item === undefined) return key
  registry[to] = item
  return to
}
