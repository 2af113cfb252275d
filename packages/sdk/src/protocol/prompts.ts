import type { RequestParams, Result } from './base.ts'
import type { CacheHints } from './caching.ts'
import type { ContentBlock, Role } from './content.ts'
import type { Icon } from './icons.ts'
import type { InputResponseParams } from './input.ts'
import type { Meta } from './meta.ts'
import type { PaginatedResult } from './pagination.ts'

/** A prompt that a server offers. */
export interface Prompt {
  name: string
  /** Since 2025-06-18. */
  title?: string
  description?: string
  arguments?: PromptArgument[]
  /** Since 2025-11-25. */
  icons?: Icon[]
  /** Since 2025-06-18. */
  _meta?: Meta
}

/** One argument of a prompt. */
export interface PromptArgument {
  name: string
  /** Since 2025-06-18. */
  title?: string
  description?: string
  required?: boolean
}

/** One message of a prompt. */
export interface PromptMessage {
  role: Role
  content: ContentBlock
}

/** Result of `prompts/list`. */
export interface ListPromptsResult extends PaginatedResult, CacheHints {
  prompts: Prompt[]
}

/** Params of `prompts/get`. */
export interface GetPromptParams extends RequestParams, InputResponseParams {
  name: string
  arguments?: { [name: string]: string }
}

/** Result of `prompts/get`. */
export interface GetPromptResult extends Result {
  description?: string
  messages: PromptMessage[]
}
