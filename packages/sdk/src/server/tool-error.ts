import type { ContentBlock } from '../protocol/content.ts'

/** Throw it in a tool to tell the model what went wrong, as text or content blocks. `maskErrors` does not hide it. */
export class ToolError extends Error {
  override name = 'ToolError'
  readonly content: ContentBlock[]

  constructor(content: string | ContentBlock[], options?: ErrorOptions) {
    super(typeof content === 'string' ? content : 'Tool failed', options)
    this.content = typeof content === 'string' ? [{ type: 'text', text: content }] : content
  }
}
