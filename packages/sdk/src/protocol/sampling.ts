import type { JsonObject } from '../util/objects.ts'
import type { RequestParams, Result } from './base.ts'
import type { AudioContent, ContentBlock, ImageContent, Role, TextContent } from './content.ts'
import type { Meta } from './meta.ts'
import type { TaskAugmentation } from './task-augmentation.ts'
import type { Tool } from './tools.ts'

/** Params of `sampling/createMessage`. */
export interface CreateMessageParams extends RequestParams, TaskAugmentation {
  messages: SamplingMessage[]
  maxTokens: number
  modelPreferences?: ModelPreferences
  systemPrompt?: string
  /** Values other than `none` are discouraged since 2025-11-25 and deprecated in 2026-07-28. */
  includeContext?: 'none' | 'thisServer' | 'allServers'
  temperature?: number
  stopSequences?: string[]
  /** Metadata for the model provider. */
  metadata?: JsonObject
  /** Since 2025-11-25. */
  tools?: Tool[]
  /** Since 2025-11-25. */
  toolChoice?: ToolChoice
}

/** Result of `sampling/createMessage`. */
export interface CreateMessageResult extends Result {
  role: Role
  /** One block; a list since 2025-11-25. */
  content: SamplingContent | SamplingContent[]
  model: string
  /** `toolUse` since 2025-11-25. */
  stopReason?: 'endTurn' | 'stopSequence' | 'maxTokens' | 'toolUse' | (string & {})
}

/** A message to or from a model. */
export interface SamplingMessage {
  role: Role
  /** One block; a list since 2025-11-25. */
  content: SamplingContent | SamplingContent[]
  /** Since 2025-11-25. */
  _meta?: Meta
}

/** Content of sampling messages. */
export type SamplingContent = TextContent | ImageContent | AudioContent | ToolUseContent | ToolResultContent

/** A tool call by the model during sampling. Since 2025-11-25. */
export interface ToolUseContent {
  type: 'tool_use'
  id: string
  name: string
  input: JsonObject
  _meta?: Meta
}

/** The result of a tool call during sampling. Since 2025-11-25. */
export interface ToolResultContent {
  type: 'tool_result'
  /** The `id` of the {@link ToolUseContent} that this is the result of. */
  toolUseId: string
  content: ContentBlock[]
  /** An object in 2025-11-25, any JSON value since 2026-07-28. */
  structuredContent?: unknown
  isError?: boolean
  _meta?: Meta
}

/** Preferences for the choice of a model; the client decides. */
export interface ModelPreferences {
  /** The first match wins. */
  hints?: ModelHint[]
  /** From 0 to 1. */
  costPriority?: number
  /** From 0 to 1. */
  speedPriority?: number
  /** From 0 to 1. */
  intelligencePriority?: number
}

/** Part of the name of a model, for example `sonnet`. */
export interface ModelHint {
  name?: string
}

/** Whether the model may or must use tools. Since 2025-11-25. */
export interface ToolChoice {
  /** Default: `auto`. */
  mode?: 'auto' | 'required' | 'none'
}
