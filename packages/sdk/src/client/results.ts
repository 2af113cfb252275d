import type { CallToolResult, ContentBlock, ResultMeta, TextContent } from '../protocol/types.ts'
import { isObject } from '../util/objects.ts'

/** What a tool answered; `text` joins its text blocks. */
export class ToolResult implements CallToolResult {
  declare content: ContentBlock[]
  declare structuredContent?: unknown
  declare isError?: boolean
  declare _meta?: ResultMeta;
  [key: string]: unknown

  /** @param onMalformed Is told what is wrong with blocks that are left out: a server may send anything. */
  constructor(result: CallToolResult, onMalformed?: (problem: string) => void) {
    for (const key in result) if (key !== '__proto__' && key !== 'text') this[key] = result[key]
    if (!Array.isArray(this.content)) this.content = []
    if (this.content.some((block) => blockProblem(block) !== undefined)) {
      this.content = this.content.filter((block) => {
        const problem = blockProblem(block)
        if (problem !== undefined) onMalformed?.(problem)
        return problem === undefined
      })
    }
  }

  get text(): string {
    return this.content
      .filter((block): block is TextContent => block?.type === 'text' && typeof block.text === 'string')
      .map((block) => block.text)
      .join('\n')
  }
}

/** Says what is wrong with a content block, or nothing. Types that we do not know may come from later revisions. */
function blockProblem(block: unknown): string | undefined {
  if (!isObject(block) || typeof block.type !== 'string') return 'a block has no type'
  switch (block.type) {
    case 'text':
      return typeof block.text === 'string' ? undefined : 'a text block has no text'
    case 'image':
    case 'audio':
      if (typeof block.data !== 'string') return `an ${block.type} block has no data`
      return typeof block.mimeType === 'string' ? undefined : `an ${block.type} block has no mimeType`
    case 'resource_link':
      return typeof block.uri === 'string' ? undefined : 'a resource_link block has no uri'
    case 'resource':
      return isObject(block.resource) && typeof block.resource.uri === 'string'
        ? undefined
        : 'a resource block has no resource with a uri'
    default:
      return undefined
  }
}
