import { CapabilityError, ProtocolError, Suspended } from '../../errors.ts'
import { jsonProblem } from '../../jsonrpc/json-problem.ts'
import type { ContentBlock } from '../../protocol/content.ts'
import { contentListProblem, describeType } from '../../protocol/content.ts'
import { isInputRequired } from '../../protocol/input-check.ts'
import type { CallToolResult } from '../../protocol/tools.ts'
import type { Outcome } from '../../replay/conversation.ts'
import { describeIssues } from '../../schema/issues.ts'
import type { UserSchema } from '../../schema/user-schema.ts'
import { chain } from '../../util/maybe-async.ts'
import { isObject } from '../../util/objects.ts'
import type { Context } from '../context.ts'
import { ToolError } from '../tool-error.ts'
import type { FeatureServer } from './feature.ts'
import type { ToolEntry } from './tool-entry.ts'

/** Turns what a tool handler returned or threw into the result of the call. */
export class ToolResults {
  readonly #server: FeatureServer

  constructor(server: FeatureServer) {
    this.#server = server
  }

  /** Returns the result of a handler that threw. Rethrows errors that become a JSON-RPC error. */
  fail(entry: ToolEntry, error: unknown, ctx: Context): CallToolResult {
    if (error instanceof ProtocolError || error instanceof Suspended) throw error
    if (error instanceof CapabilityError) {
      if (ctx.caller.rules.missingCapability === 'protocol') throw error
      return failure(error.message)
    }
    if (error instanceof ToolError) return this.#complete(entry, { content: error.content, isError: true })
    if (!this.#server.maskErrors) return failure(messageOf(entry.name, error))
    this.#server.reportError(error)
    return failure(`Tool "${entry.definition.name}" failed`)
  }

  /** Returns the result of a handler that returned. */
  finish(entry: ToolEntry, returned: unknown, ctx: Context): Outcome {
    if (isInputRequired(returned)) return returned
    if (isResult(returned)) {
      const isPlain = !entry.output || returned.isError
      return isPlain ? this.#complete(entry, returned) : this.#checkOutput(entry, entry.output!, returned, ctx)
    }
    if (entry.output) return this.#checkOutput(entry, entry.output, { structuredContent: returned }, ctx)
    if (typeof returned === 'string') return { content: [{ type: 'text', text: returned }] }
    if (returned === undefined) return { content: [] }
    return this.#badOutput(entry, 'returned a plain value. Return text or { content: [...] }, or add an outputSchema.')
  }

  #checkOutput(entry: ToolEntry, output: UserSchema, result: Partial<CallToolResult>, ctx: Context): Outcome {
    if (result.structuredContent === undefined) {
      return this.#badOutput(entry, 'has an outputSchema but did not return structuredContent')
    }
    return chain(output.validate(result.structuredContent), (checked): CallToolResult => {
      if (checked.issues)
        return this.#badOutput(
          entry,
          'returned a value that does not match its outputSchema',
          `: ${describeIssues(checked.issues)}`,
        )
      const complete = this.#complete(entry, { ...result, structuredContent: checked.value })
      const isWrapped = entry.wrapsOutput && ctx.caller.rules.objectOutput && !complete.isError
      return isWrapped ? withWrappedOutput(complete) : complete
    })
  }

  /** Sends structured content as JSON text too, for clients that read only content (2025-06-18 tools). */
  #complete(entry: ToolEntry, result: Partial<CallToolResult>): CallToolResult {
    const { content, structuredContent } = result
    const needsText = structuredContent !== undefined && !content?.length
    if (needsText) return this.#withText(entry, result)
    if (content === undefined) return { ...result, content: [] }
    const problem = contentListProblem(content)
    if (problem !== undefined) return this.#badOutput(entry, `returned an invalid result: ${problem}`)
    for (const { type } of content) if (type === 'resource') this.#server.onEmbeddedResource(entry.name)
    return result as CallToolResult
  }

  #withText(entry: ToolEntry, result: Partial<CallToolResult>): CallToolResult {
    try {
      return { ...result, content: [{ type: 'text', text: JSON.stringify(result.structuredContent) }] }
    } catch {
      const problem = jsonProblem(result.structuredContent, 'structuredContent') ?? 'structuredContent is not JSON'
      return this.#badOutput(entry, `returned an invalid result: ${problem}`)
    }
  }

  /**
   * Reports a mistake of the author. The model sees it as a failure of the tool.
   * @param details For `onError` only, because they may contain data of the result.
   */
  #badOutput(entry: ToolEntry, problem: string, details = ''): CallToolResult {
    const message = `Tool "${entry.name}" ${problem}`
    this.#server.reportError(new TypeError(message + details))
    return failure(this.#server.maskErrors ? `Tool "${entry.name}" failed` : message)
  }
}

/** Returns a result that reports an error to the model. */
export function failure(text: string): CallToolResult {
  return { content: [{ type: 'text', text }], isError: true }
}

/** Anything can be thrown. The contents of an object that is not an error are not sent to the client. */
function messageOf(name: string, error: unknown): string {
  const isPlain = error !== undefined && typeof error !== 'object' && typeof error !== 'function'
  if (isPlain) return String(error)
  const { message } = isObject(error) ? error : {}
  if (typeof message === 'string') return message
  const members = isObject(error) ? Object.keys(error).slice(0, 20).join(', ') : ''
  return `Tool "${name}" threw ${describeType(error)} instead of an Error${members && ` (with ${members})`}`
}

function isResult(value: unknown): value is CallToolResult {
  if (!isObject(value)) return false
  return 'structuredContent' in value || (Array.isArray(value.content) && value.content.every(isBlock))
}

function isBlock(value: unknown): value is ContentBlock {
  return isObject(value) && typeof value.type === 'string'
}

/** Up to 2025-11-25, structured content must be an object. */
function withWrappedOutput(result: CallToolResult): CallToolResult {
  return { ...result, structuredContent: { result: result.structuredContent } }
}
