import { McpError } from '../errors.ts'
import type { RequestOptions } from '../jsonrpc/pending.ts'
import { describeIssues } from '../schema/issues.ts'
import type { InferOutput, SchemaLike } from '../schema/standard.ts'
import { createValidator, type Validate } from '../schema/validate.ts'
import type { ToolResult } from './results.ts'

export interface ToolCallOptions<Out extends SchemaLike | undefined> extends RequestOptions {
  /**
   * What you expect as `structuredContent`: any Standard Schema, `{ a: z.number() }`, or a JSON Schema. The result is checked
   * against it and typed by it, and has the values that the schema returns. Default: not checked by a schema of yours.
   */
  outputSchema?: Out | undefined
}

/** The type of `structuredContent` with an output schema. */
export type StructuredOutput<Out> = Out extends SchemaLike ? InferOutput<Out> : unknown

const validators = new WeakMap<object, Validate>()

/** Replaces the structured content of a result by what a schema makes of it. A failed call has none. */
export async function readStructured(tool: string, result: ToolResult, schema: SchemaLike): Promise<void> {
  if (result.isError) return
  if (result.structuredContent === undefined) {
    throw new McpError('invalid-output', `The tool ${tool} returned no structured content, but outputSchema expects it`)
  }
  const validate = validators.get(schema) ?? createValidator(schema)
  validators.set(schema, validate)
  const checked = await validate(result.structuredContent)
  if (checked.issues) {
    throw new McpError(
      'invalid-output',
      `The tool ${tool} returned structured content that does not match outputSchema: ${describeIssues(checked.issues)}`,
    )
  }
  result.structuredContent = checked.value
}
