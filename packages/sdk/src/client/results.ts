import type { CallToolResult, ContentBlock, ResultMeta, TextContent } from '../protocol/types.ts'

/** What a tool answered; `text` joins its text blocks. */
export class ToolResult implements CallToolResult {
  declare content: ContentBlock[]
  declare structuredContent?: unknown
  declare isError?: boolean
  declare _meta?: ResultMeta;
  [key: string]: unknown

  constructor(result: CallToolResult) {
    for (const key in result) if (key !== '__proto__' && key !== 'text') this[key] = result[key]
    if (!Array.isArray(this.content)) this.content = []
  }

  get text(): string {
    return this.content
      .filter((block): block is TextContent => block?.type === 'text' && typeof block.text === 'string')
      .map((block) => block.text)
      .join('\n')
  }
}
