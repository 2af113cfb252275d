import type { SamplingMessage, ToolResultContent, ToolUseContent } from '../core/types.ts'

/** Describes why the last message does not answer the tool calls of the one before; undefined if it does. */
export function samplingProblem(messages: readonly SamplingMessage[]): string | undefined {
  const [last, previous] = [blocksOf(messages.at(-1)), blocksOf(messages.at(-2))]
  const calls = previous.filter((block): block is ToolUseContent => block.type === 'tool_use')
  const results = last.filter((block): block is ToolResultContent => block.type === 'tool_result')
  if (results.length > 0 && results.length < last.length) {
    return 'The last message must contain only tool_result content if any is present'
  }
  if (results.length > 0 && calls.length === 0) {
    return 'tool_result blocks are not matching any tool_use from the previous message'
  }
  if (calls.length === 0) return undefined
  const called = new Set(calls.map(({ id }) => id))
  const answered = new Set(results.map(({ toolUseId }) => toolUseId))
  const isSame = called.size === answered.size && [...called].every((id) => answered.has(id))
  return isSame ? undefined : 'ids of tool_result blocks and tool_use blocks from previous message do not match'
}

function blocksOf(message: SamplingMessage | undefined) {
  if (!message) return []
  return Array.isArray(message.content) ? message.content : [message.content]
}
