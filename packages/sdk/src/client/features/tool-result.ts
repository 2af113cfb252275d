import { McpError } from '../../errors.ts'
import type { RequestOptions } from '../../jsonrpc/pending.ts'
import type { ResultType } from '../../protocol/base.ts'
import type { ContentBlock, TextContent } from '../../protocol/content.ts'
import type { ResultMeta } from '../../protocol/meta.ts'
import type { Tool, ToolAnnotations } from '../../protocol/tools.ts'
import { describeIssues } from '../../schema/issues.ts'
import type { InferOutput, SchemaLike } from '../../schema/standard.ts'
import { createValidator, type Validate } from '../../schema/user-schema.ts'
import type { JsonObject } from '../../util/objects.ts'
import { receivedBlockProblem } from './received-content.ts'

/** The result of a tool call. */
export type ToolResult<Structured = unknown> = {
  content: ContentBlock[]
  /** Absent if the tool failed (`isError`). */
  structuredContent?: Structured
  isError?: boolean
  _meta?: ResultMeta
  resultType?: ResultType
  /** The text blocks, joined by line breaks. */
  readonly text: string
}

/**
 * Makes a `ToolResult` of what the server sent.
 * @param onMalformed Receives a description of each invalid content block, which is left out.
 */
export function toToolResult(result: JsonObject, onMalformed?: (problem: string) => void): ToolResult {
  return new ReceivedResult(result, onMalformed)
}

class ReceivedResult {
  declare content: ContentBlock[]

  constructor(result: JsonObject, onMalformed: ((problem: string) => void) | undefined) {
    for (const key in result) if (key !== '__proto__' && key !== 'text') (this as JsonObject)[key] = result[key]
    if (!Array.isArray(this.content)) this.content = []
    if (this.content.some((block) => receivedBlockProblem(block) !== undefined)) {
      this.content = this.content.filter((block) => {
        const problem = receivedBlockProblem(block)
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

/** Options of `callTool`. */
export interface ToolCallOptions<Out extends SchemaLike | undefined> extends RequestOptions {
  /**
   * The schema of `structuredContent`: a Standard Schema, a shape such as `{ a: z.number() }`, or a JSON Schema. The client
   * checks the result against it, and types it. Default: only the output schema of the tool is checked.
   */
  outputSchema?: Out | undefined
}

/** The type of `structuredContent` with an output schema. */
export type StructuredOutput<Out> = Out extends SchemaLike ? InferOutput<Out> : unknown

const validators = new WeakMap<object, Validate>()

/** Validates structured content, and replaces it by the output of the schema. Results with `isError` are not checked. */
export async function readStructured(tool: string, result: ToolResult, schema: SchemaLike): Promise<void> {
  if (result.isError) return
  if (result.structuredContent === undefined) {
    throw new McpError(
      'invalid-output',
      `The tool "${tool}" returned no structured content, but outputSchema requires it`,
    )
  }
  const validate = validators.get(schema) ?? createValidator(schema)
  validators.set(schema, validate)
  const checked = await validate(result.structuredContent)
  if (checked.issues) {
    throw new McpError(
      'invalid-output',
      `The tool "${tool}" returned structured content that does not match outputSchema: ${describeIssues(checked.issues)}`,
    )
  }
  result.structuredContent = checked.value
}

/** Returns the name of a tool to show to users: its title, the title of its annotations, or its name. */
export function getDisplayName(tool: Pick<Tool, 'name' | 'title' | 'annotations'>): string {
  return tool.title ?? tool.annotations?.title ?? tool.name
}

/** Returns the behaviour hints of a tool, with defaults for missing ones. Do not rely on hints of untrusted servers. */
export function hintsOf({ annotations = {} }: Pick<Tool, 'annotations'>): Required<Omit<ToolAnnotations, 'title'>> {
  return {
    readOnlyHint: annotations.readOnlyHint ?? false,
    destructiveHint: annotations.destructiveHint ?? true,
    idempotentHint: annotations.idempotentHint ?? false,
    openWorldHint: annotations.openWorldHint ?? true,
  }
}
