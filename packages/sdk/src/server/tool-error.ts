import type { ContentBlock } from '../protocol/content.ts'

/** Options of a `ToolError`. */
export interface ToolErrorOptions extends ErrorOptions {
  /** Data for programs, such as an error code. It need not match the `outputSchema` of the tool. */
  structuredContent?: Record<string, unknown> | undefined
}

/**
 * Throw it in a tool to tell the model what went wrong, as text or content blocks. `maskErrors` does not hide it.
 * @example
 * throw new ToolError('Too many rows: ask for 10 at most.', { structuredContent: { code: 'TOO_MANY', limit: 10 } })
 */
export class ToolError extends Error {
  override name = 'ToolError'
  readonly content: ContentBlock[]
  readonly structuredContent: Record<string, unknown> | undefined

  constructor(content: string | ContentBlock[], options?: ToolErrorOptions) {
    super(typeof content === 'string' ? content : 'Tool failed', options)
    this.content = typeof content === 'string' ? [{ type: 'text', text: content }] : content
    this.structuredContent = options?.structuredContent
  }
}
