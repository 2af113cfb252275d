import type { Tool } from '../../protocol/tools.ts'
import { describeIssues } from '../../schema/issues.ts'
import type { SchemaLike, StandardResult } from '../../schema/standard.ts'
import { createValidator } from '../../schema/user-schema.ts'
import { chain } from '../../util/maybe-async.ts'
import { isObject, type JsonObject } from '../../util/objects.ts'
import {
  type MatcherContext,
  type MatcherResult,
  matchesText,
  type TextPattern,
  toResult,
  wrongKind,
} from './matcher.ts'

/** Passes if a tool result has `isError`, and its text is the given one. */
export function toBeToolError(this: MatcherContext, received: unknown, text?: TextPattern): MatcherResult {
  const result = toolResultOf(this, 'toBeToolError', received)
  const isError = result.isError === true
  const actual = textOf(result)
  const words = text === undefined ? '' : ` with the text ${this.utils.printExpected(text)}`
  return toResult(this, {
    name: 'toBeToolError',
    pass: isError && (text === undefined || matchesText(actual, text)),
    expected: `a result with isError${words}`,
    received: `${isError ? 'a result with isError' : 'a result without isError'} and the text ${this.utils.printReceived(actual)}`,
  })
}

/** Passes if the text of a tool result, a prompt or a resource is the given one. */
export function toHaveText(this: MatcherContext, received: unknown, text: TextPattern): MatcherResult {
  if (!isObject(received) || !textMembers.some((member) => Array.isArray(received[member])))
    return wrongKind(this, 'toHaveText', received, 'the result of callTool, getPrompt or readResource')
  const actual = textOf(received)
  const values = typeof text === 'string' ? { actual, expected: text } : undefined
  return toResult(this, {
    name: 'toHaveText',
    pass: matchesText(actual, text),
    expected: `the text ${this.utils.printExpected(text)}`,
    received: received.isError
      ? `a result with isError and the text ${this.utils.printReceived(actual)}`
      : `the text ${this.utils.printReceived(actual)}`,
    values,
  })
}

/** Passes if a tool result has structured content that equals the given value; without one, if it has any. */
export function toHaveStructuredContent(
  this: MatcherContext,
  received: unknown,
  ...expected: readonly unknown[]
): MatcherResult {
  const result = toolResultOf(this, 'toHaveStructuredContent', received)
  const { structuredContent } = result
  const [value] = expected
  const isExpected = expected.length === 0 || this.equals(structuredContent, value)
  return toResult(this, {
    name: 'toHaveStructuredContent',
    pass: structuredContent !== undefined && isExpected,
    expected: expected.length === 0 ? 'structured content' : `structured content ${this.utils.printExpected(value)}`,
    received: structuredContent === undefined ? without(this, result) : this.utils.printReceived(structuredContent),
    values: expected.length === 0 ? undefined : { actual: structuredContent, expected: value },
  })
}

/**
 * Passes if the structured content of a tool result matches a schema: that of a listed tool, or any schema that `registerTool`
 * takes. Returns a promise only if the schema validates asynchronously.
 */
export function toMatchOutputSchema(
  this: MatcherContext,
  received: unknown,
  schema: SchemaLike | Pick<Tool, 'name' | 'outputSchema'>,
): MatcherResult | Promise<MatcherResult> {
  const result = toolResultOf(this, 'toMatchOutputSchema', received)
  const { name, validate } = readSchema(schema)
  const { structuredContent } = result
  if (structuredContent === undefined) return describe(this, without(this, result))
  const shown = this.utils.printReceived(structuredContent)
  const report = ({ issues }: StandardResult<unknown>) =>
    issues ? describe(this, `${describeIssues(issues)}\n          in ${shown}`) : describe(this, shown, true)
  return chain(validate(structuredContent), report)

  function describe(context: MatcherContext, text: string, pass = false): MatcherResult {
    const expected = `structured content that matches ${name}`
    return toResult(context, { name: 'toMatchOutputSchema', pass, expected, received: text })
  }
}

function readSchema(schema: SchemaLike | Pick<Tool, 'name' | 'outputSchema'>) {
  if (!isTool(schema)) return { name: 'the schema', validate: createValidator(schema) }
  const { name, outputSchema } = schema
  if (!outputSchema) throw new TypeError(`The tool "${name}" has no output schema. Set outputSchema in registerTool.`)
  return { name: `the output schema of "${name}"`, validate: createValidator(outputSchema) }
}

function isTool(value: object): value is Pick<Tool, 'name' | 'outputSchema'> {
  return 'inputSchema' in value && 'name' in value && typeof value.name === 'string'
}

function toolResultOf(context: MatcherContext, name: string, received: unknown): JsonObject {
  if (isObject(received) && Array.isArray(received.content)) return received
  return wrongKind(context, name, received, 'the result of callTool')
}

function without(context: MatcherContext, result: JsonObject): string {
  const text = context.utils.printReceived(textOf(result))
  return result.isError ? `a result with isError and the text ${text}` : `no structured content, only the text ${text}`
}

/** The members that contain texts: of tools, prompts and resources. */
const textMembers = ['content', 'messages', 'contents']

/** The texts of a result, joined by line breaks. */
function textOf(result: JsonObject): string {
  const parts = textMembers.flatMap((member) => (Array.isArray(result[member]) ? result[member] : []))
  return parts
    .flatMap((part: unknown) => (isObject(part) && isObject(part.content) ? part.content : part))
    .flatMap((block: unknown) => (isObject(block) && typeof block.text === 'string' ? block.text : []))
    .join('\n')
}
