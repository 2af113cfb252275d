import type { CallToolResult, Tool } from '../generated/protocol-types.ts'
import { ErrorCode, McpError } from '../shared/errors.ts'
import type { JsonSchemaType, JsonSchemaValidator, jsonSchemaValidator } from '../validation/types.ts'

/** What the last list of tools said about them. */
export class ToolMetadata {
  private readonly _validator: jsonSchemaValidator
  private readonly _outputs = new Map<string, JsonSchemaValidator<unknown>>()
  private readonly _withTasks = new Set<string>()
  private readonly _onlyWithTasks = new Set<string>()

  constructor(validator: jsonSchemaValidator) {
    this._validator = validator
  }

  /** Replaces what is known. Throws if an output schema is invalid. */
  read(tools: readonly Tool[]): void {
    this._outputs.clear()
    this._withTasks.clear()
    this._onlyWithTasks.clear()
    for (const { name, outputSchema, execution } of tools) {
      if (outputSchema) this._outputs.set(name, this._validator.getValidator(outputSchema as JsonSchemaType))
      if (execution?.taskSupport === 'required') this._onlyWithTasks.add(name)
      if (execution?.taskSupport === 'required' || execution?.taskSupport === 'optional') this._withTasks.add(name)
    }
  }

  /** Whether calls of the tool can run as tasks. */
  takesTasks(name: string): boolean {
    return this._withTasks.has(name)
  }

  /** Whether calls of the tool must run as tasks. */
  needsTask(name: string): boolean {
    return this._onlyWithTasks.has(name)
  }

  /** Returns what is wrong with the structured content of a result; undefined if nothing is. */
  problemWith(name: string, result: Pick<CallToolResult, 'structuredContent' | 'isError'>): McpError | undefined {
    const validate = this._outputs.get(name)
    const { structuredContent, isError } = result
    if (!validate || (!structuredContent && isError)) return undefined
    if (!structuredContent) {
      const what = `Tool ${name} has an output schema but did not return structured content`
      return new McpError(ErrorCode.InvalidRequest, what)
    }
    return outputProblem(validate, structuredContent)
  }
}

function outputProblem(validate: JsonSchemaValidator<unknown>, content: unknown): McpError | undefined {
  try {
    const { valid, errorMessage } = validate(content)
    if (valid) return undefined
    const what = `Structured content does not match the tool's output schema: ${errorMessage}`
    return new McpError(ErrorCode.InvalidParams, what)
  } catch (error) {
    if (error instanceof McpError) return error
    const why = error instanceof Error ? error.message : String(error)
    return new McpError(ErrorCode.InvalidParams, `Failed to validate structured content: ${why}`)
  }
}
