import type { ToolResult } from 'tenon/client'
import { safeJson } from 'tenon/internal'
import { exitCodes } from '../exit-codes.ts'
import type { Output } from '../output.ts'
import { type ContentFlags, ContentWriter } from './show-content.ts'

/** Prints the result of a tool. If the tool failed, the exit code becomes 1. */
export function showToolResult(result: ToolResult, output: Output, flags: ContentFlags, name: string): void {
  const { content, structuredContent, isError = false } = result
  const writer = new ContentWriter(output, flags, name)
  for (const block of content) writer.block(block)
  const hasText = content.some(({ type }) => type === 'text')
  if (output.isJson) {
    const structured = structuredContent === undefined ? {} : { structuredContent }
    output.printJson({ isError, content, ...structured, files: writer.files })
  } else if (structuredContent !== undefined && !hasText) output.print(safeJson(structuredContent))
  if (!isError) return
  process.exitCode = exitCodes.error
  if (!output.isJson) output.note(output.notePaint.warning('tenon: The tool answered with an error.'))
}
