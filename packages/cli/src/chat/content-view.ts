import type { ContentBlock, GetPromptResult, ReadResourceResult } from 'tenon'
import type { HostToolResult } from 'tenon/host'
import { safeJson, safeLine } from 'tenon/internal'
import { wrap } from '../columns.ts'
import { type Output, quote } from '../output.ts'

/** The result of a tool. Everything that a server sent has a bar in front. */
export function viewToolResult(result: HostToolResult, output: Output): string[] {
  const { content, structuredContent, isError, findings } = result
  const hasText = content.some(({ type }) => type === 'text')
  return [
    ...findings.flatMap(({ severity, message, excerpt }) =>
      warning(`${severity === 'high' ? 'Suspicious' : 'Note'}: ${message} »${excerpt}«`, output),
    ),
    ...(isError ? warning('The tool answered with an error:', output) : []),
    ...content.flatMap((block) => viewBlock(block, output)),
    ...(structuredContent !== undefined && !hasText ? quoted(safeJson(structuredContent), output) : []),
    ...(content.length === 0 && structuredContent === undefined ? [output.paint.faint('(no content)')] : []),
  ]
}

/** The contents of a resource. */
export function viewResource({ contents }: ReadResourceResult, output: Output): string[] {
  return contents.flatMap((item) => {
    const text = 'text' in item ? item.text : undefined
    const title = [item.uri, item.mimeType].filter(Boolean).join('  ')
    const body = typeof text === 'string' ? quoted(text, output) : [binary(item, output)]
    return [output.paint.faint(safeLine(title, 2_000)), ...body]
  })
}

/** The messages of a prompt. */
export function viewPrompt({ messages }: GetPromptResult, output: Output): string[] {
  return messages.flatMap(({ role, content }) => [output.paint.faint(safeLine(role)), ...viewBlock(content, output)])
}

/** Text of a server or a model. */
export function quoted(text: string, { width, paint }: Output): string[] {
  return quote(text, width, paint, maxShownChars)
}

const maxShownChars = 20_000

function viewBlock(block: ContentBlock, output: Output): string[] {
  switch (block.type) {
    case 'text':
      return quoted(block.text, output)
    case 'image':
    case 'audio':
      return [binary({ blob: block.data, mimeType: block.mimeType }, output)]
    case 'resource_link':
      return quoted(`${block.name ?? ''} ${block.uri}`.trim(), output)
    case 'resource':
      return viewResource({ contents: [block.resource] } as ReadResourceResult, output)
    default:
      return quoted(safeJson(block), output)
  }
}

function binary({ blob, mimeType }: { blob?: unknown; mimeType?: string | undefined }, { paint }: Output): string {
  const bytes = typeof blob === 'string' ? Math.floor((blob.length * 3) / 4) : 0
  return paint.faint(`(${safeLine(mimeType ?? 'binary data', 100)}, about ${bytes} bytes, not shown)`)
}

function warning(text: string, { width, paint }: Output): string[] {
  return wrap(`! ${safeLine(text, 1_000)}`, width).map((line) => paint.warning(line))
}
