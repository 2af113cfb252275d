import type * as z from 'zod/v4'
import type { CacheHint } from '../core/cache-hints.ts'
import type { ServerContext } from '../core/context.ts'
import type { StandardSchemaWithJSON } from '../core/standard-schema.ts'
import type {
  CallToolResult,
  GetPromptResult,
  Icon,
  InputRequiredResult,
  ListResourcesResult,
  ReadResourceResult,
  Resource,
  Result,
  ToolAnnotations,
  ToolExecution,
} from '../core/types.ts'
import type { ResourceTemplate, Variables } from './resource-template.ts'
import type { ScopeChallengeHandler } from './scope-challenge.ts'

type Awaitable<T> = T | Promise<T>

/** Fields by name, in place of an object schema. */
export type ZodRawShape = Record<string, z.ZodType>
export type InferRawShape<S extends ZodRawShape> = z.infer<z.ZodObject<S>>

/** A handler with the validated arguments and the context, or with the context only if the tool has no input. */
export type BaseToolCallback<
  SendResultT extends Result,
  Ctx extends ServerContext,
  Args extends StandardSchemaWithJSON | undefined,
> = Args extends StandardSchemaWithJSON
  ? (args: StandardSchemaWithJSON.InferOutput<Args>, ctx: Ctx) => Awaitable<SendResultT>
  : (ctx: Ctx) => Awaitable<SendResultT>

export type ToolCallback<Args extends StandardSchemaWithJSON | undefined = undefined> = BaseToolCallback<
  CallToolResult | InputRequiredResult,
  ServerContext,
  Args
>
export type AnyToolHandler<Args extends StandardSchemaWithJSON | undefined = undefined> = ToolCallback<Args>
export type LegacyToolCallback<Args extends ZodRawShape> = (
  args: InferRawShape<Args>,
  ctx: ServerContext,
) => Awaitable<CallToolResult | InputRequiredResult>

export type PromptCallback<Args extends StandardSchemaWithJSON | undefined = undefined> =
  Args extends StandardSchemaWithJSON
    ? (
        args: StandardSchemaWithJSON.InferOutput<Args>,
        ctx: ServerContext,
      ) => Awaitable<GetPromptResult | InputRequiredResult>
    : (ctx: ServerContext) => Awaitable<GetPromptResult | InputRequiredResult>
export type LegacyPromptCallback<Args extends ZodRawShape> = (
  args: InferRawShape<Args>,
  ctx: ServerContext,
) => Awaitable<GetPromptResult | InputRequiredResult>

export type ResourceMetadata = Omit<Resource, 'uri' | 'name'>
export type ListResourcesCallback = (ctx: ServerContext) => Awaitable<ListResourcesResult>
export type ReadResourceCallback = (uri: URL, ctx: ServerContext) => Awaitable<ReadResourceResult | InputRequiredResult>
export type ReadResourceTemplateCallback = (
  uri: URL,
  variables: Variables,
  ctx: ServerContext,
) => Awaitable<ReadResourceResult | InputRequiredResult>

interface Switchable {
  enabled: boolean
  enable(): void
  disable(): void
  remove(): void
}

export interface RegisteredTool extends Switchable {
  title?: string
  description?: string
  inputSchema?: StandardSchemaWithJSON
  outputSchema?: StandardSchemaWithJSON
  outputSchemaJson?: Record<string, unknown>
  annotations?: ToolAnnotations
  icons?: Icon[]
  execution?: ToolExecution
  scopeChallenge?: ScopeChallengeHandler
  _meta?: Record<string, unknown>
  handler: AnyToolHandler<StandardSchemaWithJSON | undefined>
  executor: (args: unknown, ctx: ServerContext) => Promise<CallToolResult | InputRequiredResult>
  update(updates: {
    name?: string | null
    title?: string
    description?: string
    paramsSchema?: StandardSchemaWithJSON
    outputSchema?: StandardSchemaWithJSON
    annotations?: ToolAnnotations
    icons?: Icon[]
    scopeChallenge?: ScopeChallengeHandler
    _meta?: Record<string, unknown>
    callback?: ToolCallback<StandardSchemaWithJSON>
    enabled?: boolean
  }): void
}

export interface RegisteredPrompt extends Switchable {
  title?: string
  description?: string
  argsSchema?: StandardSchemaWithJSON
  icons?: Icon[]
  scopeChallenge?: ScopeChallengeHandler
  _meta?: Record<string, unknown>
  handler: (
    args: Record<string, unknown> | undefined,
    ctx: ServerContext,
  ) => Promise<GetPromptResult | InputRequiredResult>
  update<Args extends StandardSchemaWithJSON>(updates: {
    name?: string | null
    title?: string
    description?: string
    argsSchema?: Args
    icons?: Icon[]
    scopeChallenge?: ScopeChallengeHandler
    _meta?: Record<string, unknown>
    callback?: PromptCallback<Args>
    enabled?: boolean
  }): void
}

export interface RegisteredResource extends Switchable {
  name: string
  title?: string
  metadata?: ResourceMetadata
  cacheHint?: CacheHint
  scopeChallenge?: ScopeChallengeHandler
  readCallback: ReadResourceCallback
  update(updates: {
    name?: string
    title?: string
    uri?: string | null
    metadata?: ResourceMetadata
    scopeChallenge?: ScopeChallengeHandler
    callback?: ReadResourceCallback
    enabled?: boolean
  }): void
}

export interface RegisteredResourceTemplate extends Switchable {
  resourceTemplate: ResourceTemplate
  title?: string
  metadata?: ResourceMetadata
  cacheHint?: CacheHint
  scopeChallenge?: ScopeChallengeHandler
  readCallback: ReadResourceTemplateCallback
  update(updates: {
    name?: string | null
    title?: string
    template?: ResourceTemplate
    metadata?: ResourceMetadata
    scopeChallenge?: ScopeChallengeHandler
    callback?: ReadResourceTemplateCallback
    enabled?: boolean
  }): void
}
