import type { JsonSchema } from '../schema/json-schema.ts'
import type { JsonObject } from '../util/objects.ts'
import type { RequestParams, Result } from './base.ts'
import type { CacheHints } from './caching.ts'
import type { ContentBlock } from './content.ts'
import type { Icon } from './icons.ts'
import type { InputResponseParams } from './input.ts'
import type { Meta } from './meta.ts'
import type { PaginatedResult } from './pagination.ts'
import type { TaskAugmentation } from './task-augmentation.ts'

/** A JSON Schema whose root describes an object. */
export interface JsonObjectSchema extends JsonSchema {
  type: 'object'
  properties?: { [name: string]: unknown }
  required?: string[]
}

/** A tool that a server offers. */
export interface Tool {
  name: string
  /** Since 2025-06-18. */
  title?: string
  description?: string
  inputSchema: JsonObjectSchema
  /** Since 2025-06-18; its root describes an object until 2025-11-25, any schema since 2026-07-28. */
  outputSchema?: JsonSchema
  /** Since 2025-03-26. */
  annotations?: ToolAnnotations
  /** 2025-11-25 only. */
  execution?: ToolExecution
  /** Since 2025-11-25. */
  icons?: Icon[]
  /** Since 2025-06-18. */
  _meta?: Meta
}

/** Hints about the behaviour of a tool. Do not rely on them for security. Since 2025-03-26. */
export interface ToolAnnotations {
  title?: string | undefined
  /** The tool does not modify its environment. Default: false. */
  readOnlyHint?: boolean | undefined
  /** The tool may make destructive changes. Default: true. */
  destructiveHint?: boolean | undefined
  /** Repeating a call with the same arguments has no further effect. Default: false. */
  idempotentHint?: boolean | undefined
  /** The tool interacts with external systems. Default: true. */
  openWorldHint?: boolean | undefined
}

/** How a tool can be run. 2025-11-25 only. */
export interface ToolExecution {
  /** Default: `forbidden`. */
  taskSupport?: 'forbidden' | 'optional' | 'required' | undefined
}

/** Result of `tools/list`. */
export interface ListToolsResult extends PaginatedResult, CacheHints {
  tools: Tool[]
}

/** Params of `tools/call`. */
export interface CallToolParams extends RequestParams, InputResponseParams, TaskAugmentation {
  name: string
  arguments?: JsonObject
}

/** Result of `tools/call`, also when the tool itself failed. */
export interface CallToolResult extends Result {
  content: ContentBlock[]
  /** An object since 2025-06-18, any JSON value since 2026-07-28. */
  structuredContent?: unknown
  isError?: boolean
}
