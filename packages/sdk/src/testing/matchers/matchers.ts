import type { LoggingMessageParams } from '../../protocol/logging.ts'
import type { ProgressParams } from '../../protocol/progress.ts'
import type { Tool } from '../../protocol/tools.ts'
import type { SchemaLike } from '../../schema/standard.ts'
import type { AskedQuestion } from '../questions.ts'
import type { TextPattern } from './matcher.ts'
import { toBeToolError, toHaveStructuredContent, toHaveText, toMatchOutputSchema } from './result-matchers.ts'
import { toHaveAsked, toHaveLogged, toHaveProgressed } from './transcript-matchers.ts'

/**
 * Matchers for results and transcripts. Pass them to `expect.extend` of vitest or Jest.
 *
 * @example
 * expect.extend(matchers)
 * expect(await client.callTool('add', { a: 1, b: 2 })).toHaveText('3')
 */
export const matchers = {
  toBeToolError,
  toHaveText,
  toHaveStructuredContent,
  toMatchOutputSchema,
  toHaveAsked,
  toHaveLogged,
  toHaveProgressed,
} as const

/** The matchers as methods of what `expect` returns. `R` is void, or a promise after `.resolves`. */
export interface TenonMatchers<R = void> {
  /** The result of `callTool` has `isError`, and this text: the whole text, or an expression that matches. */
  toBeToolError(text?: TextPattern): R
  /** The text of a tool result, a prompt or a resource: the whole text, or an expression that matches. */
  toHaveText(text: TextPattern): R
  /** The structured content of a tool result equals this value, which may contain `expect.any(Number)` and the like. */
  toHaveStructuredContent(expected?: unknown): R
  /** The structured content of a tool result matches a schema, or the output schema of a tool of `listTools`. */
  toMatchOutputSchema(schema: SchemaLike | Pick<Tool, 'name' | 'outputSchema'>): R
  /** The server asked a question: any, one with this text, or one with these members. Takes a `Transcript`. */
  toHaveAsked(expected?: TextPattern | Partial<AskedQuestion>): R
  /** The server sent a log message: any, one with this text, or one with these members. Takes a `Transcript`. */
  toHaveLogged(expected?: TextPattern | Partial<LoggingMessageParams>): R
  /** The server reported progress: any, with this message, or with these members. Takes a `Transcript`. */
  toHaveProgressed(expected?: TextPattern | Partial<ProgressParams>): R
}
