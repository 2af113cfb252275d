import type { ContentBlock } from '../protocol/content.ts'

/** Throw it in a tool to tell the model what went wrong, in words or in content blocks. Never masked. */
export class ToolError extends Error {
  override name = 'ToolError'
  readonly content: ContentBlock[]

  constructor(content: string | ContentBlock[], options?: ErrorOptions) {
    super(typeof content === 'string' ? content : 'The tool failed', options)
    this.content = typeof content === 'string' ? [{ type: 'text', text: content }] : content
  }
}
