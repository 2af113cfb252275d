import { McpError } from '../../errors.ts'
import type { RequestOptions } from '../../jsonrpc/pending.ts'
import { describeIssues } from '../../schema/issues.ts'
import type { InferOutput, SchemaLike } from '../../schema/standard.ts'
import { createValidator, type Validate } from '../../schema/validate.ts'
import type { ToolResult } from './tool-result.ts'

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
