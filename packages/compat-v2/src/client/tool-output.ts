import { ProtocolError, ProtocolErrorCode } from '../core/errors.ts'
import type { JsonSchemaType, JsonSchemaValidator, jsonSchemaValidator } from '../core/json-schema.ts'
import type { CallToolResult, Tool } from '../core/types.ts'

/** The compiled output schema of a tool, or why it cannot be compiled. */
export type OutputCheck = { validate: JsonSchemaValidator<unknown> } | { problem: unknown }

/** Compiles the output schema of a tool. Undefined if it has none. */
export function compileOutput({ outputSchema }: Tool, validator: jsonSchemaValidator): OutputCheck | undefined {
  if (!outputSchema) return undefined
  try {
    return { validate: validator.getValidator(outputSchema as JsonSchemaType) }
  } catch (problem) {
    // One invalid schema must not affect other tools.
    return { problem }
  }
}

/** Throws if the output schema of a tool cannot be used. */
export function requireUsable(name: string, check: OutputCheck | undefined): void {
  if (!check || 'validate' in check) return
  const { problem } = check
  const what = (problem instanceof Error ? problem.message : String(problem)).slice(0, 200)
  throw new ProtocolError(ProtocolErrorCode.InvalidParams, `Tool '${name}' has an invalid outputSchema: ${what}`)
}

/** Throws if a result does not match the output schema of its tool. Errors of tools are not checked. */
export function checkOutput(name: string, check: OutputCheck | undefined, result: CallToolResult): void {
  if (!check || !('validate' in check) || result.isError) return
  if (result.structuredContent === undefined) {
    throw new ProtocolError(
      ProtocolErrorCode.InvalidRequest,
      `Tool ${name} has an output schema but did not return structured content`,
    )
  }
  const problem = problemOf(check.validate, result.structuredContent)
  if (problem !== undefined) throw new ProtocolError(ProtocolErrorCode.InvalidParams, problem)
}

function problemOf(validate: JsonSchemaValidator<unknown>, value: unknown): string | undefined {
  try {
    const { valid, errorMessage } = validate(value)
    return valid ? undefined : `Structured content does not match the tool's output schema: ${errorMessage}`
  } catch (error) {
    return `Failed to validate structured content: ${error instanceof Error ? error.message : String(error)}`
  }
}
