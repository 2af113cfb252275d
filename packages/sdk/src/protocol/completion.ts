import type { RequestParams, Result } from './base.ts'

/** Identifies the prompt whose argument is completed. */
export interface PromptReference {
  type: 'ref/prompt'
  name: string
  /** Since 2025-06-18. */
  title?: string
}

/** Identifies the resource template whose variable is completed. */
export interface ResourceTemplateReference {
  type: 'ref/resource'
  /** The URI template, or a URI. */
  uri: string
}

/** Params of `completion/complete`. */
export interface CompleteParams extends RequestParams {
  ref: PromptReference | ResourceTemplateReference
  argument: {
    name: string
    /** The text to complete. */
    value: string
  }
  /** Since 2025-06-18. */
  context?: {
    /** The values of other arguments. */
    arguments?: { [name: string]: string }
  }
}

/** Result of `completion/complete`. */
export interface CompleteResult extends Result {
  completion: {
    /** At most 100, best match first. */
    values: string[]
    total?: number
    hasMore?: boolean
  }
}
